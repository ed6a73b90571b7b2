"""``python -m jupyter_air.runs.daemon``: the process that serves a store's pages and REST on a unix socket.

It is MLflow's server, in one process instead of a command that starts another: half the memory, half the wait, and one
thing that can die. It ends with nobody but itself, when nobody has asked it anything for a while.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_air.errors import AirError, UnavailableError
from jupyter_air.runs.creation import create
from jupyter_air.runs.serving import Serving, ServingState

if TYPE_CHECKING:
    import uvicorn

_SLOWEST_READER_S = 2.0
_WATCH_S = 5.0
_LAST_ANSWERS_S = 5
_LARGEST_LOG_BYTES = 8 * 2**20
_LONGEST_REASON = 400
_LONGEST_FOLDER_BYTES = 70

_Application = Callable[[Any, Any, Any], Awaitable[None]]

#: What a person set for MLflow's client or for a server of their own would make ours another one; where artifacts are
#: and how to get at them stays.
_KEPT_PREFIXES = ("MLFLOW_S3_", "MLFLOW_GCS_", "MLFLOW_BOTO_", "MLFLOW_AZURE_")


def mlflow_environment(uri: str, artifact_root: str) -> dict[str, str]:
    """The environment in which MLflow's application serves a store, from this process's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MLFLOW_", "_MLFLOW_")) or name.startswith(_KEPT_PREFIXES)
    }
    return {
        **kept,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        # A store of plain files is shown as it is; whether to go on logging to it is for the notebook to decide.
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "GIT_PYTHON_REFRESH": "quiet",
        "_MLFLOW_SGI_NAME": "uvicorn",
        # What `mlflow server --no-serve-artifacts` hands to its workers, the same from MLflow 2 to 3.17.
        "_MLFLOW_SERVER_FILE_STORE": uri,
        "_MLFLOW_SERVER_REGISTRY_STORE": uri,
        "_MLFLOW_SERVER_ARTIFACT_ROOT": artifact_root,
    }


class _Requests:
    """An ASGI application that knows when it was asked last."""

    def __init__(self, app: _Application) -> None:
        self._app = app
        self._open = 0
        self._ended_s = time.time()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._ended_s = time.time()

    @property
    def used_s(self) -> float:
        """Unix seconds of the last use: now while one is open, such as a long download."""
        return time.time() if self._open else self._ended_s


class Daemon:
    """Serves one store while somebody uses it.

    Args:
        serving: its folder; the lock is held.
        uri: of the store, ``sqlite:`` or ``file:``.
        artifact_root: where new experiments keep their artifacts.
        database: to make when it is missing, or ``None``.
        idle_s: without use, after which it ends.
    """

    def __init__(self, serving: Serving, uri: str, artifact_root: str, database: Path | None, idle_s: float) -> None:
        self._serving = serving
        self._uri = uri
        self._artifact_root = artifact_root
        self._database = database
        self._idle_s = idle_s
        self._started_s = time.time()
        # Whoever may open the socket may do all that MLflow can; uvicorn opens it to everybody.
        self._socket = Path(tempfile.mkdtemp(prefix="jupyter-air-", dir=_temporary_folder())) / "mlflow.sock"

    def run(self) -> None:
        """Serves until it is idle, told to end, or replaced; says on the way how far it is."""
        self._say("starting", "MLflow is starting.")
        failed = False
        try:
            asyncio.run(self._serve())
        except AirError as error:
            failed = True
            self._say("failed", error.message, error.hint)
        except Exception as error:  # noqa: BLE001 - MLflow's own: its log has the details, a person gets a sentence
            failed = True
            traceback.print_exc()
            reason = " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
            self._say("failed", f"MLflow could not open the store {self._uri}: {reason}", f"See {self._serving.log}.")
        finally:
            shutil.rmtree(self._socket.parent, ignore_errors=True)
            if not failed and self._is_ours():
                self._serving.clear()

    async def _serve(self) -> None:
        environment = mlflow_environment(self._uri, self._artifact_root)
        os.environ.clear()
        os.environ.update(environment)
        import uvicorn

        requests = _Requests(self._application())
        config = uvicorn.Config(
            requests,
            uds=str(self._socket),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
        )
        server = uvicorn.Server(config)
        watching = asyncio.create_task(self._watch(server, requests))
        # Its end, when idle, is the server's; its failure too, such as when a full disk keeps it from saying "ready".
        watching.add_done_callback(lambda _: setattr(server, "should_exit", True))
        try:
            await server.serve()
        except SystemExit:
            if server.started:
                raise
        if not server.started:
            raise UnavailableError("MLflow's application did not start.", f"See {self._serving.log}.")
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    def _application(self) -> _Application:
        self._say("starting", "MLflow is starting: loading it takes 10 to 60 seconds.")
        from mlflow.server.fastapi_app import app
        from mlflow.server.handlers import initialize_backend_stores

        self._say("starting", "MLflow is starting: opening the store.")
        if self._database is not None:
            create(self._database, Path(self._artifact_root))
        initialize_backend_stores(self._uri, self._uri, self._artifact_root)
        application: _Application = app
        return application

    async def _watch(self, server: uvicorn.Server, requests: _Requests) -> None:
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.01)
        self._say("ready", "MLflow is ready.")
        while True:
            await asyncio.sleep(min(_WATCH_S, self._idle_s / 4))
            idle_s = time.time() - max(requests.used_s, self._serving.used_s())
            if idle_s > self._idle_s or not self._is_ours() or not self._socket.exists():
                return
            if self._serving.log.stat().st_size > _LARGEST_LOG_BYTES:
                os.truncate(self._serving.log, 0)

    def _is_ours(self) -> bool:
        """Whether the folder still speaks of this process: somebody may have removed it, and another begun anew."""
        state = self._serving.read()
        return state is not None and state.pid == os.getpid()

    def _say(self, state: Any, message: str, hint: str = "") -> None:
        self._serving.write(
            ServingState(
                pid=os.getpid(),
                state=state,
                message=message,
                hint=hint,
                started_s=self._started_s,
                socket=str(self._socket),
            )
        )


def _temporary_folder() -> str | None:
    # The path of a socket has 107 bytes at most; a batch system's temporary folder may be longer than that.
    return None if len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_FOLDER_BYTES else "/tmp"


def main() -> None:
    """Serves, unless another process already does."""
    parser = argparse.ArgumentParser(prog="python -m jupyter_air.runs.daemon")
    parser.add_argument("folder", type=Path)
    parser.add_argument("uri")
    parser.add_argument("artifact_root")
    parser.add_argument("--create", type=Path, dest="database")
    parser.add_argument("--idle-s", type=float, required=True)
    arguments = parser.parse_args()
    serving = Serving(arguments.folder)
    # uvicorn raises the signal that ended it once more: that must not skip the tidying up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with serving.lock.held(_SLOWEST_READER_S) as held:
            if held:
                serving.clear()
                serving.use()
                Daemon(serving, arguments.uri, arguments.artifact_root, arguments.database, arguments.idle_s).run()
    finally:
        _end_group()


def _end_group() -> None:
    """Ends what MLflow may have started: nothing of it outlives the daemon."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main()
