"""The site's Prometheus server as a source: one query brings every node, another the two hours before."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jupyter_air.errors import AirError, InputError
from jupyter_air.gpu import prometheus_answers
from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.exporters import Node
from jupyter_air.gpu.fetch import MIB, Endpoint, Reply
from jupyter_air.gpu.gaps import copied, without_readings
from jupyter_air.gpu.naming import Claim, name
from jupyter_air.gpu.prometheus_answers import Instance
from jupyter_air.gpu.samples import NodeSample
from jupyter_air.gpu.targets import parse_target
from jupyter_air.gpu.watch import STALE_SCRAPES

_HURRY_WAIT_S = 1.2
_LONGEST_TIMEOUT_S = 8.0
#: Raw samples are asked for this far back: two scrapes of a server that scrapes once a minute.
_LOOKBACK_S = 150.0
#: A node whose newest scrape is older than this many of its scrapes has gone away.
_FRESH_SCRAPES = 2.5
_MOST_BYTES = 64 * MIB
#: The past is asked for in pieces that are quick to decode, the newest first, while there is time.
_PAST_STEPS = 120
_PAST_LIMIT_S = 60.0
_PAST_TIMEOUT_S = 20.0
#: Rows of GPUs that the past may have: 35 nodes of 8 GPUs for two hours, fewer for longer.
_MOST_PAST_ROWS = 200_000

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def base_url(url: str) -> str:
    """A Prometheus server's address without its last slash.

    Raises:
        InputError: it is no address, or has a password in it.
    """
    try:
        target = parse_target(url)
    except InputError as error:
        raise InputError(
            error.message.replace("A target", "JupyterAir.prometheus_url").replace("gpu-a:9400/metrics", "prom:9090"),
            error.hint,
        ) from None
    return (target.url.removesuffix("/metrics") if not url.endswith("/metrics") else target.url).rstrip("/")


class PrometheusServer:
    """A source of readings of every node that a Prometheus server scrapes.

    Args:
        url: the server's.
        selector: label matchers that narrow down what is read (``job="dcgm"``); empty for everything.
        credentials: what the server is shown.
        interval_s: between two ticks.
        taken: names that other sources have given.

    Raises:
        InputError: the address or the selector cannot be used.
    """

    def __init__(
        self, url: str, selector: str, credentials: Credentials, *, interval_s: float, taken: Iterable[str] = ()
    ) -> None:
        self.url = base_url(url)
        self._query = prometheus_answers.query(prometheus_answers.parse_selector(selector))
        self._credentials = credentials
        self._interval_s = interval_s
        self._taken = frozenset(taken)
        self._endpoints: dict[str, Endpoint] = {}
        self._instances: dict[str, Instance] = {}
        self._trouble: AirError | None = None
        self._has_answered = False
        self._misses = 0
        self._asking: asyncio.Task[None] | None = None
        self._hurried = True
        self._parser: ThreadPoolExecutor | None = None

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        """Every node by server and instance; a query that takes longer counts at the next tick."""
        hurried, self._hurried = self._hurried, False
        await asyncio.wait([self._question()], timeout=_HURRY_WAIT_S if hurried else 0.5)
        nodes = self._nodes({key: one.nodes for key, one in self._instances.items()}, self._current)
        return nodes | self._server_row()

    def hurry(self) -> None:
        """The next sample waits for its answer."""
        self._hurried = True

    async def past(self, times_s: list[float]) -> Iterator[dict[str, NodeSample]]:
        """What the server knows of each of the times, as far back as it tells within ``_PAST_LIMIT_S``."""
        past: dict[int, dict[str, list[Node]]] = {}
        try:
            await asyncio.wait_for(self._ask_past(len(times_s), past), _PAST_LIMIT_S)
        except asyncio.TimeoutError:
            _log.info("Jupyter AIR: the Prometheus server gave only a part of the past in time")
        except AirError as error:
            _log.warning("Jupyter AIR: no past from the Prometheus server: %s", error.message)
        return (
            self._nodes(past.get(self._slot(time_s), {}), lambda _, sample, at=time_s: _at(sample, at))  # type: ignore[misc]
            for time_s in (times_s if past else [])
        )

    async def rest(self) -> None:
        """Closes the connection, until the next sample."""
        self._hurried = True
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
            self._asking = None
        endpoints, self._endpoints = self._endpoints, {}
        for endpoint in endpoints.values():
            await endpoint.close()
        if self._parser is not None:
            self._parser.shutdown(wait=False, cancel_futures=True)
            self._parser = None

    def _question(self) -> asyncio.Task[None]:
        """The question that is on its way, or a new one: never two at once."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(), name="jupyter-air-prometheus")
        return self._asking

    async def _ask(self) -> None:
        now_s = time.time()
        expression = f"{self._query}[{max(_LOOKBACK_S, 3 * self._interval_s):.0f}s]"
        try:
            reply = await self._post("query", {"query": expression, "time": f"{now_s:.3f}"})
            self._instances = await self._off_loop(lambda: prometheus_answers.newest(reply, _MOST_BYTES, now_s))
            self._trouble, self._misses, self._has_answered = None, 0, True
        except AirError as error:
            self._trouble = error
            self._misses += 1

    async def _ask_past(self, slots: int, past: dict[int, dict[str, list[Node]]]) -> None:
        """Fills in the past, by slot."""
        await asyncio.wait([self._question()])
        if self._trouble is not None:
            raise self._trouble
        rows = sum(len(node.sample.gpus) for one in self._instances.values() for node in one.nodes)
        steps = int(min(slots, _MOST_PAST_ROWS / max(rows, 1)))
        end = int(time.time() // self._interval_s) - 1
        first = end - steps
        while end > first:
            start = max(first, end - _PAST_STEPS) + 1
            answer = await self._post("query_range", self._range(start, end))
            piece = await self._off_loop(lambda reply=answer: prometheus_answers.by_time(reply, _MOST_BYTES))  # type: ignore[misc]
            past |= {self._slot(time_s): nodes for time_s, nodes in piece.items()}
            end = start - 1

    def _range(self, start: int, end: int) -> dict[str, str]:
        scrapes_s = [one.scrape_s for one in self._instances.values() if one.scrape_s is not None]
        lookback_s = max(1.5 * self._interval_s, _FRESH_SCRAPES * max(scrapes_s, default=0.0))
        return {
            "query": self._query,
            "start": f"{start * self._interval_s:.3f}",
            "end": f"{end * self._interval_s:.3f}",
            "step": f"{self._interval_s:g}",
            # By default a value stands for five minutes, which would bridge a gap.
            "lookback_delta": f"{lookback_s:.0f}s",
        }

    async def _post(self, what: str, params: dict[str, str]) -> Reply:
        if what not in self._endpoints:
            self._endpoints[what] = Endpoint(f"{self.url}/api/v1/{what}", self._credentials, what="Prometheus server")
        timeout_s = min(_LONGEST_TIMEOUT_S, 0.8 * self._interval_s) if what == "query" else _PAST_TIMEOUT_S
        return await self._endpoints[what].get(timeout_s, _MOST_BYTES, params)

    async def _off_loop(self, work: Callable[[], _T]) -> _T:
        if self._parser is None:
            self._parser = ThreadPoolExecutor(1, thread_name_prefix="jupyter-air-prometheus")
        return await asyncio.get_running_loop().run_in_executor(self._parser, work)

    def _slot(self, time_s: float) -> int:
        return round(time_s / self._interval_s)

    def _nodes(
        self, instances: dict[str, list[Node]], finish: Callable[[str, NodeSample], None]
    ) -> dict[str, NodeSample]:
        nodes: dict[str, NodeSample] = {}
        claims: list[Claim] = []
        for instance, told in instances.items():
            for node in told:
                sample = copied(node.sample)
                finish(instance, sample)
                ident = f"{self.url}#{instance}"
                nodes[f"{ident}#{node.host or ''}" if len(told) > 1 else ident] = sample
                claims.append(Claim(instance or self.url, node.host, sample, len(told) > 1))
        name(claims, self._taken)
        return nodes

    def _current(self, instance: str, sample: NodeSample) -> None:
        """Takes the readings away where they are no longer current, and says why."""
        known = self._instances[instance]
        limit_s = max(STALE_SCRAPES * self._interval_s, _FRESH_SCRAPES * (known.scrape_s or 0.0))
        sample.stale_after_s = limit_s
        if self._trouble is not None:
            without_readings(sample)
            sample.time_s = None
            sample.reason = f"The Prometheus server: {self._trouble.message}"
            sample.state = "stale" if self._misses >= STALE_SCRAPES else sample.state
        elif time.time() - known.time_s > limit_s:
            without_readings(sample)
            sample.state, sample.reason = "stale", "The Prometheus server has no newer reading of this node."

    def _server_row(self) -> dict[str, NodeSample]:
        trouble = self._trouble
        if trouble is not None:
            reason, hint = trouble.message, trouble.hint or None
        elif not self._has_answered:
            reason, hint = "The Prometheus server has not answered yet.", None
        elif not self._instances:
            reason = "The Prometheus server has no GPU metrics that Jupyter AIR knows."
            hint = "Does JupyterAir.prometheus_selector leave any?"
        else:
            return {}
        row = NodeSample(name=self.url[:128], state="error", reason=reason, hint=hint, source="prometheus")
        return {f"{self.url}#": row}


def _at(sample: NodeSample, time_s: float) -> None:
    sample.time_s = time_s
