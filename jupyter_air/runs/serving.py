"""How the process that serves a store and those who want it find each other: a lock and a few files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import msgspec

from jupyter_air.runs.lock import FileLock


class ServingState(msgspec.Struct, frozen=True, kw_only=True):
    """What the process says of itself.

    Attributes:
        pid: of it.
        state: it is starting, answers on its socket, or has ended because it could not start.
        message: one sentence for a person.
        hint: what to do about it, or empty.
        started_s: Unix seconds.
        socket: path of its unix socket.
    """

    pid: int
    state: Literal["starting", "ready", "failed"]
    message: str
    hint: str = ""
    started_s: float
    socket: str


class Serving:
    """The folder, from either side.

    The lock is the truth: the kernel frees it when its holder dies, however that happens. The files say the rest, and
    count only while the lock is held; but for a failure, which outlives its process.

    Args:
        folder: on a disk of this host; for their owner alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.txt"
        self.lock = FileLock(folder / "lock")
        self._state = folder / "state.json"
        self._used = folder / "used"

    def read(self) -> ServingState | None:
        """What the last process said, or ``None``."""
        try:
            return msgspec.json.decode(self._state.read_bytes(), type=ServingState)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, state: ServingState) -> None:
        """Says it: readers see the whole or what was before."""
        new = self._state.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(state))
        new.replace(self._state)

    def clear(self) -> None:
        """Takes back what was said, and removes what its process left behind."""
        left = self.read()
        if left is not None:
            with contextlib.suppress(OSError):
                Path(left.socket).unlink()
                Path(left.socket).parent.rmdir()
        self._state.unlink(missing_ok=True)

    def use(self) -> None:
        """Somebody uses the store's pages now."""
        self._used.touch(mode=0o600)

    def used_s(self) -> float:
        """Unix seconds of the last use; 0 when there was none."""
        try:
            return self._used.stat().st_mtime
        except FileNotFoundError:
            return 0.0
