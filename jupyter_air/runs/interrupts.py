"""Interrupts of a cell, which its code may swallow."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import suppress
from typing import Any


class Interrupts:
    """Whether SIGINT came since: code may catch it (trainers do, ``%%bash`` does), and the run is KILLED still."""

    def __init__(self) -> None:
        self.came = False
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._hear)

    def _hear(self, number: int, frame: Any) -> None:
        self.came = True
        self._before(number, frame)
        # ipykernel only plans to cancel an ``await``; its loop would do so once something else wakes it.
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_soon_threadsafe(_nothing)

    def stop(self) -> bool:
        """Hears no more; whether one came."""
        if signal.getsignal(signal.SIGINT) == self._hear:
            signal.signal(signal.SIGINT, self._before)
        return self.came


def _nothing() -> None:
    pass
