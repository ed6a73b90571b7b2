"""The run card: what a cell's output says of a run, as our MIME type, as HTML and as text.

The HTML must last: in a notebook that is reopened untrusted, exported, or read in VS Code. So it has no script and no
colours of its own, says when it was true, and links by absolute or root-relative addresses alone.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_air.runs.destination import Kind

MIME_TYPE = "application/vnd.jupyter-air.run+json"

#: Status, as MLflow has it -> a shape and a word.
_STATUSES = {
    "RUNNING": ("●", "running"),
    "SCHEDULED": ("○", "scheduled"),
    "FINISHED": ("✓", "finished"),
    "FAILED": ("✕", "failed"),
    "KILLED": ("■", "killed"),
}
_BAD = ("FAILED", "KILLED")
_LONGEST_TEXT = 250
_MOST_METRICS = 40
#: In the record, which is saved with each notebook; what more there is, a front end asks for.
_MOST_SAVED_METRICS = 12
_IN_ONE_LINE = 4
# Sanitizers keep these; what they drop leaves text in the same order.
_BOX = "border-left: 2px solid; padding: 2px 12px"
_QUIET = "opacity: 0.75"


@dataclass(frozen=True)
class RunCard:
    """A run as it was at one time; displayed, it is a card.

    Attributes:
        run_id, experiment_id: MLflow's.
        name: of the run.
        experiment: its name.
        status: MLflow's word.
        started_ms, ended_ms: since the epoch; ``None`` is unknown.
        metrics: latest values by name.
        kind: of the place where the run is.
        base: address of MLflow's pages, absolute or root-relative, without credentials; ``None`` when there are none.
        page: address of the run's own page.
        notebook: its file.
        seen_ms: when all this was so.
        end_reason: one sentence, where the run was ended by somebody else than its code; ``None`` is unknown.
        is_in_page: a root-relative address leads somewhere from where the card is shown: not so in VS Code.
    """

    run_id: str
    experiment_id: str
    name: str
    experiment: str
    status: str
    started_ms: int | None
    ended_ms: int | None
    metrics: Mapping[str, float]
    kind: Kind
    base: str | None
    page: str | None
    notebook: str | None
    seen_ms: int
    end_reason: str | None = None
    is_in_page: bool = True

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {MIME_TYPE: self.record(), "text/html": self.html(), "text/plain": self.text()}

    def record(self) -> dict[str, Any]:
        """What a front end needs to show the run live, and as it was where it cannot ask; nothing secret."""
        metrics = self._own_metrics()
        return {
            "version": 1,
            "run_id": self.run_id,
            "experiment_id": self.experiment_id,
            "name": _shown(self.name),
            "experiment": _shown(self.experiment),
            "status": self.status,
            "end_reason": None if self.end_reason is None else _shown(self.end_reason),
            "started_ms": self.started_ms,
            "ended_ms": self.ended_ms,
            "seen_ms": self.seen_ms,
            "metrics": {_shown(key): _wire(metrics[key]) for key in list(metrics)[:_MOST_SAVED_METRICS]},
            "metric_count": len(metrics),
            "tracking": {"kind": self.kind, "base": self.base},
            "page": self.page,
            "notebook": self.notebook,
        }

    def html(self) -> str:
        """The card for whoever cannot show the record."""
        shape, _ = self._shape_and_word()
        link = _link(self.page, "Open run") if self.is_in_page or self._is_page_whole() else ""
        place = link or f'<span style="{_QUIET}">run {html.escape(_shown(self.run_id))}</span>'
        head = (
            f"{shape} <strong>{_isolated(self.name)}</strong> "
            f'<span style="{_QUIET}">{_isolated(self.experiment)} · {html.escape(self._state())}</span>'
            f" &nbsp;{place}"
        )
        shown = list(self._own_metrics().items())
        first, more = shown[:_IN_ONE_LINE], shown[_IN_ONE_LINE:_MOST_METRICS]
        body = f"<div>{' &nbsp; '.join(_metric(*one) for one in first)}</div>" if first else ""
        if more:
            rows = "".join(f"<div>{_metric(*one)}</div>" for one in more)
            left = len(shown) - _MOST_METRICS
            rest = f"<div>and {left} more</div>" if left > 0 else ""
            body += f"<details><summary>{len(shown) - _IN_ONE_LINE} more metrics</summary>{rows}{rest}</details>"
        return f'<div class="jp-air-RunCard" style="{_BOX}"><div>{head}</div>{body}</div>'

    def text(self) -> str:
        """The card in a terminal."""
        shape, _ = self._shape_and_word()
        lines = [f"{shape} {_shown(self.name)}  {_shown(self.experiment)} · {self._state()}"]
        metrics = list(self._own_metrics().items())[:_IN_ONE_LINE]
        if metrics:
            lines.append("  " + "  ".join(f"{_shown(key)} {_number(value)}" for key, value in metrics))
        # A root-relative address means nothing outside a browser.
        lines.append(f"  {self.page if self._is_page_whole() else f'run {_shown(self.run_id)}'}")
        return "\n".join(lines)

    def _is_page_whole(self) -> bool:
        return self.page is not None and self.page.startswith(("http://", "https://"))

    def _shape_and_word(self) -> tuple[str, str]:
        return _STATUSES.get(self.status, ("○", _shown(self.status).lower()))

    def _state(self) -> str:
        _, word = self._shape_and_word()
        if self.status not in ("RUNNING", "SCHEDULED"):
            said = f"{word}: {_shown(self.end_reason)}" if self.end_reason and self.status in _BAD else word
            return " · ".join(part for part in (self._duration(self.ended_ms), said) if part)
        seen = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(self.seen_ms / 1000)).strip()
        return " · ".join(part for part in (self._duration(self.seen_ms), f"{word} at {seen}") if part)

    def _duration(self, until_ms: int | None) -> str | None:
        if self.started_ms is None or until_ms is None or until_ms < self.started_ms:
            return None
        return duration((until_ms - self.started_ms) / 1000)

    def _own_metrics(self) -> dict[str, float]:
        # The machine's are many, and have a tab of their own.
        return {key: self.metrics[key] for key in sorted(self.metrics) if not key.startswith("system/")}


def duration(seconds: float) -> str:
    """Such as ``41 s``, ``12 min 04 s``, ``1 h 04 min``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _link(page: str | None, words: str) -> str:
    # A relative address would be given Jupyter's own token by its page; two slashes are another host.
    if page is None or not (page.startswith(("http://", "https://")) or (page[:1] == "/" and page[1:2] != "/")):
        return ""
    return f'<a href="{html.escape(page)}">{html.escape(words)}</a>'


def _metric(key: str, value: float) -> str:
    return f'<span style="{_QUIET}">{_isolated(key)}</span> <strong>{_number(value)}</strong>'


def _number(value: float) -> str:
    """Such as ``1.842``, ``48000``, ``3e-5``: four digits, but no digit before the point is lost below ten millions."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"  # noqa: RUF001
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e7:
        digits, _, exponent = f"{value:.3e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.0f}" if size >= 1000 else f"{value:.4g}"


def _wire(value: float) -> float | str:
    """As MLflow's JSON has it, which knows no NaN and no infinity."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _isolated(text: str) -> str:
    # A name written from right to left must not take what follows it along.
    return f"<bdi>{html.escape(_shown(text))}</bdi>"


def _shown(text: str) -> str:
    clean = "".join(map(_harmless, text[: _LONGEST_TEXT + 1]))
    return clean if len(clean) <= _LONGEST_TEXT else clean[: _LONGEST_TEXT - 1] + "…"


def _harmless(letter: str) -> str:
    if letter.isspace():
        return " "
    # Control sequences steer terminals, bidirectional ones turn a line around: neither is printable. Nor are the two
    # that join letters, which Persian and emoji are written with.
    return letter if letter.isprintable() or letter in "\u200c\u200d" else "\N{REPLACEMENT CHARACTER}"
