"""The history as CSV."""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Iterator

from jupyter_air.gpu.history import History, Wanted
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.ring import NodeColumns
from jupyter_air.gpu.samples import THROTTLE_REASONS, NodeSample

#: About how many rows are written at once: the event loop serves others between two chunks.
_ROWS_A_CHUNK = 1000

_HEADER = (
    "time",
    "node",
    "gpu_index",
    "gpu_uuid",
    "gpu_name",
    "utilization_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "temperature_c",
    "power_w",
    "sm_clock_mhz",
    "throttle_reasons",
    "host_cpu_percent",
    "host_memory_used_bytes",
)

_Node = tuple[str, NodeSample]


def csv_rows(monitor: Monitor) -> Iterator[str]:
    """The history as CSV, a row a GPU and sample (RFC 4180, times in UTC, oldest first), in chunks."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(_HEADER)
    groups = list(_groups(list(monitor.fleet.nodes().items())))
    # A fleet that fills a chunk with one sample is written node by node, a small one many samples at a time.
    samples = _ROWS_A_CHUNK // _row_count(groups[0]) if len(groups) == 1 else 1
    after_s = -math.inf
    while True:
        times_s: list[float] = []
        for group in groups:
            times_s, rows = _block(monitor.history, group, after_s, samples)
            writer.writerows(rows)
            yield _drain(buffer)
        if not times_s:
            return
        after_s = times_s[-1]


def _groups(nodes: list[_Node]) -> Iterator[list[_Node]]:
    group: list[_Node] = []
    for node in nodes:
        if group and _row_count([*group, node]) > _ROWS_A_CHUNK:
            yield group
            group = []
        group.append(node)
    yield group


def _row_count(nodes: list[_Node]) -> int:
    return sum(max(1, len(node.gpus)) for _, node in nodes) or 1


def _block(
    history: History, nodes: list[_Node], after_s: float, samples: int
) -> tuple[list[float], list[list[object]]]:
    wanted = [Wanted(ident, [gpu.uuid for gpu in node.gpus]) for ident, node in nodes]
    times_s, columns = history.after(after_s, samples, wanted)
    rows: list[list[object]] = []
    for at, time_s in enumerate(times_s):
        stamp = datetime.datetime.fromtimestamp(time_s, datetime.timezone.utc).isoformat(timespec="milliseconds")
        for (ident, node), own in zip(nodes, columns, strict=True):
            assert own is not None, "every node is wanted"
            rows.extend([stamp, _as_text(node.name), *row] for row in _node_rows(history, ident, node, own, at))
    return times_s, rows


def _node_rows(history: History, ident: str, node: NodeSample, columns: NodeColumns, at: int) -> Iterator[list[object]]:
    cpu, memory = (column[at] for column in columns.host)
    host = [cpu, _bytes(memory, history.host_step_bytes(ident))]
    for gpu, values in zip(node.gpus, columns.gpus, strict=True):
        utilization, used, temperature, power, clock, throttle = (column[at] for column in values)
        yield [
            gpu.index,
            gpu.uuid,
            _as_text(gpu.name),
            utilization,
            _bytes(used, history.gpu_step_bytes(ident, gpu.uuid)),
            gpu.memory_total_bytes,
            temperature,
            power,
            clock,
            _throttle_words(throttle),
            *host,
        ]
    if not node.gpus:
        yield [*[None] * 10, *host]


def _bytes(value: int | None, step_bytes: int) -> int | None:
    return None if value is None else value * step_bytes


def _throttle_words(bits: int | None) -> str:
    return "" if bits is None else "; ".join(r for n, r in enumerate(THROTTLE_REASONS) if bits >> n & 1)


def _as_text(name: str) -> str:
    """A name that a spreadsheet does not run as a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" and name else name


def _drain(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
