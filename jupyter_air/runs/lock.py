"""A lock that a process holds for its life: the system frees it when its holder dies, however that happens."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_S = 0.02


class FileLock:
    """One process among many.

    Args:
        path: of its file, in a folder that exists where it is to be held.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def held(self, wait_s: float) -> Iterator[bool]:
        """Holds the lock, if that can be had in time; the value tells.

        Args:
            wait_s: longer than any reader's look at it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _locked(descriptor, fcntl.LOCK_EX, wait_s)
        finally:
            os.close(descriptor)

    def is_held(self) -> bool:
        """Whether a process holds it, or is about to."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _locked(descriptor, fcntl.LOCK_SH, 0)
        finally:
            os.close(descriptor)


def _locked(descriptor: int, kind: int, wait_s: float) -> bool:
    end_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end_s:
                return False
        time.sleep(_POLL_S)
