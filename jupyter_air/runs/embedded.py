"""A store on this machine's disk, served: found when it is, started when it is not, by whoever needs it first."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import subprocess
import time
from pathlib import Path

from jupyter_air import paths
from jupyter_air.child_environment import child_environment
from jupyter_air.errors import UnavailableError
from jupyter_air.runs.artifact_root import is_artifact_root
from jupyter_air.runs.detached import start_detached
from jupyter_air.runs.file_systems import MOUNTS
from jupyter_air.runs.installed import installed_mlflow
from jupyter_air.runs.serving import Serving, ServingState
from jupyter_air.runs.store import Store, check, file_store_choices, host_name
from jupyter_air.runs.upstream import Progress, Upstream

_POLL_S = 0.1
#: A process that lost the lock to another has nothing to say; if that one dies too, something is wrong.
_MOST_STARTS = 3


class EmbeddedServer:
    """The server of one store, for one event loop. One process serves it, however many of these there are.

    Args:
        store: the embedded one, or one beside a notebook.
        home: for state; ``paths.home()`` unless given.
        idle_s: without use, after which a process that is started here ends.
        start_limit_s: how long a start may take.
        mounts: lines as of ``/proc/self/mounts``.
    """

    def __init__(
        self,
        store: Store,
        home: Path | None = None,
        *,
        idle_s: float = 900.0,
        start_limit_s: float = 300.0,
        mounts: Path = MOUNTS,
    ) -> None:
        self.store = store
        self.uri = store.uri
        home = home or paths.home()
        self._serving = Serving(paths.serving_folder(home, store.uri, host_name(home, mounts)))
        self._idle_s = idle_s
        self._start_limit_s = start_limit_s
        self._mounts = mounts
        self._process: subprocess.Popen[bytes] | None = None
        self._start: asyncio.Task[Upstream] | None = None
        self._creation: subprocess.Popen[bytes] | None = None

    def progress(self) -> Progress:
        """How far it is, whoever started it; starts nothing."""
        return self._progress()._replace(note=self._choices() or "")

    def _progress(self) -> Progress:
        state = self._serving.read()
        if self._serving.lock.is_held():
            return self._living(state)
        if self._is_ours_alive():
            return Progress("starting", "MLflow is starting.")
        try:
            check(self.store, self._mounts)
        except UnavailableError as error:
            return Progress("failed", _words(error))
        if state is not None and state.state != "ready":
            return Progress("failed", _words(self._failure(state)))
        return Progress("stopped", "MLflow starts when it is needed.")

    async def ready(self) -> Upstream:
        """Where it answers; starts it when nobody has.

        Raises:
            UnavailableError: it cannot be started.
        """
        found = self._found()
        if found is None:
            if self._start is None or self._start.done():
                self._start = asyncio.create_task(self._started(), name="jupyter-air-mlflow")
                self._start.add_done_callback(_notice)
            # Who waits may go away; the start goes on for the others, and for the next.
            found = await asyncio.shield(self._start)
        self.used()
        return found

    def used(self) -> None:
        """Puts off its end by ``idle_s``."""
        with contextlib.suppress(OSError):
            self._serving.use()

    def create_ahead(self) -> None:
        """Makes the embedded store, in a process of its own, when it is missing or has forgotten its artifact root."""
        database = self.store.database
        if not self.store.embedded or database is None or is_artifact_root(database, self.store.artifact_root):
            return
        if self._creation is None or self._creation.poll() is not None:
            paths.private_folder(self.store.folder)
            arguments = [str(database), str(self.store.artifact_root)]
            self._creation = self._run("jupyter_air.runs.creation", arguments)

    def _found(self) -> Upstream | None:
        state = self._serving.read()
        # The lock's holder is the process that listens, but for a moment in which what a dead one said stands still.
        if state is None or state.state != "ready" or not self._serving.lock.is_held() or not _listens(state.socket):
            return None
        return Upstream("http://localhost", state.socket)

    async def _started(self) -> Upstream:
        await asyncio.to_thread(check, self.store, self._mounts)
        end_s = time.monotonic() + self._start_limit_s
        starts = 0
        while time.monotonic() < end_s:
            found = self._found()
            if found is not None:
                return found
            if not self._serving.lock.is_held() and not self._is_ours_alive():
                if starts and (starts == _MOST_STARTS or (self._process and self._process.returncode)):
                    raise self._failure(self._serving.read())
                state = self._serving.read()
                if starts and state is not None and state.state == "failed":
                    raise self._failure(state)
                self._spawn()
                starts += 1
            await asyncio.sleep(_POLL_S)
        raise UnavailableError(
            f"MLflow has not started within {self._start_limit_s:.0f} s.",
            f"See {self._serving.log}; it may still come.",
        )

    def _spawn(self) -> None:
        if self.store.embedded:
            paths.private_folder(self.store.folder)
        arguments = [str(self._serving.folder), self.store.uri, str(self.store.artifact_root)]
        if self.store.embedded:
            arguments += ["--create", str(self.store.database)]
        self._process = self._run("jupyter_air.runs.daemon", [*arguments, "--idle-s", str(self._idle_s)])

    def _run(self, module: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        paths.private_folder(self._serving.folder)
        try:
            return start_detached(module, arguments, self._serving.log, child_environment())
        except OSError as error:
            raise UnavailableError(f"MLflow cannot be started: {error.strerror or error}.") from None

    def _is_ours_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _living(self, state: ServingState | None) -> Progress:
        if state is None or state.state == "failed":
            return Progress("starting", "MLflow is starting.")
        if state.state == "starting":
            return Progress("starting", state.message, max(0.0, time.time() - state.started_s))
        return Progress("ready", state.message)

    def _choices(self) -> str | None:
        with contextlib.suppress(UnavailableError):
            return file_store_choices(self.store, installed_mlflow()) if self.store.database is None else None
        return None

    def _failure(self, state: ServingState | None) -> UnavailableError:
        if state is not None and state.state == "failed":
            return UnavailableError(state.message, state.hint)
        code = self._process.poll() if self._process is not None else None
        how = f" ({_exit_words(code)})" if code else ""
        return UnavailableError(f"MLflow's process ended while it started{how}.", f"See {self._serving.log}.")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        # One that has many callers waiting says so.
        return probe.connect_ex(path) in (0, errno.EAGAIN)


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _words(error: UnavailableError) -> str:
    return f"{error.message} {error.hint}".strip()


def _notice(start: asyncio.Task[Upstream]) -> None:
    # A failure that nobody waits for any more must not be logged as a forgotten exception.
    if not start.cancelled():
        start.exception()
