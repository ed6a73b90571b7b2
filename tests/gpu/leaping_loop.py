"""Hours in seconds: an event loop for tests whose clock leaps where another would wait."""

from __future__ import annotations

import asyncio
import selectors


class _LeapingSelector(selectors.DefaultSelector):
    """Where a loop would wait, time leaps."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing is going to happen any more"
            self.now_s += max(0.0, timeout)
        return ready


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop on whose clock nothing takes time but waiting."""

    def __init__(self) -> None:
        self._leaping = _LeapingSelector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now_s
