"""The processes of the embedded store, killed, doubled and left alone: whoever wants the store next gets it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_air import paths
from jupyter_air.errors import UnavailableError
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.serving import Serving, ServingState
from jupyter_air.runs.store import embedded_store
from tests.runs.mlflow_process import daemons, experiments, has_ended, wait_until
from tests.runs.starter_process import starter

_IDLE_S = 0.8


def _socket(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    path, imported = json.loads(process.stdout.readline())
    assert not imported
    return str(path)


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_two_that_start_at_once_and_die_leave_one_that_is_found(home: Path) -> None:
    pair = [starter(home) for _ in range(2)]
    first, second = (_socket(process) for process in pair)
    assert first == second
    assert len(daemons(home)) == 1
    for process in pair:
        _kill(process)
    (daemon,) = daemons(home)
    server = EmbeddedServer(embedded_store(home), home)
    upstream = asyncio.run(server.ready())
    assert upstream.socket == first and "Default" in experiments(upstream)

    daemon.send_signal(signal.SIGKILL)
    daemon.wait(10)
    assert server.progress().state == "stopped"
    again = asyncio.run(server.ready())
    assert again.socket != first and "Default" in experiments(again)
    assert not Path(first).parent.exists(), "the dead one's socket is tidied up"
    assert len(daemons(home)) == 1

    # As a systemd unit or a person would end it.
    (daemon,) = daemons(home)
    daemon.terminate()
    daemon.wait(30)
    assert server.progress().state == "stopped"
    assert again.socket is not None and not Path(again.socket).parent.exists()


_HELPER = """
import subprocess, sys
if "jupyter_air.runs.daemon" in sys.orig_argv:
    subprocess.Popen(["sleep", "600"])
"""


def test_it_ends_when_idle_with_all_of_its_group_and_not_before(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that MLflow might start, such as a tool of its assistant.
    (tmp_path / "sitecustomize.py").write_text(_HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    server = EmbeddedServer(embedded_store(home), home, idle_s=_IDLE_S)
    upstream = asyncio.run(server.ready())
    (daemon,) = daemons(home)
    assert os.getpgid(daemon.pid) == daemon.pid
    (helper,) = daemon.children()
    assert upstream.socket is not None
    with closing(socket.socket(socket.AF_UNIX)) as upload:
        upload.connect(upstream.socket)
        upload.sendall(
            b"POST /api/2.0/mlflow/experiments/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        )
        time.sleep(4 * _IDLE_S)
        assert server.progress().state == "ready", "a request is open"
        # As if somebody used it all the time until then.
        used = next(home.glob("serving/*/used"))
        os.utime(used, (time.time() + 3600,) * 2)
    time.sleep(4 * _IDLE_S)
    assert server.progress().state == "ready", "it was used"
    os.utime(used, (0, 0))
    wait_until(lambda: has_ended(daemon) and has_ended(helper) and server.progress().state == "stopped")
    assert not Path(upstream.socket).parent.exists()


def test_what_a_dead_one_left_is_no_obstacle(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than a socket's path can be.
    (tmp_path / ("x" * 100)).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("x" * 100)))
    store = embedded_store(home)
    serving = Serving(paths.private_folder(paths.serving_folder(home, store.uri)))
    remains = tmp_path / "jupyter-air-dead"
    remains.mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(str(remains / "mlflow.sock"))
    with serving.lock.held(0) as held:
        assert held and serving.lock.is_held()
    said = ServingState(pid=1, state="ready", message="", started_s=1.0, socket=str(remains / "mlflow.sock"))
    serving.write(said)
    server = EmbeddedServer(store, home)
    assert server.progress().state == "stopped"
    (serving.folder / "state.json").write_text("{")
    assert server.progress().state == "stopped"
    serving.write(said)
    assert "Default" in experiments(asyncio.run(server.ready()))
    assert not remains.exists()
    # Whose folder is removed has nothing to say any more.
    (daemon,) = daemons(home)
    shutil.rmtree(serving.folder)
    wait_until(lambda: has_ended(daemon) and server.progress().state == "stopped")


def test_one_that_dies_while_it_starts_is_told(home: Path) -> None:
    server = EmbeddedServer(embedded_store(home), home)

    async def scenario() -> None:
        waiting = asyncio.create_task(server.ready())
        while not server.progress().elapsed_s:  # noqa: ASYNC110 - the daemon is another process
            await asyncio.sleep(0.01)
        assert server.progress().state == "starting"
        (daemon,) = daemons(home)
        daemon.send_signal(signal.SIGKILL)
        with pytest.raises(UnavailableError, match=r"ended while it started \(SIGKILL\)"):
            await waiting

    asyncio.run(scenario())
    assert server.progress().state == "failed" and "log.txt" in server.progress().message


def test_a_store_that_mlflow_cannot_open_is_told(home: Path) -> None:
    store = embedded_store(home)
    assert store.database is not None
    with closing(sqlite3.connect(store.database)) as connection, connection:
        connection.execute("ALTER TABLE experiments RENAME COLUMN lifecycle_stage TO stage")
    server = EmbeddedServer(store, home)
    with pytest.raises(UnavailableError, match="MLflow could not open the store") as raised:
        asyncio.run(server.ready())
    assert "\n" not in raised.value.message and len(raised.value.message) < 700
    assert server.progress().state == "failed"
    assert daemons(home) == []
