"""What ``%air_run`` adds: to a bare ``mlflow.start_run()``, and to the start of each kernel.

``python -m tests.benchmarks.magics`` prints its table; some two minutes on two cores.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from jupyter_air.runs.store import embedded_store
from tests.benchmarks.table import Row, Section, markdown
from tests.runs.kernel import kernel
from tests.runs.mlflow_process import end_all
from tests.runs.tracked import environment

_RUNS = 15
_STARTS = 15
_STARTUP = Path(__file__).parents[2] / "jupyter_air" / "config" / "ipython" / "startup" / "50-jupyter-air.py"

# Each begins and ends; what is shown in the cell is part of it.
_BARE = "mlflow.start_run(); mlflow.end_run()"
_OURS = "get_ipython().run_line_magic('air_run', ''); get_ipython().run_line_magic('air_run', '--end')"
_TIMED = """
import statistics, time
def _once(code):
    began_s = time.perf_counter()
    exec(code)
    return 1000 * (time.perf_counter() - began_s)
_codes = ({bare!r}, {ours!r})
for _code in _codes: _once(_code)
_pairs = [[_once(_code) for _code in _codes] for _ in range({runs})]
print(*(statistics.median(one) for one in zip(*_pairs)))
"""
# In a shell that is up, as a kernel runs it: what is loaded is what a kernel has loaded by then.
_STARTED = """
import time
from ipykernel.inprocess.ipkernel import InProcessKernel
shell = InProcessKernel().shell
began_s = time.perf_counter()
shell.safe_execfile({file!r}, shell.user_ns, raise_exceptions=True)
print(1000 * (time.perf_counter() - began_s))
"""


def measured() -> Section:
    """Both in real kernels."""
    bare_ms, ours_ms = _run_ms()
    rows = [
        Row(what="a run begun and ended", ours=ours_ms, unit="ms", beside="bare mlflow", theirs=bare_ms, most=None),
        Row(what="added to that", ours=ours_ms - bare_ms, unit="ms", beside="limit", theirs=100, most=1),
        Row(what="added to a kernel's start", ours=_start_ms(), unit="ms", beside="limit", theirs=30, most=1),
    ]
    how = (
        "`%air_run` and `%air_run --end`, with both cards, beside `mlflow.start_run()` and `mlflow.end_run()` in the "
        f"same kernel on the embedded store, in turn, the median of {_RUNS}; the startup file in a shell of its own "
        f"process, the median of {_STARTS}."
    )
    return Section(title="Runs in a notebook", how=how, rows=rows)


def _run_ms() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        store = embedded_store(home)
        store.folder.mkdir(parents=True)
        command = [sys.executable, "-m", "jupyter_air.runs.creation", str(store.database), str(store.artifact_root)]
        subprocess.run(command, check=True, env=os.environ)
        with kernel(home, environment(home, home, store.uri, system_metrics=True)) as one:
            reply = one.run("import mlflow" + _TIMED.format(bare=_BARE, ours=_OURS, runs=_RUNS))
            assert reply.status == "ok", reply
            bare_ms, ours_ms = map(float, reply.stdout.split())
        end_all(home)
    return bare_ms, ours_ms


def _start_ms() -> float:
    code = _STARTED.format(file=str(_STARTUP))

    def once_ms() -> float:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return float(done.stdout.split()[-1])

    return statistics.median(once_ms() for _ in range(_STARTS))


def main() -> None:
    """Prints the table."""
    print(markdown([measured()], "%air_run only."))


if __name__ == "__main__":
    main()
