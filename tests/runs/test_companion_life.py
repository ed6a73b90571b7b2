"""Companions doubled, killed, kept waiting and left alone: runs are measured once, and ended once."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from jupyter_air.errors import InputError
from jupyter_air.gpu.host import HostReader
from jupyter_air.runs.client_store import ClientStore
from jupyter_air.runs.companion import Companion
from jupyter_air.runs.destination import absolute
from jupyter_air.runs.managed import REASON_TAG, Ending, ManagedRun, ManagedRuns, folder_of
from jupyter_air.runs.rest_store import RestStore
from jupyter_air.runs.run_store import RunStore, Sample
from jupyter_air.runs.stores import run_store
from jupyter_air.runs.system_metrics import Gpu
from tests.live_server import free_port, live_server
from tests.runs.conftest import Embedded
from tests.runs.mlflow_process import companions, has_ended, wait_until
from tests.runs.owner_process import Owner
from tests.runs.tcp_bridge import Bridge

_KEY = "system/here/disk_usage_percentage"
_HERE = {"MLFLOW_SYSTEM_METRICS_NODE_ID": "here"}


class Runs:
    """Runs of a store, without kernels, and a home of their own for what looks after them."""

    def __init__(self, embedded: Embedded, home: Path) -> None:
        import mlflow

        self.uri = embedded.server.store.uri
        self.home = home
        self.client: Any = mlflow.MlflowClient(tracking_uri=self.uri)

    def made(self, *, start_ms: int | None = None) -> str:
        run_id: str = self.client.create_run("0", start_time=start_ms).info.run_id
        return run_id

    def steps(self, run_id: str) -> list[int]:
        return sorted(one.step for one in self.client.get_metric_history(run_id, _KEY))

    def ending(self, run_id: str) -> tuple[str, str | None]:
        run = self.client.get_run(run_id)
        return run.info.status, run.data.tags.get(REASON_TAG)

    def folder(self, uri: str | None = None) -> ManagedRuns:
        return ManagedRuns(folder_of(absolute(uri or self.uri, self.home), self.home))


@pytest.fixture
def runs(embedded: Embedded, tmp_path: Path) -> Iterator[Runs]:
    found = Runs(embedded, embedded.home)
    yield found
    for process in companions(found.home):
        process.kill()


@contextmanager
def _owner(runs: Runs, run_id: str, uri: str | None = None, *, fork: bool = False) -> Iterator[Owner]:
    owner = Owner(runs.home, uri or runs.uri, run_id, _HERE, fork=fork)
    try:
        yield owner
    finally:
        owner.kill()


def test_two_that_begin_at_once_share_one_and_a_killed_one_is_started_again(runs: Runs) -> None:
    first, second, third = runs.made(), runs.made(), runs.made()
    with _owner(runs, first) as one, _owner(runs, second) as two:
        one.wait_until_it_has_it()
        two.wait_until_it_has_it()
        wait_until(lambda: runs.steps(first) and runs.steps(second))
        # The one that lost the lock looks whether it is let go of, for a moment.
        wait_until(lambda: len(companions(runs.home)) == 1)
        (companion,) = companions(runs.home)
        companion.kill()
        wait_until(lambda: has_ended(companion))
        before = runs.steps(first)
        with _owner(runs, third) as three:
            three.wait_until_it_has_it()
            wait_until(lambda: len(runs.steps(first)) > len(before) + 1)
            assert len(companions(runs.home)) == 1
            three.end()
        one.end()
        two.end()
    wait_until(lambda: not companions(runs.home))
    for run_id in (first, second, third):
        steps = runs.steps(run_id)
        assert steps == list(range(len(steps))) and len(steps) >= 2, "each step once, whoever took it"
        assert runs.ending(run_id) == ("RUNNING", None), "who ends it here has ended it there"


def test_what_a_dead_process_forked_does_not_keep_its_run_alive(runs: Runs) -> None:
    run_id = runs.made()
    with _owner(runs, run_id, fork=True) as owner:
        child = owner.wait_until_it_has_it()
        owner.kill()
        try:
            wait_until(lambda: runs.ending(run_id)[0] != "RUNNING")
            assert not has_ended(psutil.Process(child))
        finally:
            os.kill(child, signal.SIGKILL)
    assert runs.ending(run_id) == ("KILLED", "The kernel died.")


def test_a_server_that_comes_late_gets_all_and_nobody_else_its_password(runs: Runs, embedded: Embedded) -> None:
    port = free_port()
    uri = f"http://ada:s3cret@127.0.0.1:{port}"
    folder = runs.folder(uri)
    run_id, ended = runs.made(), runs.made()
    with _owner(runs, run_id, uri) as owner, _owner(runs, ended, uri) as short:
        owner.wait_until_it_has_it()
        short.wait_until_it_has_it()
        short.end()
        wait_until(lambda: folder.log.exists() and "cannot be reached" in folder.log.read_text())
        wait_until(lambda: len(companions(folder.folder)) == 1)
        (companion,) = companions(folder.folder)
        assert "s3cret" not in " ".join(companion.cmdline())
        for path in folder.folder.iterdir():
            assert b"s3cret" not in path.read_bytes()
        assert embedded.upstream.socket is not None
        with Bridge(port, embedded.upstream.socket) as bridge:
            wait_until(lambda: len(runs.steps(run_id)) >= 3)
            assert bridge.headers("authorization") == {f"Basic {base64.b64encode(b'ada:s3cret').decode()}"}
            owner.kill()
            wait_until(lambda: not companions(folder.folder))
    assert runs.steps(run_id)[:3] == [0, 1, 2] and runs.steps(ended) == [0, 1]
    assert runs.ending(run_id) == ("KILLED", "The kernel died.") and runs.ending(ended) == ("RUNNING", None)
    assert b"s3cret" not in folder.log.read_bytes()


def _record(runs: Runs, run_id: str, **changes: Any) -> ManagedRun:
    record = ManagedRun(
        run_id=run_id,
        uri=runs.uri,
        is_ours=True,
        pid=1,
        kernel_id="gone",
        boot_id="",
        node="here",
        began_s=2.0,
        system_metrics=True,
        interval_s=1,
    )
    return msgspec.structs.replace(record, **changes)


def test_a_power_loss_is_found_by_the_next_server(runs: Runs, tmp_path: Path) -> None:
    lost, others, told, ended, living = (runs.made(start_ms=1000) for _ in range(5))
    runs.client.log_metric(lost, "loss", 1.0, timestamp=5000)
    runs.client.set_terminated(ended, "FAILED")
    folder = runs.folder()
    folder.folder.mkdir(parents=True, exist_ok=True)
    for record in (
        _record(runs, lost, boot_id="another"),
        _record(runs, others, boot_id="another", is_ours=False),
        _record(runs, told, boot_id="another", ending=Ending(time_s=7.0, status="FINISHED")),
        _record(runs, ended, boot_id="another"),
    ):
        os.close(folder.write(record))
    held = folder.write(_record(runs, living, pid=os.getpid()))
    (folder.folder / "0.run").write_bytes(b"")
    with live_server(tmp_path, env={"JUPYTER_AIR_HOME": str(runs.home)}):
        wait_until(lambda: len(list(folder.folder.glob("*.run"))) == 1)
    assert runs.ending(lost) == ("KILLED", "The machine was restarted.")
    assert runs.client.get_run(lost).info.end_time == 5000, "the last that was heard of it"
    assert runs.ending(others) == ("RUNNING", None)
    assert runs.steps(told) == [], "what it was on is long gone"
    assert runs.ending(told) == ("FINISHED", None) and runs.client.get_run(told).info.end_time == 7000
    assert runs.ending(ended) == ("FAILED", None)
    assert runs.ending(living) == ("RUNNING", None)
    os.close(held)
    wait_until(lambda: not companions(runs.home))
    assert runs.ending(living) == ("KILLED", "The kernel died.")


class _NoGpus:
    def host(self, pid: int) -> HostReader:
        return HostReader()

    async def gpus(self) -> Sequence[Gpu]:
        return []

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("kind", [RestStore, ClientStore])
def test_each_way_to_a_store_does_the_same(runs: Runs, embedded: Embedded, kind: type[RestStore | ClientStore]) -> None:
    async def use(store: RunStore) -> None:
        fresh = await store.state(run_id)
        assert (fresh.status, fresh.last_step, fresh.last_sign_ms) == ("RUNNING", -1, 1000)
        await store.log(run_id, [Sample(3000, 4, {_KEY: 1.5, "system/here/x": 2}), Sample(4000, 5, {_KEY: 2.5})])
        then = await store.state(run_id)
        assert (then.last_step, then.last_sign_ms) == (5, 4000)
        assert await store.children(run_id, then.experiment_id, "k") == [child]
        await store.end(run_id, "KILLED", "Why.", 6000)
        with pytest.raises(InputError):
            await store.state("0123456789abcdef0123456789abcdef")
        runs.client.delete_run(run_id)
        with pytest.raises(InputError):
            await store.log(run_id, [Sample(7000, 6, {_KEY: 1})])
        await store.close()

    run_id = runs.made(start_ms=1000)
    tags = {"mlflow.parentRunId": run_id, "jupyter_air.kernel_id": "k"}
    # MLflow begins a child in the experiment that is chosen then.
    elsewhere = runs.client.create_experiment(f"elsewhere of {kind.__name__}")
    child = runs.client.create_run(elsewhere, tags=tags).info.run_id
    runs.client.create_run("0", tags={**tags, "jupyter_air.kernel_id": "of another"})
    asyncio.run(use(ClientStore(runs.uri) if kind is ClientStore else RestStore(embedded.server, {})))
    run = runs.client.get_run(run_id)
    assert (run.info.status, run.info.end_time, run.data.tags[REASON_TAG]) == ("KILLED", 6000, "Why.")
    assert runs.steps(run_id) == [4, 5]


def test_a_server_that_stays_away_is_left_to_the_next_start(runs: Runs, tmp_path: Path) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    folder = ManagedRuns(tmp_path)
    os.close(folder.write(_record(runs, "0123", uri=uri)))
    companion = Companion(folder, _NoGpus(), run_store(uri, {}), give_up_s=0.1)
    assert asyncio.run(companion.run()) is False
    assert [found.run.run_id for found in folder.read()] == ["0123"]
