"""MLflow through the Jupyter server beside MLflow itself: artifacts, small calls, and memory while 2 GB pass.

``python -m tests.benchmarks.proxy`` prints its table; it takes about two minutes.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil

from tests.benchmarks.table import Row, Section, markdown
from tests.live_server import LiveServer
from tests.server.mlflow_process import MlflowProcess
from tests.server.tracked_server import tracked_server

_MIB = 2**20
_PIECE = bytes(_MIB)
_ARTIFACT_MIB = 300
_LARGE_MIB = 2048
_CALLS = 200
_TURNS = 3
_ARTIFACTS = "api/2.0/mlflow-artifacts/artifacts/"
_DIRECT = "MLflow, asked directly"


def measured() -> Section:
    """MLflow and a Jupyter server are started here; both listen for one client at a time."""
    with tempfile.TemporaryDirectory(prefix="air-bench-") as folder:
        mlflow = MlflowProcess(Path(folder, "mlflow"))
        try:
            mlflow.wait_until_up()
            place = Path(folder, "jupyter")
            place.mkdir()
            with tracked_server(place, mlflow.url, socket=mlflow.socket) as server, mlflow.client() as direct:
                server.client.timeout = 600
                return _compared(server, direct)
        finally:
            mlflow.stop()


def _compared(server: LiveServer, direct: httpx.Client) -> Section:
    ours, theirs = "jupyter-air/mlflow/", "/"
    clients = ((server.client, ours), (direct, theirs))
    up = [_best(lambda c=c, at=at: _upload(c, at, "a", _ARTIFACT_MIB)) for c, at in clients]  # type: ignore[misc]
    down = [_best(lambda c=c, at=at: _download(c, at, "a")) for c, at in clients]  # type: ignore[misc]
    call = [_call_ms(client, at) for client, at in clients]
    with _Memory(server) as sending:
        _upload(server.client, ours, "large", _LARGE_MIB)
    with _Memory(server) as reading:
        _download(server.client, ours, "large")
    size = f"{_ARTIFACT_MIB} MiB"
    rows = [
        Row(what=f"an artifact of {size} up", ours=up[0], unit="s", beside=_DIRECT, theirs=up[1]),
        Row(what=f"an artifact of {size} down", ours=down[0], unit="s", beside=_DIRECT, theirs=down[1]),
        Row(what="a search of experiments, median", ours=call[0], unit="ms", beside=_DIRECT, theirs=call[1]),
        Row(what="memory while 2 GB go up", ours=sending.growth_mib, unit="MiB", beside="limit", theirs=64, most=1),
        Row(what="memory while 2 GB come down", ours=reading.growth_mib, unit="MiB", beside="limit", theirs=64, most=1),
    ]
    how = (
        f"A real MLflow on a unix socket, with one worker. Artifacts: the best of {_TURNS}; the median of {_CALLS} "
        "calls. Memory is how much the Jupyter server's process grew at most. All three programs share the cores."
    )
    return Section(title="MLflow through the Jupyter server", how=how, rows=rows)


def _best(work: Callable[[], None]) -> float:
    return min(_timed_s(work) for _ in range(_TURNS))


def _timed_s(work: Callable[[], None]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def _upload(client: httpx.Client, at: str, name: str, mebibytes: int) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(mebibytes):
            yield _PIECE

    length = {"Content-Length": str(mebibytes * _MIB)}
    client.put(f"{at}{_ARTIFACTS}{name}", content=pieces(), headers=length).raise_for_status()


def _download(client: httpx.Client, at: str, name: str) -> None:
    with client.stream("GET", f"{at}{_ARTIFACTS}{name}") as reply:
        reply.raise_for_status()
        for _ in reply.iter_raw():
            pass


def _call_ms(client: httpx.Client, at: str) -> float:
    def call() -> None:
        client.post(f"{at}api/2.0/mlflow/experiments/search", json={"max_results": 1}).raise_for_status()

    call()
    return 1000 * statistics.median(_timed_s(call) for _ in range(_CALLS))


class _Memory:
    """How much a server's process grows meanwhile."""

    def __init__(self, server: LiveServer) -> None:
        self.growth_mib = 0.0
        self._process = psutil.Process(server.process.pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        before_bytes = self._process.memory_info().rss
        while not self._over.wait(0.02):
            self.growth_mib = max(self.growth_mib, (self._process.memory_info().rss - before_bytes) / _MIB)


if __name__ == "__main__":
    print(markdown([measured()], "The proxy only."))
