"""A Prometheus server's answers as nodes; CPU time that is spent off the event loop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from jupyter_air.errors import InputError
from jupyter_air.gpu.dialects import KNOWN
from jupyter_air.gpu.exporters import Node, Series, assemble
from jupyter_air.gpu.fetch import FetchError, Reply

_MATCHERS = re.compile(r'\s*(?:[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"\s*(?:,\s*|$))*')

#: Times of one scrape are equal; a little apart where a proxy rounds them.
_SAME_SCRAPE_S = 1.0


class _Result(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Result]


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None


class Instance(NamedTuple):
    """What Prometheus knows of one target of its own.

    Attributes:
        nodes: its nodes, mostly one.
        time_s: of its newest scrape, Unix time.
        scrape_s: from one scrape to the next; ``None`` when only one is seen.
    """

    nodes: list[Node]
    time_s: float
    scrape_s: float | None


Group = tuple[str, str]


def parse_selector(selector: str) -> str:
    """Label matchers as they stand between the braces of a query.

    Raises:
        InputError: it is something else.
    """
    bare = selector.strip().removeprefix("{").removesuffix("}").strip().rstrip(",")
    if not _MATCHERS.fullmatch(bare):
        raise InputError(
            f"JupyterAir.prometheus_selector is label matchers such as 'job=\"dcgm\"'; got {selector[:80]!r}."
        )
    return bare


def query(selector: str) -> str:
    """The query for every metric that a dialect knows."""
    names = "|".join(sorted(KNOWN))
    return f'{{__name__=~"{names}"{"," if selector else ""}{selector}}}'


def newest(reply: Reply, most_bytes: int, now_s: float) -> dict[str, Instance]:
    """The newest scrape of every instance, from an answer with a window of raw samples.

    Args:
        reply: to a query with a range.
        most_bytes: that the answer may have.
        now_s: Unix time.

    Raises:
        FetchError: it is no such answer.
    """
    groups = _grouped(_results(reply, most_bytes))
    found: dict[str, Instance] = {}
    for instance in dict.fromkeys(instance for instance, _ in groups):
        series: list[Series] = []
        times: list[float] = []
        gaps: list[float] = []
        for results in (results for (of, _), results in groups.items() if of == instance):
            last_s = max(result.values[-1][0] for result in results)
            times.append(last_s)
            for result in results:
                # What the last scrape no longer had is gone, though a sample of it lies in the window.
                if result.values[-1][0] >= last_s - _SAME_SCRAPE_S:
                    series += _series(result.metric, result.values[-1:])
                gaps += [b[0] - a[0] for a, b in zip(result.values[-2:], result.values[-1:], strict=False)]
        nodes = assemble(series, instance, now_s)
        if nodes:
            found[instance] = Instance(nodes, max(times), max(gaps, default=None))
    return found


def by_time(reply: Reply, most_bytes: int) -> dict[float, dict[str, list[Node]]]:
    """The nodes of every instance at each step of a range.

    Args:
        reply: to a range query.
        most_bytes: that the answer may have.

    Raises:
        FetchError: it is no such answer.
    """
    steps: dict[float, dict[str, list[Series]]] = {}
    for result in _results(reply, most_bytes):
        instance = result.metric.get("instance", "")
        for one in _series(result.metric, result.values):
            assert one.time_s is not None, "every value of an answer has its time"
            steps.setdefault(one.time_s, {}).setdefault(instance, []).append(one)
    return {
        time_s: {instance: assemble(series, instance, time_s) for instance, series in instances.items()}
        for time_s, instances in steps.items()
    }


def _results(reply: Reply, most_bytes: int) -> list[_Result]:
    try:
        answer = _DECODER.decode(reply.content(most_bytes))
    except (msgspec.DecodeError, ValueError):
        raise FetchError("The answer is not that of a Prometheus server.", "Is it the server's base address?") from None
    if answer.status != "success" or answer.data is None:
        raise FetchError("The Prometheus server could not answer the query.")
    return [result for result in answer.data.result if result.values]


def _grouped(results: Iterable[_Result]) -> dict[Group, list[_Result]]:
    groups: dict[Group, list[_Result]] = {}
    for result in results:
        key = result.metric.get("instance", ""), result.metric.get("job", "")
        groups.setdefault(key, []).append(result)
    return groups


def _series(metric: Mapping[str, str], values: Iterable[tuple[float, str]]) -> Iterable[Series]:
    known = KNOWN.get(metric.get("__name__", ""))
    if known is None:
        return
    for time_s, value in values:
        try:
            yield Series(known, metric, float(value), time_s)
        except ValueError:
            continue


_DECODER = msgspec.json.Decoder(_Answer)
