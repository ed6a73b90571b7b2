"""What system metrics cost: the companion with one run and with eight, beside MLflow's own monitor in a kernel.

``python -m tests.benchmarks.companion`` prints its table; some four minutes on two cores.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import mlflow

from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store
from tests.benchmarks.cpu import cpu_s, family_cpu_s
from tests.benchmarks.programs import GPUS, instant_driver
from tests.benchmarks.table import Row, Section, markdown
from tests.runs.mlflow_process import companions, daemons, end_all, wait_until
from tests.runs.owner_process import Owner

_MEASURED_S = 60.0
_HOUR_S = 3600.0
_MANY = 8
_EACH_S = {"MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "10"}
_THEIRS = """
import os, mlflow, sys
mlflow.start_run(log_system_metrics=True)
print("began", flush=True)
sys.stdin.readline()
"""


def measured() -> Section:
    """In processes of their own, at the default of a sample each ten seconds."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ["JUPYTER_AIR_HOME"] = str(home)
        try:
            server = EmbeddedServer(embedded_store(home), home)
            asyncio.run(server.ready())
            rows = _rows(home, server.store.uri, instant_driver())
        finally:
            del os.environ["JUPYTER_AIR_HOME"]
            end_all(home)
    return Section(
        title="System metrics of runs",
        how=(
            f"{GPUS} GPUs of a driver that answers at once, a sample each 10 s, CPU of {_MEASURED_S:.0f} s taken for "
            "an hour's; the companion with its NVML child, memory as PSS. Beside the thread of MLflow's own monitor, "
            "in a process that has a run and does nothing else, on the same store."
        ),
        rows=rows,
    )


def _rows(home: Path, uri: str, environ: Mapping[str, str]) -> list[Row]:
    theirs_s = _their_cpu_s(home, uri, environ)
    rows = []
    for count in (1, _MANY):
        whose = "a run" if count == 1 else f"{count} runs"
        with _owners(home, uri, environ, count):
            (companion,), (daemon,) = companions(home), daemons(home)
            ours_s, serving_s = _each(partial(family_cpu_s, companion.pid), partial(cpu_s, daemon.pid))
            pss = sum(one.memory_full_info().pss for one in [companion, *companion.children(recursive=True)])
        beside = "MLflow's monitor" if count == 1 else f"{count} of MLflow's"
        rows += [
            Row(what=f"CPU of {whose}, an hour", ours=ours_s, unit="s", beside=beside, theirs=count * theirs_s, most=1),
            Row(what=f"the store's process for {whose}, an hour", ours=serving_s, unit="s", beside="", theirs=None),
            Row(what=f"memory of {whose}", ours=pss / 2**20, unit="MiB", beside="", theirs=None),
        ]
    return rows


@contextmanager
def _owners(home: Path, uri: str, environ: Mapping[str, str], count: int) -> Iterator[None]:
    client = mlflow.MlflowClient(tracking_uri=uri)
    with ExitStack() as owners:
        for _ in range(count):
            run_id = client.create_run("0").info.run_id
            owner = Owner(home, uri, run_id, {**environ, **_EACH_S})
            owners.callback(owner.kill)
            owner.wait_until_it_has_it()
        wait_until(lambda: client.get_run(run_id).data.metrics)
        wait_until(lambda: len(companions(home)) == 1)
        yield
    wait_until(lambda: not companions(home))


def _their_cpu_s(home: Path, uri: str, environ: Mapping[str, str]) -> float:
    told = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_DISABLE_TELEMETRY": "true", **_EACH_S}
    process = subprocess.Popen(
        [sys.executable, "-c", _THEIRS],
        cwd=home,
        env={**os.environ, **environ, **told},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    (theirs_s,) = _each(partial(cpu_s, process.pid))
    process.communicate("\n")
    return theirs_s


def _each(*figures: Callable[[], float]) -> list[float]:
    """What each grows by in an hour."""
    # What it takes to begin is not what it takes to go on.
    time.sleep(_MEASURED_S / 6)
    before = [figure() for figure in figures]
    began_s = time.monotonic()
    time.sleep(_MEASURED_S)
    grown = [figure() - was for figure, was in zip(figures, before, strict=True)]
    return [one * _HOUR_S / (time.monotonic() - began_s) for one in grown]


def main() -> None:
    """Prints the table."""
    print(markdown([measured()], "The companion only."))


if __name__ == "__main__":
    main()
