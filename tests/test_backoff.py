from __future__ import annotations

from jupyter_air.backoff import Backoff


def test_waits_double_up_to_their_bound_and_begin_again() -> None:
    backoff = Backoff(10, 35, free=1)
    waits = []
    for _ in range(5):
        backoff.failed()
        waits.append(round(backoff.remaining_s))
    assert waits == [0, 10, 20, 35, 35]
    backoff.reset()
    assert backoff.remaining_s == 0
    backoff.failed()
    assert backoff.remaining_s == 0


def test_a_failure_that_lasts_for_weeks_is_no_overflow() -> None:
    backoff = Backoff(1, 60)
    for _ in range(3000):
        backoff.failed()
    assert round(backoff.remaining_s) == 60
