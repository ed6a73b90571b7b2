"""Managed runs as their kernels write them down for the companion: a file each, which outlives both."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from jupyter_air import paths
from jupyter_air.runs.lock import FileLock
from jupyter_air.runs.store import host_name

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SUFFIX = ".run"
_LARGEST_BYTES = 2**20

#: Why a run ended that did not end by itself. Shown to people: the words stay.
REASON_TAG = "jupyter_air.end_reason"
INTERRUPTED = "The cell was interrupted."
DIED = "The kernel died."
RESTARTED = "The kernel was restarted."
SHUT_DOWN = "The kernel was shut down."
FAILED_BEFORE = "The kernel was shut down after a cell had failed."
REBOOTED = "The machine was restarted."


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is over for its kernel.

    Attributes:
        time_s: when, Unix time.
        status: to be written still, since the kernel could not; ``None`` when nothing is.
        reason: one sentence, to be written with it.
    """

    time_s: float
    status: str | None = None
    reason: str | None = None


class ManagedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a companion must know of a run, whatever becomes of its kernel. No secrets.

    Attributes:
        run_id: MLflow's.
        uri: its tracking URI, without credentials.
        is_ours: whether it is to end with its kernel.
        pid: of the kernel's process.
        kernel_id: as Jupyter's server knows the kernel.
        boot_id: of the machine's uptime that it began in; empty where the system has none.
        node: its name in the keys of system metrics.
        began_s: when it began here, Unix time.
        system_metrics: whether they are wanted.
        interval_s: between two samples.
        visible_devices, device_order: ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` of the kernel.
        leaving: the kernel was told to go, and why.
        ending: set once the run is over.
    """

    run_id: str
    uri: str
    is_ours: bool
    pid: int
    kernel_id: str | None
    boot_id: str
    node: str
    began_s: float
    system_metrics: bool
    interval_s: float
    visible_devices: str | None = None
    device_order: str | None = None
    leaving: Literal["restart", "shutdown"] | None = None
    ending: Ending | None = None

    @property
    def death_reason(self) -> str:
        """Why it ended, when its kernel is gone and said nothing."""
        if self.boot_id and self.boot_id != boot_id():
            return REBOOTED
        return {"restart": RESTARTED, "shutdown": SHUT_DOWN, None: DIED}[self.leaving]


class Found(NamedTuple):
    """A managed run in its folder.

    Attributes:
        run: what is written.
        path: of its file.
        is_held: whether its kernel lives.
    """

    run: ManagedRun
    path: Path
    is_held: bool


class ManagedRuns:
    """The folder of one companion, from either side.

    A kernel locks the file of each of its runs, for as long as it lives. The lock tells what a process id could not:
    ids are given again, and mean nothing in another container or after a restart of the machine.

    Args:
        folder: for their owner alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.txt"
        #: Held by the companion.
        self.lock = FileLock(folder / "lock")

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._files())

    def read(self) -> list[Found]:
        """All that are there; what is no record, as a disk that was full leaves it, is removed.

        Not for a process that has written some: to close a file lets go of its locks.
        """
        found = []
        for path in self._files():
            # A kernel replaces the file as a whole, so that a path may be gone by now.
            with contextlib.suppress(FileNotFoundError):
                one = _read(path)
                if one is None:
                    path.unlink()
                else:
                    found.append(one)
        return found

    def write(self, run: ManagedRun, *, lasting: bool = False) -> int:
        """Writes a run, in place of what was there; gives the descriptor that holds its lock.

        Args:
            run: of this process.
            lasting: it must be there even if the machine loses its power.

        Raises:
            OSError: it cannot be written.
        """
        descriptor, new = tempfile.mkstemp(dir=self.folder, suffix=".new")
        try:
            # POSIX's lock: a process that this one forks has none of it.
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, msgspec.json.encode(run))
            if lasting:
                os.fsync(descriptor)
            Path(new).replace(self.folder / _file_name(run))
        except BaseException:
            os.close(descriptor)
            Path(new).unlink(missing_ok=True)
            raise
        return descriptor

    def _files(self) -> list[Path]:
        try:
            return sorted(Path(entry.path) for entry in os.scandir(self.folder) if entry.name.endswith(_SUFFIX))
        except FileNotFoundError:
            return []


def folder_of(uri: str, home: Path) -> Path:
    """Where the companion of a tracking URI and of this node has its runs.

    Containers share a disk and have names of their own: each has the companion that sees its processes.

    Args:
        uri: without credentials.
        home: for state.
    """
    key = hashlib.sha256(f"{uri}\n{socket.gethostname()}".encode()).hexdigest()[:16]
    return paths.companions_folder(home, host_name(home)) / key


def boot_id() -> str:
    """Of this machine's uptime; empty where the system has none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _file_name(run: ManagedRun) -> str:
    # A run's id is its server's to choose. One that is gone on with has a new file: the old one may be on its way out.
    return f"{hashlib.sha256(run.run_id.encode()).hexdigest()[:16]}-{run.pid}-{run.began_s:.6f}{_SUFFIX}"


def _read(path: Path) -> Found | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            is_held = _is_locked(descriptor)
            # A kernel that replaced the file meanwhile holds the new one only.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                text = os.read(descriptor, _LARGEST_BYTES)
                break
        finally:
            os.close(descriptor)
    try:
        return Found(msgspec.json.decode(text, type=ManagedRun), path, is_held)
    except msgspec.DecodeError:
        return None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    return False
