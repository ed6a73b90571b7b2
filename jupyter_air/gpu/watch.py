"""One target over time: its connection, its newest nodes, and why the last scrape failed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from jupyter_air.errors import AirError
from jupyter_air.gpu.exporters import Node, PageError
from jupyter_air.gpu.fetch import Endpoint, FetchError, Reply
from jupyter_air.gpu.gaps import copied, without_readings
from jupyter_air.gpu.samples import NodeSample, NodeState
from jupyter_air.gpu.targets import Target

#: The readings of a target that misses this many scrapes in a row are stale.
STALE_SCRAPES = 3
#: A GPU costs memory for as long as the history goes: a target that renames its GPUs at every scrape is refused.
MOST_GPUS_EVER = 256
MOST_NODES_EVER = 512

_log = logging.getLogger(__name__)

Parse = Callable[[Reply, str, float], Awaitable[list[Node]]]


class Watch:
    """What is known of one target.

    Args:
        target: which.
        endpoint: the connection to it; closed with the watch.
        parse: makes nodes of an answer, off the event loop.
        timeout_s: for an answer.
        old_s: readings that were older than this when they came are not current.
    """

    def __init__(self, target: Target, endpoint: Endpoint, parse: Parse, timeout_s: float, old_s: float) -> None:
        self.target = target
        self.nodes: list[Node] = []
        self.read_s = 0.0
        self.misses = 0
        self.reason: str | None = None
        self.hint: str | None = None
        self.task: asyncio.Task[None] | None = None
        #: A server of Ray's that has no GPUs to tell of.
        self.is_none = False
        self._endpoint = endpoint
        self._parse = parse
        self._timeout_s = timeout_s
        self._old_s = old_s
        self._ever: dict[str, set[str]] = {}
        self._asking = False

    def begin(self, delay_s: float) -> None:
        """Scrapes after a while; a scrape that only waits begins anew, one that is under way goes on."""
        if self.task is not None and not self.task.done():
            if self._asking:
                return
            self.task.cancel()
        self.task = asyncio.create_task(self._scrape(delay_s), name="jupyter-air-scrape")

    async def _scrape(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        self._asking = True
        try:
            reply = await self._endpoint.get(self._timeout_s)
            now_s = time.time()
            self._take(await self._parse(reply, self.target.name, now_s), now_s)
        except PageError as error:
            self.is_none = self.target.is_offer and not self.nodes
            self._miss(error)
        except AirError as error:
            self._miss(error)
        except Exception:  # noqa: BLE001 - a bug costs this target one scrape; it is logged with its traceback
            _log.exception("Jupyter AIR: reading %s failed", self.target.url)
            self._miss(FetchError("Its page could not be read; the server's log has the details."))
        finally:
            self._asking = False

    def _take(self, nodes: list[Node], now_s: float) -> None:
        for node in nodes:
            known = self._ever.setdefault((len(nodes) > 1 and node.host) or "", set())
            known.update(gpu.uuid for gpu in node.sample.gpus)
            if len(known) > MOST_GPUS_EVER or len(self._ever) > MOST_NODES_EVER:
                raise FetchError(
                    "It names its GPUs or nodes anew at every scrape.",
                    f"More than {MOST_GPUS_EVER} of a node, or {MOST_NODES_EVER} nodes, cannot be followed.",
                )
        self.nodes, self.read_s, self.misses, self.is_none = nodes, now_s, 0, False
        self.reason = self.hint = None

    def _miss(self, error: AirError) -> None:
        self.misses += 1
        self.reason, self.hint = error.message, error.hint or None

    def samples(self, time_s: float, fresh_s: float) -> list[tuple[str | None, NodeSample]]:
        """What it says at a tick: host and record of each node; records are the caller's.

        Args:
            time_s: of the tick, Unix time.
            fresh_s: how old readings may be.
        """
        if self.is_none:
            return []
        if not self.nodes:
            state: NodeState = "error" if self.reason else "stale"
            reason = self.reason or "It has not answered yet."
            return [(None, NodeSample(name="", state=state, reason=reason, hint=self.hint, source="exporter"))]
        fresh = not self.misses and time_s - self.read_s <= fresh_s
        return [(node.host, self._sample(node.sample, fresh)) for node in self.nodes]

    def _sample(self, sample: NodeSample, fresh: bool) -> NodeSample:
        copy = copied(sample)
        if not fresh:
            copy.time_s = None
        elif sample.state != "stale" and (sample.time_s is None or self.read_s - sample.time_s <= self._old_s):
            return copy
        else:
            # The page is new and what it says is not: a driver that hangs, a cache.
            copy.state = "stale" if copy.state == "live" else copy.state
            copy.reason = copy.reason or "The exporter's readings are old."
        return self._explained(copy)

    def _explained(self, bare: NodeSample) -> NodeSample:
        without_readings(bare)
        if self.reason is not None:
            bare.reason, bare.hint = self.reason, self.hint
        if self.misses >= STALE_SCRAPES:
            bare.state = "stale"
        return bare

    async def close(self) -> None:
        """Ends the scrape that is under way, and the connection."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
            self.task = None
        await self._endpoint.close()
