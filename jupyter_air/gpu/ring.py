"""One node's rows of the ring: two bytes a reading, in whole steps of its unit."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from jupyter_air.gpu.samples import GpuSample, HostSample, NodeSample

#: The value of a reading that nobody gave.
MISSING = 0xFFFF
_LARGEST = MISSING - 1
_MIB = 1 << 20

_MEMORY = "memory_used_bytes"
#: Columns of a GPU, in the order of the wire (tests/wire/README.md), in whole percent, degrees C, watts and MHz;
#: memory in steps of its own.
GPU_COLUMNS = ("utilization_percent", _MEMORY, "temperature_c", "power_w", "sm_clock_mhz", "throttle_bits")
HOST_COLUMNS = ("cpu_percent", _MEMORY)

Column = list[int | None]


#: How much of a node's history a reader wants: all of it, or the first column of each GPU.
Detail = Literal["full", "strip"]


class NodeColumns(msgspec.Struct):
    """One node's columns on the wire, each as long as the times.

    Attributes:
        host: 2 lists; none for a strip.
        gpus: 6 lists a GPU; 1 for a strip.
    """

    host: list[Column]
    gpus: list[list[Column]]


def memory_step_bytes(total_bytes: int | None) -> int:
    """The smallest whole number of MiB in which ``total_bytes`` fits two bytes; 16 MiB when the total is unknown."""
    if total_bytes is None:
        return 16 * _MIB
    return max(1, math.ceil(total_bytes / (_LARGEST * _MIB))) * _MIB


def quantize(value: float | None, step: float) -> int:
    """A reading as a whole number of steps, at most ``MISSING - 1``; ``MISSING`` for ``None`` and negatives."""
    if value is None or value < 0:
        return MISSING
    return min(round(value / step), _LARGEST)


class NodeRing:
    """The rows of one node: 2 host columns, then 6 a GPU, in the order in which the GPUs were first seen."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._host_step_bytes = memory_step_bytes(None)
        self._gpu_step_bytes: dict[str, int] = {}
        self._gpu_slot: dict[str, int] = {}
        self._rows = array("H", [MISSING]) * (capacity * self._width)

    @property
    def _width(self) -> int:
        return len(HOST_COLUMNS) + len(GPU_COLUMNS) * len(self._gpu_slot)

    def clear(self, position: int) -> None:
        start = position * self._width
        self._rows[start : start + self._width] = array("H", [MISSING]) * self._width

    def write(self, position: int, sample: NodeSample) -> None:
        self._admit(sample.gpus)
        self.clear(position)
        start = position * self._width
        if sample.host is not None:
            self._host_step_bytes = self._restep(
                1, self._host_step_bytes, memory_step_bytes(sample.host.memory_total_bytes)
            )
            self._put(start, HOST_COLUMNS, sample.host, self._host_step_bytes)
        for gpu in sample.gpus:
            first = start + self._first_column(self._gpu_slot[gpu.uuid])
            self._put(first, GPU_COLUMNS, gpu, self._gpu_step_bytes[gpu.uuid])

    def _put(self, start: int, names: Sequence[str], record: GpuSample | HostSample, memory_step: int) -> None:
        for offset, name in enumerate(names):
            self._rows[start + offset] = quantize(getattr(record, name), memory_step if name == _MEMORY else 1)

    @staticmethod
    def _first_column(slot: int) -> int:
        return len(HOST_COLUMNS) + len(GPU_COLUMNS) * slot

    def _admit(self, gpus: Sequence[GpuSample]) -> None:
        if any(gpu.uuid not in self._gpu_slot for gpu in gpus):
            self._arrange(dict.fromkeys([*self._gpu_slot, *(gpu.uuid for gpu in gpus)]))
        for gpu in gpus:
            step = self._gpu_step_bytes.setdefault(gpu.uuid, memory_step_bytes(gpu.memory_total_bytes))
            if gpu.memory_total_bytes is not None:
                column = self._first_column(self._gpu_slot[gpu.uuid]) + GPU_COLUMNS.index(_MEMORY)
                new_step = memory_step_bytes(gpu.memory_total_bytes)
                self._gpu_step_bytes[gpu.uuid] = self._restep(column, step, new_step)

    def retain(self, uuids: Collection[str]) -> None:
        """Forgets the GPUs that are not among these."""
        if self._gpu_slot.keys() - uuids:
            self._arrange([uuid for uuid in self._gpu_slot if uuid in uuids])

    def _arrange(self, uuids: Iterable[str]) -> None:
        """Makes rows for exactly these GPUs, once for all of them, and keeps what is known of each."""
        old, old_width, old_slots = self._rows, self._width, self._gpu_slot
        self._gpu_slot = {uuid: slot for slot, uuid in enumerate(uuids)}
        self._gpu_step_bytes = {u: step for u, step in self._gpu_step_bytes.items() if u in self._gpu_slot}
        self._rows = array("H", [MISSING]) * (self._capacity * self._width)
        firsts = [(0, 0, len(HOST_COLUMNS))]
        for uuid in self._gpu_slot.keys() & old_slots.keys():
            now, before = self._first_column(self._gpu_slot[uuid]), self._first_column(old_slots[uuid])
            firsts.append((now, before, len(GPU_COLUMNS)))
        for now, before, count in firsts:
            for offset in range(count):
                self._rows[now + offset :: self._width] = old[before + offset :: old_width]

    def _restep(self, column: int, old: int, new: int) -> int:
        """Counts a memory column in another step, as when a GPU is cut into MIG slices; gives the new step."""
        if old != new:
            values = self._rows[column :: self._width]
            self._rows[column :: self._width] = array(
                "H", [v if v == MISSING else quantize(v * old, new) for v in values]
            )
        return new

    def host_step_bytes(self) -> int:
        return self._host_step_bytes

    def gpu_step_bytes(self, uuid: str) -> int:
        return self._gpu_step_bytes.get(uuid, memory_step_bytes(None))

    def columns(self, uuids: Iterable[str], detail: Detail, start: int, count: int) -> NodeColumns:
        host, metrics = (len(HOST_COLUMNS), len(GPU_COLUMNS)) if detail == "full" else (0, 1)
        return NodeColumns(
            host=[self._column(c, start, count) for c in range(host)],
            gpus=[self._gpu_columns(uuid, metrics, start, count) for uuid in uuids],
        )

    def _gpu_columns(self, uuid: str, metrics: int, start: int, count: int) -> list[Column]:
        slot = self._gpu_slot.get(uuid)
        if slot is None:
            return [[None] * count for _ in range(metrics)]
        first = self._first_column(slot)
        return [self._column(first + offset, start, count) for offset in range(metrics)]

    def _column(self, column: int, start: int, count: int) -> Column:
        width = self._width
        end = start + count
        values = self._rows[start * width + column : min(end, self._capacity) * width : width]
        if end > self._capacity:
            values += self._rows[column : (end - self._capacity) * width : width]
        plain: Column = values.tolist()  # type: ignore[assignment]
        return plain if not values.count(MISSING) else [None if v == MISSING else v for v in plain]

    @property
    def nbytes(self) -> int:
        return len(self._rows) * self._rows.itemsize
