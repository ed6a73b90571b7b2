"""When to try again what keeps failing."""

from __future__ import annotations

import time


class Backoff:
    """Waits that double with every failure in a row, up to a bound.

    Args:
        first_s: the wait after the first failure.
        bound_s: the longest wait.
        free: how many failures in a row cost no wait at all.
    """

    def __init__(self, first_s: float, bound_s: float, *, free: int = 0) -> None:
        self._first_s = first_s
        self._bound_s = bound_s
        self._free = free
        self._failures = 0
        self._not_before = 0.0

    @property
    def remaining_s(self) -> float:
        """Seconds until the next try is due; 0 when it is due now."""
        return max(0.0, self._not_before - time.monotonic())

    def failed(self) -> None:
        """A try failed: wait longer before the next."""
        self._failures += 1
        doublings = self._failures - self._free - 1
        if doublings >= 0:
            # The exponent is bounded before the wait is: a float overflows after a thousand failures.
            self._not_before = time.monotonic() + min(self._bound_s, self._first_s * 2.0 ** min(doublings, 32))

    def reset(self) -> None:
        """A try succeeded, or a person asked: the next one is due now."""
        self._failures = 0
        self._not_before = 0.0
