"""The processes behind the numbers that NVML gives: who runs them, whom they descend from, and whether they are they.

A number names a process only in a PID namespace. In the initial one NVML's numbers are ours. In any other they may be
the host's, and a process here that happens to have such a number is somebody else: ``Processes`` tells them apart.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import psutil

#: What Linux calls its first PID namespace (PROC_PID_INIT_INO).
_INITIAL_NAMESPACE = "pid:[4026531836]"
#: Opened by whoever uses an NVIDIA GPU, natively and below WSL.
_DEVICES = ("/dev/nvidia", "/dev/dxg")
_LONGEST_NAME = 64
_ENDED = -1.0

_T = TypeVar("_T")
_Lineage = tuple[psutil.Process, ...]


class Process:
    """One process, as it was when it was first seen.

    Attributes:
        pid: its number here.
        birth: with the number, what no other process has.
        lineage: itself, its parent, and so on to the first; then the leader of its session, to whom a process whose
            parent has ended still belongs.
        created_s: when it began, Unix time.
        program: its name without arguments, or ``None``.
        user: who runs it, or ``None``.
        own: whether that is who runs this process too.
    """

    def __init__(self, identity: psutil.Process, birth: float, lineage: _Lineage) -> None:
        self.pid = identity.pid
        self.birth = birth
        self.lineage = lineage
        self.created_s = _told(identity.create_time) or 0.0
        self.program = _bounded(_told(lambda: _program(identity)))
        self.user = _bounded(_told(identity.username))
        self.own = self.user is not None and self.user == _own_user()
        self._uses_gpu: bool | None = None

    @property
    def uses_gpu(self) -> bool | None:
        """Whether it has a GPU's device open; ``None`` where that cannot be seen."""
        # Who has been seen with one is not looked at again: it is the list of what is open that is slow to read.
        if not self._uses_gpu:
            self._uses_gpu = _has_device_open(self.pid)
        return self._uses_gpu


class Hidden:
    """There is such a process, and nothing of it can be seen."""


class OutOfSight:
    """The number is another PID namespace's: some process of the host."""


Look = Process | Hidden | OutOfSight


class Processes:
    """Looks at processes again and again; what does not change about one is read once."""

    def __init__(self) -> None:
        self._are_numbers_ours = _is_initial_namespace()
        self._seen: dict[int, Process] = {}

    def look(self, pids: Iterable[int], sampled_s: float) -> dict[int, Look]:
        """What is behind each number; a process that has ended meanwhile is left out.

        Args:
            pids: all that NVML named in one sample.
            sampled_s: when it did, Unix time: a process that began later has taken over the number of one that ended.
        """
        before, self._seen = self._seen, {}
        lineages: dict[psutil.Process, _Lineage] = {}
        found: dict[int, Look] = {}
        unknown = []
        for pid in set(pids):
            known, birth = before.get(pid), _birth(pid)
            if known is not None:
                self._seen[pid] = known
            if birth == _ENDED:
                continue
            if birth is None:
                if _exists(pid):
                    found[pid] = Hidden()
                elif known is None:
                    unknown.append(pid)
                continue
            if known is None or known.birth != birth:
                identity = process_of(pid)
                if identity is None:  # it ended while we looked
                    continue
                known = self._seen[pid] = Process(identity, birth, _lineage(identity, lineages))
            if known.created_s <= sampled_s:
                found[pid] = known
        return found if self._are_numbers_ours else _proven(found, unknown)


def process_of(pid: int) -> psutil.Process | None:
    """The process that has this number now, if it can be seen."""
    try:
        return psutil.Process(pid)
    except (psutil.Error, ValueError):
        return None


def _proven(found: dict[int, Look], unknown: list[int]) -> dict[int, Look]:
    """In a namespace of our own: the processes that certainly are those that NVML means.

    A number that nobody has here, or one whose owner has no GPU open, is the host's; then so are all the others.
    """
    uses_gpu = {pid: one.uses_gpu for pid, one in found.items() if isinstance(one, Process)}
    are_hosts = bool(unknown) or False in uses_gpu.values()
    return {pid: found[pid] if uses_gpu.get(pid) and not are_hosts else OutOfSight() for pid in (*found, *unknown)}


def _is_initial_namespace() -> bool:
    if sys.platform != "linux":
        return True
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == _INITIAL_NAMESPACE
    except OSError:
        return False


def _exists(pid: int) -> bool:
    """Whether there is such a process, though /proc does not show it (hidepid)."""
    if os.name != "posix" or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _birth(pid: int) -> float | None:
    """What tells a process from others that had its number: when it began, on whatever clock.

    Returns:
        ``_ENDED`` for one whose parent has not noticed its end yet, ``None`` when there is none to be seen.
    """
    if sys.platform != "linux":
        identity = process_of(pid)
        return None if identity is None else _told(identity.create_time)
    # psutil would read the same file, twice, in three times the time; this is done for each process of each answer.
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - a Path costs as much as the reading
            fields = file.read(4096).rpartition(b")")[2].split(None, 20)
    except OSError:
        return None
    # proc(5): the third field is the state, the 22nd the start; it holds no memory once it is a zombie.
    return _ENDED if fields[0] in (b"Z", b"X") else float(fields[19])


def _has_device_open(pid: int) -> bool | None:
    try:
        links = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return None
    return any(_target(link).startswith(_DEVICES) for link in links)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed since it was listed
        return ""


def _lineage(process: psutil.Process, known: dict[psutil.Process, _Lineage]) -> _Lineage:
    line = [process]
    while (parent := _told(line[-1].parent)) is not None and parent not in known:
        line.append(parent)
    whole = (*line, *(known[parent] if parent is not None else ()))
    known.update((one, whole[at:]) for at, one in enumerate(line))
    leader = _told(lambda: process_of(os.getsid(process.pid))) if hasattr(os, "getsid") else None
    return whole if leader is None else (*whole, leader)


@functools.cache
def _own_user() -> str | None:
    return _bounded(_told(psutil.Process().username))


def _program(process: psutil.Process) -> str:
    if sys.platform != "linux":
        return process.name()
    # psutil completes long names from the command line: that has arguments, and reading it can hang with its process.
    return Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")


def _told(read: Callable[[], _T]) -> _T | None:
    """What can be read of a process; ``None`` when it has ended or is none of our business."""
    try:
        return read()
    except (psutil.Error, OSError):
        return None


def _bounded(name: str | None) -> str | None:
    return name[:_LONGEST_NAME] if name else None
