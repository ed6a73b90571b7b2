"""Exporters' pages as a source of readings: every target once an interval, side by side, none of them able to hurt
another or the event loop.

A tick begins the scrapes of its interval, each at a moment of its own in the first half, and gives what the last
interval brought. A person's Refresh, a start and a resume scrape all targets at once and wait a moment for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.exporters import Node, read_nodes
from jupyter_air.gpu.fetch import MOST_PAGE_BYTES, Budget, Endpoint, Reply
from jupyter_air.gpu.naming import Claim, name
from jupyter_air.gpu.samples import NodeSample
from jupyter_air.gpu.targets import Target, Targets
from jupyter_air.gpu.watch import STALE_SCRAPES, Watch

#: How long a Refresh waits for its answers: less than the monitor does.
_HURRY_WAIT_S = 1.2
#: A hurried round begins this many scrapes a second, so that the event loop stays free.
_HURRIED_PER_S = 200.0
_LONGEST_TIMEOUT_S = 5.0
_TIMEOUT_INTERVALS = 0.45
_SPREAD_INTERVALS = 0.5
#: Older readings are not this interval's.
_FRESH_INTERVALS = 1.25
_log = logging.getLogger(__name__)


class Scraper:
    """A source of readings of the nodes that targets tell of.

    Args:
        targets: which there are; looked at again at every tick.
        credentials: what they are shown.
        interval_s: between two ticks.
        taken: names that other sources have given; a node that claims one is shown by its address.
    """

    def __init__(
        self, targets: Targets, credentials: Credentials, *, interval_s: float, taken: Iterable[str] = ()
    ) -> None:
        self._targets = targets
        self._credentials = credentials
        self._interval_s = interval_s
        self._timeout_s = min(_LONGEST_TIMEOUT_S, _TIMEOUT_INTERVALS * interval_s)
        self._taken = frozenset(taken)
        self._watches: dict[str, Watch] = {}
        self._budget = Budget()
        self._hurried = True
        self._looking: asyncio.Task[None] | None = None
        # A thread suffices: a page is parsed within a millisecond, and Python hands over the lock every five.
        self._parser: ThreadPoolExecutor | None = None

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        """Every node by its target's address; begins the scrapes of this interval."""
        hurried, self._hurried = self._hurried, False
        await self._look(_HURRY_WAIT_S if hurried else 0.2)
        await self._follow_targets()
        watches = list(self._watches.values())
        for number, watch in enumerate(watches):
            watch.begin(number / _HURRIED_PER_S if hurried else self._moment_s(watch.target))
        tasks = [watch.task for watch in watches if watch.task is not None]
        if hurried and tasks:
            await asyncio.wait(tasks, timeout=_HURRY_WAIT_S)
        return self._named(time.time() if hurried else time_s) | self._troubles()

    def hurry(self) -> None:
        """The next sample scrapes every target at once."""
        self._hurried = True

    async def past(self, times_s: list[float]) -> list[dict[str, NodeSample]]:
        """Exporters keep no history."""
        return []

    async def rest(self) -> None:
        """Closes every connection, until the next sample."""
        self._hurried = True
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        watches, self._watches = list(self._watches.values()), {}
        await asyncio.gather(*(watch.close() for watch in watches))
        await self._targets.rest()
        if self._parser is not None:
            self._parser.shutdown(wait=False, cancel_futures=True)
            self._parser = None

    async def _look(self, wait_s: float) -> None:
        """Looks at the lists of targets; a list on a file system that hangs holds up nothing."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._targets.look(), name="jupyter-air-targets")
        await asyncio.wait([self._looking], timeout=wait_s)
        if self._looking.done() and not self._looking.cancelled() and (bug := self._looking.exception()):
            _log.error("Jupyter AIR: the lists of targets could not be read", exc_info=bug)

    async def _follow_targets(self) -> None:
        known = {target.url: target for target in self._targets.known}
        gone = [self._watches.pop(url) for url in self._watches.keys() - known.keys()]
        await asyncio.gather(*(watch.close() for watch in gone))
        self._watches = {url: self._watches.get(url) or self._watch(target) for url, target in known.items()}

    def _watch(self, target: Target) -> Watch:
        endpoint = Endpoint(target.url, self._credentials, self._budget)
        return Watch(target, endpoint, self._parse, self._timeout_s, STALE_SCRAPES * self._interval_s)

    def _moment_s(self, target: Target) -> float:
        """When in the interval a target is scraped: always the same, and no two targets at once."""
        return zlib.crc32(target.url.encode()) / 2**32 * _SPREAD_INTERVALS * self._interval_s

    async def _parse(self, reply: Reply, address: str, now_s: float) -> list[Node]:
        if self._parser is None:
            self._parser = ThreadPoolExecutor(1, thread_name_prefix="jupyter-air-pages")
        return await asyncio.get_running_loop().run_in_executor(self._parser, _read, reply, address, now_s)

    def _named(self, time_s: float) -> dict[str, NodeSample]:
        addresses = Counter(target.name for target in self._targets.known)
        claims: list[Claim] = []
        nodes: dict[str, NodeSample] = {}
        for watch in self._watches.values():
            url, short = watch.target.url, watch.target.name
            address = short if addresses[short] == 1 else url
            told = watch.samples(time_s, _FRESH_INTERVALS * self._interval_s)
            for host, sample in told:
                nodes[f"{url}#{host or ''}" if len(told) > 1 else url] = sample
                claims.append(Claim(address, host, sample, len(told) > 1))
        name(claims, self._taken)
        return nodes

    def _troubles(self) -> dict[str, NodeSample]:
        return {
            f"targets:{trouble.name}": NodeSample(
                name=trouble.name[:128],
                state="error",
                reason=trouble.reason,
                hint=trouble.hint or None,
                source="targets",
            )
            for trouble in self._targets.troubles
        }


def _read(reply: Reply, address: str, now_s: float) -> list[Node]:
    return read_nodes(reply.content(MOST_PAGE_BYTES), address, now_s)
