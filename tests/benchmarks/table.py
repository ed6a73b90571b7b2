"""The results: what was measured beside what, as a table that a person reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_HEADER = ("measured", "Jupyter AIR", "beside", "", "ratio", "aim")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure beside that of a peer, or beside a limit.

    Attributes:
        what: is measured.
        ours: of Jupyter AIR, in ``unit``.
        unit: of both figures.
        beside: the name of the peer, or ``limit``.
        theirs: of the peer, or the limit; ``None`` when there is no figure.
        most: the highest ratio that meets the aim; ``None`` where there is no aim.
    """

    what: str
    ours: float
    unit: str
    beside: str
    theirs: float | None
    most: float | None = None

    @property
    def ratio(self) -> float | None:
        """Our figure for one of theirs."""
        return None if not self.theirs else self.ours / self.theirs

    @property
    def aim(self) -> str:
        """The aim in words, and whether it is met."""
        if self.most is None or self.ratio is None:
            return ""
        met = "met" if self.ratio <= self.most else "**missed**"
        return f"at most {self.most:g}x: {met}"

    def cells(self) -> tuple[str, ...]:
        """The row as the table shows it."""
        theirs = "not measured" if self.theirs is None else f"{figure(self.theirs)} {self.unit}"
        ratio = "" if self.ratio is None else f"{figure(self.ratio)}x"
        return (self.what, f"{figure(self.ours)} {self.unit}", self.beside, theirs, ratio, self.aim)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One benchmark's rows.

    Attributes:
        title: what they are about.
        how: how they were measured, in a sentence or a few.
        rows: the figures.
    """

    title: str
    how: str
    rows: list[Row]


def figure(value: float) -> str:
    """Three digits that count, and no more."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(sections: Iterable[Section], machine: str) -> str:
    """The page of results.

    Args:
        sections: in order.
        machine: where and when it was measured.
    """
    parts = [
        "# Benchmarks",
        "Written by `make bench`, all in one run. A ratio is our figure for one of theirs.",
        machine,
    ]
    for section in sections:
        parts += [f"## {section.title}", section.how, _table(section.rows)]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row]) -> str:
    lines = [_HEADER, ("---",) * 2 + ("---", "---:", "---:", "---"), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
