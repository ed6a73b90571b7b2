"""A page of Prometheus text, or a Prometheus server's series, as nodes; ``dialects.py`` says what is looked for.

prometheus-client's parser takes 27-30 ms for a page of 60 kB and refuses all of it for one bad line. Here a line whose
metric no dialect knows costs one look into a dictionary, and each set of labels is read once however many metrics
carry it (``tests/benchmarks/bench_scraping.py`` has the figures).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from jupyter_air.errors import AirError
from jupyter_air.gpu.dialects import KNOWN, Known
from jupyter_air.gpu.rows import NodeRows
from jupyter_air.gpu.samples import NodeSample

#: A page names few nodes, unless it is a federation's.
MOST_NODES = 256
#: GPUs and slices of one page, all nodes together, and of one node: 16 GPUs in seven slices each.
MOST_ROWS = 1024
MOST_ROWS_OF_A_NODE = 128
#: Kubernetes' labels make lines of about 1 kB.
_LONGEST_LINE = 16 * 1024

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n"}


class PageError(AirError):
    """A page that gives no node.

    Args:
        message: one sentence: what is wrong with it.
        hint: one sentence: what to do about it.
    """

    code = "bad-page"


class Series(NamedTuple):
    """One value.

    Attributes:
        known: what its metric says.
        labels: whose it is; sets that are equal are the same object.
        value: as written.
        time_s: Unix time where it is given.
    """

    known: Known
    labels: Mapping[str, str]
    value: float
    time_s: float | None = None


class Node(NamedTuple):
    """A node of a page.

    Attributes:
        host: the name that the page gives it; ``None`` where it gives none or only one like "localhost".
        sample: its readings; ``sample.name`` is the host, or else the name that the caller gave.
    """

    host: str | None
    sample: NodeSample


def read_page(page: bytes, name: str, now_s: float | None = None) -> list[NodeSample]:
    """The nodes of a page, in its order.

    Args:
        page: Prometheus text, UTF-8.
        name: of a node that the page does not name.
        now_s: Unix time at which the page came; now where it is left out.

    Raises:
        PageError: it has nothing that a dialect knows, or was cut off.
    """
    return [node.sample for node in read_nodes(page, name, time.time() if now_s is None else now_s)]


def read_nodes(page: bytes, name: str, now_s: float) -> list[Node]:
    """The nodes of a page with the names that it gives them; arguments and errors are those of ``read_page``."""
    if page and not page.endswith(b"\n"):
        # Half of a last line can be a number that is plausible and wrong.
        raise PageError("The exporter's page ends in the middle of a line.")
    nodes = assemble(parse(page.decode("utf-8", "replace")), name, now_s)
    if not nodes:
        raise PageError(
            "The page has no GPU metrics that Jupyter AIR knows.",
            "Give the address of air agent, dcgm-exporter, nvidia_gpu_exporter, nvitop-exporter, Ray, AMD "
            "device-metrics-exporter or all-smi.",
        )
    return nodes


def parse(text: str) -> Iterator[Series]:
    """The values that a dialect knows; any other line, and one that is malformed, is left out."""
    blocks: dict[str, Mapping[str, str] | None] = {}
    for line in text.split("\n"):
        brace = line.find("{")
        name, rest = (line[:brace], line[brace:]) if brace > 0 else _split(line)
        known = KNOWN.get(name)
        if known is None or len(line) > _LONGEST_LINE:
            continue
        end = rest.rfind("}") + 1
        block = rest[:end]
        if block not in blocks:
            blocks[block] = _labels(block)
        labels = blocks[block]
        numbers = rest[end:].split()
        if labels is None or not 1 <= len(numbers) <= 2:
            continue
        try:
            yield Series(known, labels, float(numbers[0]), float(numbers[1]) / 1000 if numbers[1:] else None)
        except ValueError:
            continue


def _split(line: str) -> tuple[str, str]:
    name, _, rest = line.partition(" ")
    return name, rest


def _labels(block: str) -> Mapping[str, str] | None:
    """The labels of ``{a="1",b="2"}``; ``None`` when it is malformed."""
    inner = block[1:-1]
    labels: dict[str, str] = {}
    at = 0
    # One match after the other, each where the last one ended: what lies between two labels makes the line malformed.
    while at < len(inner):
        found = _LABEL.match(inner, at)
        if found is None:
            return None
        name, value = found.groups()
        labels[name] = _ESCAPE.sub(lambda e: _ESCAPED.get(e[1], e[1]), value) if "\\" in value else value
        at = found.end()
    return labels


def assemble(series: Iterable[Series], name: str, now_s: float) -> list[Node]:
    """The nodes that values are about, in the order in which they come.

    Args:
        series: of one target. Values that name no host belong to its only node.
        name: of a node without a name.
        now_s: when they were read, Unix time.
    """
    rows: dict[str | None, NodeRows] = {}
    hosts: dict[tuple[int, str], str | None] = {}
    keep: list[Mapping[str, str]] = []
    total = 0
    for one in series:
        key = id(one.labels), one.known.dialect.source
        if key not in hosts:
            keep.append(one.labels)  # alive, so that no other set of labels gets its id
            hosts[key] = _host(one)
        host = hosts[key]
        node = rows.get(host)
        if node is None:
            if len(rows) >= MOST_NODES:
                continue
            node = rows[host] = NodeRows()
        may_grow = total < MOST_ROWS and len(node) < MOST_ROWS_OF_A_NODE
        total += node.add(one.known, one.labels, one.value, one.time_s, may_grow=may_grow)
    named = [host for host in rows if host is not None]
    if None in rows and len(named) == 1:
        rows[named[0]].merge(rows.pop(None))
    return [Node(host, node.sample(host or name, now_s)) for host, node in rows.items() if node.is_known]


def _host(series: Series) -> str | None:
    for label in series.known.dialect.labels.host:
        host = series.labels.get(label, "").strip()
        if host and not _is_loopback(host):
            return host[:128]
    return None


def _is_loopback(host: str) -> bool:
    """Whether every node may call itself so."""
    bare = host.lower().rpartition(":")[0] if host.count(":") == 1 else host.lower()
    return bare in ("localhost", "::1", "ip6-localhost") or bare.startswith(("localhost.", "127."))
