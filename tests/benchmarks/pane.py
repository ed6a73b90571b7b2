"""What the pane costs a browser: CPU of the page's main thread, and scripts."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.nvdashboard import NAME
from tests.benchmarks.programs import GPUS, PYTHON, ROOT, instant_driver, nvdashboard
from tests.benchmarks.table import Row, Section

_log = logging.getLogger(__name__)

_CONFIG = "tests/benchmarks/browser/playwright.config.ts"
_ENTRY_LIMIT_KB = 30
_PANE_LIMIT_KB = 100
_LONG_TASK_MS = 50.0


def measured() -> list[Section]:
    """CPU and sizes, in one browser after the other."""
    ours = figures("air", PYTHON) | figures("air-defaults", PYTHON)
    try:
        theirs = figures("nvdashboard", nvdashboard(), instant_driver())
    except subprocess.CalledProcessError:
        _log.exception("%s could not be measured", NAME)
        theirs = {}
    return [_cpu(ours, theirs), _fleet(figures("fleet", PYTHON)), _sizes(ours, theirs)]


def figures(name: str, python: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """What ``browser/NAME.bench.ts`` reports of the JupyterLab of that Python.

    Raises:
        subprocess.CalledProcessError: it failed; its output says why.
    """
    with tempfile.TemporaryDirectory(prefix="air-bench-") as folder:
        path = Path(folder) / "figures.json"
        names = {"AIR_PYTHON": str(python), "AIR_BENCH_RESULTS": str(path)}
        command = ["npx", "playwright", "test", "--config", _CONFIG, f"/{name}.bench"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, **(environment or {}), **names}, check=True)
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def _ms_per_s(cost: dict[str, float]) -> float:
    return cost["cpuMs"] / cost["seconds"]


def _ms_per_update(cost: dict[str, float], idle: dict[str, float] | None = None) -> float:
    """CPU of an update, without what the page does when its charts are closed."""
    spent_ms = cost["cpuMs"] - (_ms_per_s(idle) * cost["seconds"] if idle else 0.0)
    return spent_ms / cost["updates"]


def _cpu(ours: dict[str, Any], theirs: dict[str, Any]) -> Section:
    update = _ms_per_update(ours["pane"], ours["closed"])
    defaults = _ms_per_s(ours["defaults"]) - _ms_per_s(ours["closed"])
    peer_update = _ms_per_update(theirs["opened"], theirs["closed"]) if theirs else None
    peer_defaults = _ms_per_s(theirs["defaults"]) - _ms_per_s(theirs["closed"]) if theirs else None
    rows = [
        ("an update", update, "canvas, lines of one pixel", _ms_per_update(ours["lines"]), 4),
        ("an update", update, "canvas, the pane's own picture", _ms_per_update(ours["picture"]), 4),
        ("an update, at the same cadence", update, NAME, peer_update, 1),
        ("each second at defaults", defaults, NAME, peer_defaults, 1),
    ]
    return Section(
        title="CPU of the browser",
        how=(
            "CPU of the page's main thread in a real JupyterLab, without what it spends with the pane closed. The "
            f"pane: {GPUS} GPUs, 24 charts of 720 points in view, an answer each 1.25 s; its share of what happens "
            "between two answers, as ages that grow, is part of the update. The canvas page draws as many charts of "
            "the same size at the same cadence and does nothing else. "
            f'{NAME}: its "GPU Resources" of {GPUS} GPUs, 20 lines in 4 charts; of 720 and more records it draws the '
            "newest ten while it is live. Defaults: 10 s here, 0.1 s there."
        ),
        rows=[
            Row(what=what, ours=cpu_ms, unit="ms", beside=beside, theirs=other_ms, most=most)
            for what, cpu_ms, beside, other_ms, most in rows
        ],
    )


def _fleet(figures: dict[str, Any]) -> Section:
    update = _ms_per_update(figures["shown"], figures["closed"])
    # A task of 50 ms is what browsers call long; browsers report none that is shorter.
    rows = [
        ("an answer for 1,024 GPUs, CPU", update, "ms", "limit: a long task", _LONG_TASK_MS),
        ("scrolling over all nodes, the longest task", figures["longestTaskMs"], "ms", "limit", _LONG_TASK_MS),
        ("scrolling over all nodes, a frame on average", figures["frameMs"], "ms", "limit: 30 a second", 1000 / 30),
    ]
    return Section(
        title="A fleet in the browser",
        how=(
            "128 simulated nodes of 8 GPUs, the list at a height of 1,000 pixels; an answer each 1.25 s. CPU of the "
            "page's main thread without what it spends with the pane closed. Then the list is scrolled from its first "
            "node to its last in 8 s, which fetches and draws the strips that come into view; 0 stands for no task of "
            "50 ms or longer."
        ),
        rows=[
            Row(what=what, ours=ours, unit=unit, beside=beside, theirs=limit, most=1)
            for what, ours, unit, beside, limit in rows
        ],
    )


def _sizes(ours: dict[str, Any], theirs: dict[str, Any]) -> Section:
    start, everything = ours["start"], ours["all"]
    lazy = sum(everything.values()) - sum(start.values())
    peer = sum(theirs["start"].values()) / 1000 if theirs else None
    rows = [
        ("at start, code", start["code"], "limit", _ENTRY_LIMIT_KB, 1),
        ("at start, code and styles", sum(start.values()), NAME, peer, 1),
        ("when the pane is first seen", lazy, "limit", _PANE_LIMIT_KB, 1),
        ("altogether", sum(everything.values()), NAME, peer, 1),
    ]
    return Section(
        title="Size of the scripts",
        how="What JupyterLab loads of the extension, as the browser received it (kB of 1000 bytes, not compressed).",
        rows=[
            Row(what=what, ours=size / 1000, unit="kB", beside=beside, theirs=other, most=most)
            for what, size, beside, other, most in rows
        ],
    )
