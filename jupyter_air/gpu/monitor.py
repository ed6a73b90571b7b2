"""The loop: takes samples, pauses when nobody looks, resumes when somebody does, and knows how old its data is."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import zip_longest
from typing import Any, Literal, Protocol

import msgspec

from jupyter_air.gpu.fleet import Fleet
from jupyter_air.gpu.history import History
from jupyter_air.gpu.samples import NodeSample

#: Readings older than this many intervals are stale.
STALE_INTERVALS = 3
#: How long a Refresh waits for its sample.
REFRESH_WAIT_S = 1.5

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where readings come from."""

    def sample(self, time_s: float) -> Awaitable[dict[str, NodeSample]]:
        """The nodes now, by identity, within an interval.

        What is known to go wrong is a node's state, never an exception.
        """
        ...

    def hurry(self) -> None:
        """A person asks: what failed before is tried again at the next sample."""
        ...

    def past(self, times_s: list[float]) -> Awaitable[Iterable[dict[str, NodeSample]]]:
        """The nodes at each of the times, made one by one; empty where the source keeps no history."""
        ...

    def rest(self) -> Awaitable[None]:
        """Lets go of the hardware, until the next sample."""
        ...


class MonitorState(msgspec.Struct):
    """What the monitor is doing.

    Attributes:
        state: ``live`` or ``paused``.
        pauses_in_s: until it pauses when nobody acts; ``None`` when it will not.
        pause_after_s: without activity; ``None`` when pausing is off.
        keep_while_busy: whether a busy kernel keeps it sampling.
        busy: whether a kernel is busy now.
    """

    state: Literal["live", "paused"]
    pauses_in_s: float | None
    pause_after_s: float | None
    keep_while_busy: bool
    busy: bool


class Monitor:
    """Samples every source on the wall clock's multiples of the interval, into one history.

    Args:
        sources: asked side by side; the order is the order of the nodes.
        poll_interval_s: between samples.
        window_s: the length of the history.
        pause_after_s: without activity; 0 never pauses.
        is_busy: tells whether a kernel is at work.
        clock: Unix time, seconds.
    """

    def __init__(
        self,
        sources: list[Source],
        *,
        poll_interval_s: float,
        window_s: float,
        pause_after_s: float,
        is_busy: Callable[[], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.poll_interval_s = poll_interval_s
        self.window_s = window_s
        self.history = History(window_s, poll_interval_s)
        self.fleet = Fleet(keep_s=window_s, stale_s=STALE_INTERVALS * poll_interval_s)
        self.keep_while_busy = False
        self._sources = sources
        self._pause_after_s = pause_after_s
        self._is_busy = is_busy
        self._clock = clock
        self._paused = False
        self._active_s = time.monotonic()
        self._wake = asyncio.Event()
        self._sampling: asyncio.Task[None] | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._since_start: list[tuple[float, dict[str, NodeSample]]] = []

    def start(self) -> None:
        """Begins to sample; called once, on the running event loop."""
        self._active_s = time.monotonic()
        self._filling = asyncio.create_task(self._fill_in_past(), name="jupyter-air-past")
        self._loop_task = asyncio.create_task(self._run(), name="jupyter-air-monitor")

    async def stop(self) -> None:
        """Ends sampling for good and lets go of the hardware; never waits for a driver."""
        for task in (self._loop_task, self._sampling, self._filling):
            if task is not None:
                task.cancel()
        await self._rest()

    def activity(self) -> None:
        """A person did something: renews the time until the pause. A paused monitor stays paused."""
        if not self._paused:
            self._active_s = time.monotonic()

    async def refresh(self) -> None:
        """Takes a sample now, resuming when paused; waits for it ``REFRESH_WAIT_S`` at the most."""
        self._active_s = time.monotonic()
        self._paused = False
        self._wake.set()
        for source in self._sources:
            source.hurry()
        await asyncio.wait([self._sample_soon()], timeout=REFRESH_WAIT_S)

    def state(self) -> MonitorState:
        """What the monitor is doing."""
        busy = self._is_busy()
        paused = self._paused
        stays = not self._pause_after_s or paused or (self.keep_while_busy and busy)
        left_s = max(0.0, self._pause_after_s - (time.monotonic() - self._active_s))
        return MonitorState(
            state="paused" if paused else "live",
            pauses_in_s=None if stays else round(left_s, 1),
            pause_after_s=self._pause_after_s or None,
            keep_while_busy=self.keep_while_busy,
            busy=busy,
        )

    def _is_wanted(self) -> bool:
        if not self._pause_after_s or (self.keep_while_busy and self._is_busy()):
            return True
        return time.monotonic() - self._active_s < self._pause_after_s

    async def _run(self) -> None:
        while True:
            if not self._is_wanted():
                if not self._paused:
                    await self._pause()
            else:
                self._paused = False
                # A sample that hangs must not hold up the clock: it stays in flight, and the tick passes.
                await asyncio.wait([self._sample_soon()], timeout=self.poll_interval_s)
            await self._until_next_tick()

    async def _until_next_tick(self) -> None:
        wait_s = self.poll_interval_s - self._clock() % self.poll_interval_s
        self._wake.clear()
        try:
            await asyncio.wait_for(self._wake.wait(), wait_s)
        except asyncio.TimeoutError:
            return

    async def _pause(self) -> None:
        self._paused = True
        if self._sampling is not None:
            self._sampling.cancel()
        await self._rest()

    async def _rest(self) -> None:
        for source in self._sources:
            await self._guard(source.rest(), source)

    def _sample_soon(self) -> asyncio.Task[None]:
        """The sample in flight, or a new one: never two at once."""
        if self._sampling is None or self._sampling.done():
            self._sampling = asyncio.create_task(self._sample(), name="jupyter-air-sample")
        return self._sampling

    async def _sample(self) -> None:
        time_s = self._clock()
        answers = await asyncio.gather(*(self._guard(source.sample(time_s), source) for source in self._sources))
        nodes: dict[str, NodeSample] = {}
        for answer in answers:
            nodes.update(answer or {})
        self._record(time_s, nodes)

    def _record(self, time_s: float, nodes: dict[str, NodeSample]) -> None:
        known = self.fleet.update(time_s, nodes)
        if self._filling is not None and not self._filling.done():
            self._since_start.append((time_s, known))
        self.history.append(time_s, known)
        self.history.retain({ident: {gpu.uuid for gpu in node.gpus} for ident, node in self.fleet.nodes().items()})

    async def _fill_in_past(self) -> None:
        """Makes a history that begins in the past beside the one that samples go to, and puts it in its place.

        The past of a large fleet takes seconds: whoever asks the server something meanwhile has its turn between rows.
        """
        now_s = self._clock()
        interval_s = self.poll_interval_s
        # The slot of now included: the first sample replaces it, or follows it when the clock ticks meanwhile.
        newest = int(now_s // interval_s) * interval_s
        times_s = [newest - back * interval_s for back in reversed(range(int(self.window_s / interval_s) - 1))]
        history = History(self.window_s, interval_s)
        try:
            pasts = await asyncio.gather(*(source.past(times_s) for source in self._sources))
            for time_s, rows in zip(times_s, zip_longest(*pasts, fillvalue=dict[str, NodeSample]()), strict=False):
                history.append(time_s, {ident: node for row in rows for ident, node in row.items()})
                await asyncio.sleep(0)
        except Exception:  # noqa: BLE001 - a bug costs the rest of the past, not the monitor; logged with its traceback
            _log.exception("Jupyter AIR: the past could not be filled in")
        if history.revision:
            for time_s, nodes in self._since_start:
                history.append(time_s, nodes)
            self.history = history
        self._since_start.clear()

    async def _guard(self, work: Awaitable[Any], source: Source) -> Any:
        """A source that raises something unforeseen costs one sample, never the loop."""
        try:
            return await work
        except Exception:  # noqa: BLE001 - a source's bug must not end the loop; it is logged with its traceback
            _log.exception("Jupyter AIR: %s failed; its nodes miss one sample", type(source).__name__)
            return None
