"""The loop: ticks, pause, resume, Refresh, and sources that fail."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from jupyter_air.gpu.history import Wanted
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.samples import GpuSample, NodeSample
from jupyter_air.gpu.simulated import SimulatedFleet

INTERVAL_S = 0.05


class Counting:
    """A source that counts; it may be told to fail or to hang."""

    def __init__(self, ident: str = "n") -> None:
        self.ident = ident
        self.samples = 0
        self.rests = 0
        self.raises: Exception | None = None
        self.hangs = False
        self.hurried = False

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.raises:
            raise self.raises
        self.samples += 1
        gpu = GpuSample(uuid="g", index="0", name="H100", utilization_percent=self.samples % 100)
        return {self.ident: NodeSample(name=self.ident, time_s=time_s, gpus=[gpu])}

    def hurry(self) -> None:
        self.hurried = True

    async def past(self, times_s: list[float]) -> list[dict[str, NodeSample]]:
        return []

    async def rest(self) -> None:
        self.rests += 1


def monitor(*sources: Counting, pause_after_s: float = 0, busy: Callable[[], bool] = lambda: False) -> Monitor:
    return Monitor(list(sources), poll_interval_s=INTERVAL_S, window_s=60, pause_after_s=pause_after_s, is_busy=busy)


def run(watched: Monitor, scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        watched.start()
        try:
            await asyncio.wait_for(scene(), 20)
        finally:
            await watched.stop()

    asyncio.run(whole())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - what it waits for has no event
        await asyncio.sleep(0.005)


async def until_filled(watched: Monitor, now_s: float | None = None) -> None:
    """Until the past is there, and a sample."""
    await watched.refresh()
    await until(lambda: len(watched.history.since(0, now_s or time.time(), []).times_s) > 5)


def rows(watched: Monitor, ident: str = "n") -> list[int | None]:
    [columns] = watched.history.since(0, time.time(), [Wanted(ident, ["g"])]).columns
    assert columns is not None
    return columns.gpus[0][0]


def test_one_sample_an_interval() -> None:
    source = Counting()
    watched = monitor(source)

    async def scene() -> None:
        began_s = time.monotonic()
        await until(lambda: source.samples >= 10)
        assert time.monotonic() - began_s > 8 * INTERVAL_S

    run(watched, scene)
    told = rows(watched)
    # The first can share its slot with the second, and the last may not be written yet; none is lost between.
    assert told == list(range(told[0] or 0, (told[-1] or 0) + 1))
    assert told[0] in (1, 2) and told[-1] in (source.samples - 1, source.samples)
    assert source.rests == 1, "stopping lets go of the hardware"


def test_it_pauses_without_activity_and_a_refresh_resumes() -> None:
    source = Counting()
    watched = monitor(source, pause_after_s=0.3)

    async def scene() -> None:
        assert watched.state().state == "live"
        await until(lambda: watched.state().state == "paused")
        assert source.rests == 1
        assert watched.state().pauses_in_s is None
        seen = source.samples
        watched.activity()
        await asyncio.sleep(4 * INTERVAL_S)
        assert (source.samples, watched.state().state) == (seen, "paused"), "activity does not wake a paused monitor"
        await watched.refresh()
        assert source.samples == seen + 1
        assert source.hurried
        assert watched.state().state == "live"
        await until(lambda: source.samples > seen + 2)

    run(watched, scene)


def test_activity_holds_off_the_pause() -> None:
    source = Counting()
    watched = monitor(source, pause_after_s=0.3)

    async def scene() -> None:
        for _ in range(12):
            watched.activity()
            await asyncio.sleep(INTERVAL_S)
            assert watched.state().state == "live"
        left_s = watched.state().pauses_in_s
        assert left_s is not None and 0 < left_s <= 0.3

    run(watched, scene)


def test_zero_never_pauses() -> None:
    watched = monitor(Counting(), pause_after_s=0)
    assert (watched.state().pause_after_s, watched.state().pauses_in_s) == (None, None)


def test_a_busy_kernel_keeps_it_awake_only_when_asked() -> None:
    source, busy = Counting(), [True]
    watched = monitor(source, pause_after_s=0.2, busy=lambda: busy[0])

    async def scene() -> None:
        await until(lambda: watched.state().state == "paused")
        watched.keep_while_busy = True
        await until(lambda: watched.state().state == "live")
        assert watched.state().pauses_in_s is None
        busy[0] = False
        await until(lambda: watched.state().state == "paused")

    run(watched, scene)


def test_a_source_that_raises_costs_its_own_sample_only(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = Counting("n"), Counting("bad")
    watched = monitor(bad, good)

    async def scene() -> None:
        await until(lambda: bad.samples > 1)
        bad.raises = ValueError("a bug")
        seen = good.samples
        await until(lambda: good.samples > seen + 3)
        bad.raises, seen = None, bad.samples
        await until(lambda: bad.samples > seen + 1)

    with caplog.at_level(logging.ERROR):
        run(watched, scene)
    assert "a bug" in caplog.text
    assert None not in rows(watched)
    assert None in rows(watched, "bad")
    assert rows(watched, "bad")[-1] is not None


def test_a_source_that_hangs_is_asked_once_and_refresh_answers_in_time() -> None:
    source = Counting()
    watched = monitor(source)

    async def scene() -> None:
        await until(lambda: source.samples > 1)
        source.hangs = True
        began_s = time.monotonic()
        await asyncio.gather(*(watched.refresh() for _ in range(5)))
        assert time.monotonic() - began_s < 30, "the source never answers"
        names = [task.get_name() for task in asyncio.all_tasks()]
        assert names.count("jupyter-air-sample") == 1

    run(watched, scene)


def test_a_source_with_a_past_fills_the_window_at_once() -> None:
    watched = Monitor(
        [SimulatedFleet(1, 2)], poll_interval_s=10, window_s=7200, pause_after_s=300, is_busy=lambda: False
    )

    run(watched, lambda: until_filled(watched))
    part = watched.history.since(0, time.time(), [Wanted("simulated-01", [])])
    assert 715 <= len(part.times_s) <= 721
    assert all(9 < later - earlier < 21 for earlier, later in zip(part.times_s, part.times_s[1:], strict=False))


class Remembering(Counting):
    """A source with a past, each row of which notes how often others had their turn before."""

    def __init__(self) -> None:
        super().__init__("kept")
        self.turns = 0
        self.turns_at_rows: list[int] = []
        self.breaks_at_row = -1

    async def past(self, times_s: list[float]) -> Iterator[dict[str, NodeSample]]:  # type: ignore[override]
        return self._rows(times_s)

    def _rows(self, times_s: list[float]) -> Iterator[dict[str, NodeSample]]:
        for row, time_s in enumerate(times_s):
            if row == self.breaks_at_row:
                raise RuntimeError("a bug of the source")
            self.turns_at_rows.append(self.turns)
            yield {self.ident: NodeSample(name=self.ident, time_s=time_s)}


def test_samples_and_others_have_their_turn_while_the_past_is_filled_in() -> None:
    source = Remembering()
    watched = Monitor([source], poll_interval_s=10, window_s=600, pause_after_s=0, is_busy=lambda: False)

    async def others() -> None:
        while True:
            source.turns += 1
            await asyncio.sleep(0)

    async def scene() -> None:
        busy = asyncio.create_task(others())
        await watched.refresh()
        assert watched.fleet.is_stale("kept", time.time()) is False
        assert len(watched.history.since(0, time.time(), []).times_s) == 1, "the past takes its place as a whole"
        before = watched.history.epoch
        await until(lambda: len(watched.history.since(0, time.time(), []).times_s) > 1)
        assert watched.history.epoch != before, "readers are told that all of it is new"
        busy.cancel()

    run(watched, scene)
    assert source.samples == 1
    assert len(source.turns_at_rows) == 59
    assert len(set(source.turns_at_rows[1:])) == 58, "the first row comes before the others begin"
    assert rows(watched, "kept")[-1] == 1, "the sample that was taken meanwhile is kept"


def test_a_past_that_breaks_off_costs_the_rest_of_it_only(caplog: pytest.LogCaptureFixture) -> None:
    source = Remembering()
    source.breaks_at_row = 7
    watched = Monitor([source], poll_interval_s=10, window_s=600, pause_after_s=0, is_busy=lambda: False)
    run(watched, lambda: until_filled(watched))
    assert source.samples == 1
    assert len(watched.history.since(0, time.time(), []).times_s) in (7, 8)
    assert "a bug of the source" in caplog.text


def test_no_slot_is_left_out_between_the_past_and_a_first_sample_after_a_tick_of_the_clock() -> None:
    noon_s = 1_764_417_600.0
    times_s = iter([noon_s + 9.7])
    watched = Monitor(
        [SimulatedFleet(1, 1)],
        poll_interval_s=10,
        window_s=600,
        pause_after_s=300,
        is_busy=lambda: False,
        clock=lambda: next(times_s, noon_s + 10.1),
    )

    run(watched, lambda: until_filled(watched, noon_s + 10.1))
    slots = [watched.history.slot(t) for t in watched.history.since(0, noon_s + 10.1, []).times_s]
    assert slots == list(range(slots[0], slots[0] + len(slots)))
