"""``import jupyter_air``, which every kernel of the environment pays, against a Python that does nothing."""

from __future__ import annotations

import resource
import statistics
import subprocess

from tests.benchmarks.programs import PYTHON
from tests.benchmarks.table import Row, Section

_TIMES = 20


def measured() -> Section:
    """CPU milliseconds of a Python process, in turns."""
    costs: dict[str, list[float]] = {"pass": [], "import jupyter_air": []}
    for _ in range(_TIMES):
        for code, spent_ms in costs.items():
            spent_ms.append(_cpu_ms(code))
    nothing, ours = (statistics.median(spent_ms) for spent_ms in costs.values())
    return Section(
        title="Import",
        how=f"CPU of a process, user and system; median of {_TIMES}, in turns.",
        rows=[
            Row(
                what='`python -c "import jupyter_air"`',
                ours=ours,
                unit="ms",
                beside="`python -c pass`",
                theirs=nothing,
            )
        ],
    )


def _cpu_ms(code: str) -> float:
    before_s = _children_s()
    subprocess.run([str(PYTHON), "-c", code], check=True)
    return 1000 * (_children_s() - before_s)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
