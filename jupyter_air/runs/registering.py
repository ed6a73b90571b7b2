"""A kernel's side of the companion: writes a managed run down, and starts the companion where none is."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from jupyter_air import paths
from jupyter_air.child_environment import child_environment
from jupyter_air.errors import AirError
from jupyter_air.runs.configured import client_environment
from jupyter_air.runs.destination import absolute
from jupyter_air.runs.detached import start_detached
from jupyter_air.runs.managed import Ending, ManagedRun, ManagedRuns, boot_id, folder_of
from jupyter_air.runs.store import host_name, store_of_uri

COMPANION = "jupyter_air.companion"

_INTERVAL = "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL"
_NODE = "MLFLOW_SYSTEM_METRICS_NODE_ID"
_ENABLED = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"
_USUAL_INTERVAL_S = 10.0
_IN_MEMORY = ("sqlite://", "sqlite:///", "sqlite:///:memory:")
_SHORTEST_INTERVAL_S, _LONGEST_INTERVAL_S = 1.0, 86_400.0

_log = logging.getLogger(__name__)
_started: dict[Path, subprocess.Popen[bytes]] = {}


class Registration:
    """A run of this process that a companion looks after; nothing here ever fails towards the run.

    Args:
        runs: the companion's folder.
        run: as it is now.
        environ: of a companion.

    Raises:
        OSError: it cannot be written down.
    """

    def __init__(self, runs: ManagedRuns, run: ManagedRun, environ: Mapping[str, str]) -> None:
        self._runs = runs
        self._run = run
        self._environ = environ
        self._changing = threading.Lock()
        self._pid = os.getpid()
        self._held: int | None = runs.write(run, lasting=True)
        _start(runs, environ)

    def is_of_this_process(self) -> bool:
        """Whether this is not a fork of the process that began the run."""
        return os.getpid() == self._pid

    def leaving(self, why: Literal["restart", "shutdown"]) -> None:
        """The process was told to go, and may be killed before it has ended its runs."""
        self._change(msgspec.structs.replace(self._run, leaving=why))

    def end(self, status: str | None = None, reason: str | None = None) -> None:
        """The run is over here.

        Args:
            status: what the companion is to write, once it can, since this process could not.
            reason: to be written with it.
        """
        if not self.is_of_this_process():
            return
        ending = Ending(time_s=time.time(), status=status, reason=reason)
        self._change(msgspec.structs.replace(self._run, ending=ending))
        with self._changing, _only_logged():
            if self._held is not None:
                os.close(self._held)
                self._held = None
            # One that died meanwhile has not taken the last sample.
            _start(self._runs, self._environ)

    def _change(self, run: ManagedRun) -> None:
        with self._changing, _only_logged():
            if self._held is not None:
                held = self._runs.write(run)
                os.close(self._held)
                self._held, self._run = held, run


def register(
    run_id: str,
    uri: str,
    *,
    is_ours: bool,
    system_metrics: bool | None,
    kernel_id: str | None,
    environ: Mapping[str, str],
) -> Registration | None:
    """Hands a run over to the companion of its tracking URI, without waiting for it.

    Args:
        run_id: MLflow's.
        uri: tracking URI, as MLflow has it here.
        is_ours: whether it is to end with this process.
        system_metrics: what was asked for; ``None`` leaves it to MLflow's own switch, which is on here unless set.
        kernel_id: of this kernel.
        environ: of this process.

    Returns:
        ``None`` for runs in this process's memory, which nobody else can see.

    Raises:
        AirError: its folder cannot be used, or the URI names no server.
        OSError: it cannot be written.
    """
    if uri in _IN_MEMORY:
        return None
    home = paths.home(environ)
    place = absolute(uri, Path.cwd())
    runs = ManagedRuns(paths.private_folder(folder_of(place, home)))
    run = ManagedRun(
        run_id=run_id,
        uri=place,
        is_ours=is_ours,
        pid=os.getpid(),
        kernel_id=kernel_id,
        boot_id=boot_id(),
        node=environ.get(_NODE) or socket.gethostname(),
        began_s=time.time(),
        system_metrics=_wanted(environ) if system_metrics is None else system_metrics,
        interval_s=_interval_s(environ),
        visible_devices=environ.get("CUDA_VISIBLE_DEVICES"),
        device_order=environ.get("CUDA_DEVICE_ORDER"),
    )
    is_on_disk = store_of_uri(place, Path("/")) is not None
    return Registration(runs, run, _companion_environment(place if is_on_disk else uri))


def start_for_leftovers(home: Path, uri: str | None) -> None:
    """Starts the companions of runs that nobody looks after: those of a kernel that a power loss took, above all.

    Args:
        home: for state.
        uri: that the server uses. Its credentials are for it alone: runs of other servers wait for a kernel that has
            theirs.
    """
    with _only_logged():
        folder = paths.companions_folder(home, host_name(home))
        for runs in map(ManagedRuns, folder.iterdir() if folder.is_dir() else ()):
            if runs and not runs.lock.is_held():
                for theirs in {found.run.uri for found in runs.read()}:
                    if uri is not None and theirs == absolute(uri, Path("/")):
                        _start(runs, _companion_environment(uri))
                    elif store_of_uri(theirs, Path("/")) is not None:
                        _start(runs, _companion_environment(theirs))


def _start(runs: ManagedRuns, environ: Mapping[str, str]) -> None:
    started = _started.get(runs.folder)
    # Also asks after one that has ended, so that no zombie stays.
    if (started is None or started.poll() is not None) and not runs.lock.is_held():
        _started[runs.folder] = start_detached(COMPANION, [str(runs.folder)], runs.log, environ)


def _companion_environment(uri: str) -> dict[str, str]:
    return {**child_environment(), **client_environment(uri)}


def _wanted(environ: Mapping[str, str]) -> bool:
    return environ.get(_ENABLED, "").lower() not in ("false", "0")


def _interval_s(environ: Mapping[str, str]) -> float:
    try:
        given_s = float(environ.get(_INTERVAL) or _USUAL_INTERVAL_S)
        return min(max(_SHORTEST_INTERVAL_S, given_s), _LONGEST_INTERVAL_S)
    except ValueError:
        return _USUAL_INTERVAL_S


@contextlib.contextmanager
def _only_logged() -> Iterator[None]:
    """What goes wrong here must not reach the run."""
    try:
        yield
    except (OSError, AirError) as error:
        _log.warning("The companion of runs: %s", error)
