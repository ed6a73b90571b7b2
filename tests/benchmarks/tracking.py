"""The embedded store's server beside `mlflow server` with its defaults: time to ready, memory, processes.

``python -m tests.benchmarks.tracking`` prints its table; some two minutes on two cores.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import psutil

from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store
from jupyter_air.runs.upstream import Upstream
from jupyter_air.server.kernel_environment import TrackingEnvironment
from tests.benchmarks.table import Row, Section, markdown
from tests.live_server import free_port
from tests.runs.mlflow_process import client, daemons, end_all

_MIB = 2**20
_SETTLE_S = 5.0
_REQUESTS = 50


def measured() -> Section:
    """Both on a new store, one after the other."""
    ours, theirs = _ours(), _theirs()
    figures = [
        ("from nothing to ready", "ready_s", "s", 0.6),
        ("again, on that store", "again_s", "s", 0.6),
        ("memory (PSS)", "mib", "MiB", 0.33),
        ("processes", "processes", "", None),
        ("a search of experiments", "search_ms", "ms", None),
    ]
    rows = [
        Row(what=what, ours=ours[name], unit=unit, beside="mlflow server", theirs=theirs[name], most=most)
        for what, name, unit, most in figures
    ]
    kernel_ms = ours["kernel_ms"]
    rows.append(Row(what="added to a kernel's start", ours=kernel_ms, unit="ms", beside="limit", theirs=5, most=1))
    how = (
        "The process that serves the embedded store, on a unix socket, beside `mlflow server` with its defaults (four "
        "workers, job execution, loopback TCP), each on a new sqlite store and then again on that one. Ready is the "
        f"first search of experiments that is answered; memory is of all processes, {_SETTLE_S:g} s later; a search "
        f"and a kernel's start are the median of {_REQUESTS}."
    )
    return Section(title="The embedded tracking store", how=how, rows=rows)


def _ours() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        @contextmanager
        def served() -> Iterator[tuple[httpx.Client, list[psutil.Process]]]:
            try:
                upstream: Upstream = asyncio.run(EmbeddedServer(embedded_store(home), home).ready())
                with client(upstream) as speaker:
                    yield speaker, daemons(home)
            finally:
                end_all(home)

        return {**_figures(served), "kernel_ms": _kernel_ms(home)}


def _kernel_ms(home: Path) -> float:
    environment = TrackingEnvironment(EmbeddedServer(embedded_store(home), home), logging.getLogger())

    def once_s() -> float:
        began_s = time.perf_counter()
        assert environment.of(Path("/"), {})
        return time.perf_counter() - began_s

    return 1000 * statistics.median(once_s() for _ in range(_REQUESTS))


def _theirs() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
        environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

        @contextmanager
        def served() -> Iterator[tuple[httpx.Client, list[psutil.Process]]]:
            port = free_port()
            command = [sys.executable, "-m", "mlflow", "server", "--port", str(port)]
            with Path(folder, "log.txt").open("wb") as log:
                process = subprocess.Popen(
                    command, cwd=folder, env=environ, stdout=log, stderr=log, start_new_session=True
                )
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as speaker:
                    parent = psutil.Process(process.pid)
                    yield speaker, [parent]
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

        return _figures(served)


def _figures(
    served: Callable[[], AbstractContextManager[tuple[httpx.Client, list[psutil.Process]]]],
) -> dict[str, float]:
    figures: dict[str, float] = {}
    began_s = time.monotonic()
    with served() as (speaker, roots):
        _wait(speaker)
        figures["ready_s"] = time.monotonic() - began_s
        time.sleep(_SETTLE_S)
        processes = [one for root in roots for one in (root, *root.children(recursive=True))]
        figures["processes"] = float(len(processes))
        figures["mib"] = sum(one.memory_full_info().pss for one in processes) / _MIB
        figures["search_ms"] = 1000 * statistics.median(_search_s(speaker) for _ in range(_REQUESTS))
    began_s = time.monotonic()
    with served() as (speaker, _):
        _wait(speaker)
        figures["again_s"] = time.monotonic() - began_s
    return figures


def _wait(speaker: httpx.Client) -> None:
    while True:
        try:
            _search_s(speaker)
            return
        except httpx.TransportError:
            time.sleep(0.05)


def _search_s(speaker: httpx.Client) -> float:
    began_s = time.perf_counter()
    speaker.post("/api/2.0/mlflow/experiments/search", json={"max_results": 10}).raise_for_status()
    return time.perf_counter() - began_s


def main() -> None:
    """Prints the table."""
    print(markdown([measured()], "The embedded store only."))


if __name__ == "__main__":
    main()
