"""A hundred hours with faults on a clock that leaps, and sixty lives of the NVML child: nothing grows or shifts."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import psutil
import pytest

from jupyter_air.gpu import monitor as monitor_module
from jupyter_air.gpu.child import NvmlChild
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.view import View
from tests.fake_nvml import FakeNvml
from tests.gpu.child_process import ENOUGH_S, a_child, children, failure
from tests.gpu.leaping_loop import LeapingLoop
from tests.gpu.soak_sources import INTERVAL_S, MIB, STEP_BYTES, WINDOW_S, Key, Log, Rack, Readings, Simulated

NOON_S = 1_764_417_600.0
PAUSE_AFTER_S = 300.0

SAMPLES = 36_000
#: After so many samples all faults come again in the same order: two such moments compare.
CYCLE = 6_000
LIVES = 60

pytestmark = pytest.mark.slow


class Reader:
    """A browser: it holds what it was told, and asks for what is new."""

    def __init__(self, view: View, log: Log) -> None:
        self._view = view
        self._log = log
        self._cursor: str | None = None
        self._keys: list[Key] = []
        self._steps: list[int] = []
        self.rows: dict[float, list[Readings]] = {}

    def ask(self, now_s: float) -> None:
        answer = self._view.answer(self._cursor, now_s)
        self._cursor = answer.cursor
        if answer.layout is not None:
            gpus = [(node.id, gpu) for node in answer.layout.nodes for gpu in node.gpus]
            self._keys = [(ident, gpu.uuid) for ident, gpu in gpus]
            self._steps = [gpu.memory_step_bytes for _, gpu in gpus]
            assert len(set(self._keys)) == len(self._keys)
        keep_from_s = now_s - WINDOW_S
        self.rows = {t: row for t, row in self.rows.items() if keep_from_s <= t < answer.replace_from_s}
        columns = [gpu for node in answer.columns if node is not None for gpu in node.gpus]
        for at, time_s in enumerate(answer.times_s):
            self.rows[time_s] = [
                _row([column[at] for column in gpu], step) for gpu, step in zip(columns, self._steps, strict=True)
            ]
            assert self.rows[time_s] == [self._log.at(time_s, key) for key in self._keys], f"shifted at {time_s}"


def _row(values: list[int | None], memory_step_bytes: int) -> Readings:
    memory = values[1]
    return (values[0], None if memory is None else memory * memory_step_bytes // STEP_BYTES, *values[2:])


class Clock:
    """The wall clock of the loop, which an administrator sets now and then."""

    def __init__(self, loop: LeapingLoop) -> None:
        self._loop = loop
        self.offset_s = 0.0

    def __call__(self) -> float:
        return round(NOON_S + self._loop.time() + self.offset_s, 1)


#: By how much the clock is set at which sample of a cycle: summer time, a day asleep, and corrections.
_SETTINGS = {1100: -4.0, 2300: 7200.0, 3300: -3600.0, 4300: 86_400.0, 5300: -0.3}


class Held(NamedTuple):
    """What is held at a moment: objects of Python, bytes of the ring, memory of the process."""

    objects: int
    ring_bytes: int
    resident_bytes: int


class Soak:
    """The monitor with its sources and a reader, and what they hold."""

    def __init__(self, loop: LeapingLoop) -> None:
        log = Log()
        self.clock = Clock(loop)
        self.rack = Rack(log)
        self.monitor = Monitor(
            [Simulated(log), self.rack],
            poll_interval_s=INTERVAL_S,
            window_s=WINDOW_S,
            pause_after_s=PAUSE_AFTER_S,
            is_busy=lambda: False,
            clock=self.clock,
        )
        self._view = View(self.monitor)
        self._log = log
        self.reader = Reader(self._view, log)
        self._settings = iter(self._schedule())

    @staticmethod
    def _schedule() -> Iterator[tuple[int, float]]:
        for begin in range(0, SAMPLES, CYCLE):
            yield from ((begin + n, step_s) for n, step_s in _SETTINGS.items())
        yield (sys.maxsize, 0.0)

    async def run(self) -> list[Held]:
        """All samples; gives what is held after each cycle."""
        self.monitor.start()
        held: list[Held] = []
        due, step_s = next(self._settings)
        for turn in range(SAMPLES):
            if self.rack.samples >= CYCLE * (len(held) + 1):
                held.append(self._held())
                if len(held) == SAMPLES // CYCLE:
                    await self.monitor.stop()
                    return held
            if self.rack.samples >= due:
                self.clock.offset_s += step_s
                due, step_s = next(self._settings)
            await self._half_a_minute(turn)
        raise AssertionError(f"after {SAMPLES} turns there are {self.rack.samples} samples")

    async def _half_a_minute(self, turn: int) -> None:
        """A person at work, who is away every two hours, and presses Refresh then and at other times."""
        await asyncio.sleep(31)
        if turn % 240 == 239:
            await asyncio.sleep(900)
            assert self.monitor.state().state == "paused"
        if turn % 16 == 15:
            self.reader.ask(self.clock())
            await asyncio.sleep(1)
            await self.monitor.refresh()
        self.monitor.activity()
        self.reader.ask(self.clock())
        if turn % 240 == 120:
            anew = Reader(self._view, self._log)
            anew.ask(self.clock())
            assert anew.rows == self.reader.rows

    def _held(self) -> Held:
        gc.collect()
        return Held(sys.getallocatedblocks(), self.monitor.history.nbytes, psutil.Process().memory_info().rss)


def test_a_hundred_hours_with_faults_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each fault is logged with its traceback, which pytest would keep.
    monkeypatch.setattr(logging.getLogger(monitor_module.__name__), "disabled", True)
    loop = LeapingLoop()
    monkeypatch.setattr(monitor_module, "time", SimpleNamespace(monotonic=loop.time))
    before = _open()
    try:
        soak = Soak(loop)
        first, *_, last = loop.run_until_complete(soak.run())
        loop.run_until_complete(asyncio.sleep(0))
        assert asyncio.all_tasks(loop) == set()
        assert _open() == before
    finally:
        loop.close()
    assert soak.rack.samples >= SAMPLES
    # Of each cycle there would be 6,000 objects for one that every sample left behind.
    assert last.objects - first.objects < CYCLE
    assert last.ring_bytes <= first.ring_bytes
    assert last.resident_bytes - first.resident_bytes < 2 * MIB


def test_sixty_lives_of_the_child_leave_nothing_behind(fake: FakeNvml) -> None:
    async def crash(child: NvmlChild) -> None:
        fake.update({"gpu.1.temperature.crash": 1})
        assert "SIGSEGV" in (await failure(child)).message
        fake.update(remove=["gpu.1.temperature.crash"])

    async def end_it(child: NvmlChild) -> None:
        os.kill(children()[0], signal.SIGKILL)
        assert "SIGKILL" in (await failure(child)).message

    async def pause(child: NvmlChild) -> None:
        await child.stop()

    async def hang_and_pause(child: NvmlChild) -> None:
        fake.update({"gpu.0.memory.delay_ms": 60_000})
        assert (await failure(child, 0.01)).state == "stale"
        await child.stop()
        assert children() == []
        fake.update(remove=["gpu.0.memory.delay_ms"])

    async def scenario() -> None:
        async with a_child(retry_s=0.001) as child:
            await child.sample(ENOUGH_S)
            before = _open()
            for life in range(LIVES):
                trouble = hang_and_pause if life % 10 == 9 else (crash, end_it, pause)[life % 3]
                await trouble(child)
                assert (await child.sample(ENOUGH_S)).state == "live"
            assert _open() == before
        assert fake.calls("nvmlInit") == LIVES + 1
        assert children() == []

    asyncio.run(scenario())


def _open() -> tuple[int, int]:
    """Descriptors and child processes, those that nobody waited for too."""
    process = psutil.Process()
    return process.num_fds(), len(process.children())
