"""The last two hours of every node.

Time-major ``array('H')`` a node, one shared time axis. Time is cut into slots of one sampling interval, and a slot
keeps its newest sample: a person who presses Refresh sees the new figures at once and does not shorten the two hours.
"""

from __future__ import annotations

import math
import secrets
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from jupyter_air.gpu.ring import Detail, NodeColumns, NodeRing, memory_step_bytes
from jupyter_air.gpu.samples import NodeSample

#: How much of a slot a timer may fire before its due time and still count to the slot it was meant for.
_EARLY_SLOTS = 0.02


class Wanted(NamedTuple):
    """A node whose columns a reader asks for.

    Attributes:
        ident: the node's identity.
        uuids: of its GPUs, in the order wanted.
        detail: how much of them; ``None`` for nothing.
    """

    ident: str
    uuids: Sequence[str]
    detail: Detail | None = "full"


class Slice(msgspec.Struct):
    """The samples after a cursor.

    Attributes:
        replace_from_s: a reader drops its samples at or after this time; 0 drops all.
        times_s: ascending Unix times.
        columns: one per node asked for; ``None`` for those of which nothing is wanted.
        revision: give it back to get what came later.
    """

    replace_from_s: float
    times_s: list[float]
    columns: list[NodeColumns | None]
    revision: int


class History:
    """What every node said in the last ``window_s`` seconds.

    Args:
        window_s: how far back a reader can look, wall clock.
        interval_s: the width of a slot; one row each.
    """

    def __init__(self, window_s: float, interval_s: float) -> None:
        self._window_s = window_s
        self._interval_s = interval_s
        self._capacity = math.ceil(window_s / interval_s) + 1
        self._nodes: dict[str, NodeRing] = {}
        self._times_s = array("d", [0.0]) * self._capacity
        self._revisions = array("Q", [0]) * self._capacity
        self._revision = 0
        self._forget()

    def _forget(self) -> None:
        self._start = 0
        self._count = 0
        #: Changes when what readers hold is no longer a prefix of what is here.
        self.epoch = secrets.token_hex(3)

    def slot(self, time_s: float) -> int:
        """The slot a moment falls into."""
        return math.floor(time_s / self._interval_s + _EARLY_SLOTS)

    def append(self, time_s: float, nodes: dict[str, NodeSample]) -> None:
        """Writes one sample of the nodes; a second one in the same slot replaces the first.

        A clock set back by more than a slot begins a new history: two orders of time cannot share an axis.
        """
        if self._count and self.slot(time_s) < self.slot(self._times_s[self._position(-1)]):
            self._forget()
        if not self._count or self.slot(time_s) != self.slot(self._times_s[self._position(-1)]):
            self._advance()
        position = self._position(-1)
        self._revision += 1
        self._times_s[position] = time_s
        self._revisions[position] = self._revision
        for ident, sample in nodes.items():
            if ident not in self._nodes:
                self._nodes[ident] = NodeRing(self._capacity)
            self._nodes[ident].write(position, sample)
        for ident in self._nodes.keys() - nodes.keys():
            self._nodes[ident].clear(position)

    def _advance(self) -> None:
        if self._count == self._capacity:
            self._start = (self._start + 1) % self._capacity
        else:
            self._count += 1

    def _position(self, row: int) -> int:
        """Where a row (0 the oldest, -1 the newest) lies in the ring."""
        return (self._start + row % self._count) % self._capacity

    def retain(self, gpus: Mapping[str, Collection[str]]) -> None:
        """Forgets the nodes and GPUs that are not among these: MIG slices come with new UUIDs each time.

        Args:
            gpus: the UUIDs that are still listed, by node.
        """
        for ident in self._nodes.keys() - gpus.keys():
            del self._nodes[ident]
        for ident, ring in self._nodes.items():
            ring.retain(gpus[ident])

    def host_step_bytes(self, ident: str) -> int:
        """The step in which the node's host memory is counted."""
        ring = self._nodes.get(ident)
        return ring.host_step_bytes() if ring else memory_step_bytes(None)

    def gpu_step_bytes(self, ident: str, uuid: str) -> int:
        """The step in which the GPU's memory is counted."""
        ring = self._nodes.get(ident)
        return ring.gpu_step_bytes(uuid) if ring else memory_step_bytes(None)

    @property
    def revision(self) -> int:
        """Counts the samples written."""
        return self._revision

    @property
    def nbytes(self) -> int:
        """Memory of the readings and the time axis."""
        return sum(ring.nbytes for ring in self._nodes.values()) + 16 * self._capacity

    def since(self, revision: int, now_s: float, nodes: Sequence[Wanted]) -> Slice:
        """The samples after ``revision`` (0: all), not older than the window.

        Args:
            revision: what an earlier slice gave.
            now_s: Unix time.
            nodes: whose columns are wanted, in the order wanted.
        """
        first = self._count
        while first and self._revisions[self._position(first - 1)] > revision:
            first -= 1
        while first < self._count and self._time_s(first) < now_s - self._window_s:
            first += 1
        times_s, columns = self._rows(first, self._count - first, nodes)
        return Slice(
            replace_from_s=self._replace_from_s(revision, times_s, now_s),
            times_s=[round(t, 1) for t in times_s],
            columns=columns,
            revision=self._revision,
        )

    def after(self, time_s: float, most: int, nodes: Sequence[Wanted]) -> tuple[list[float], list[NodeColumns | None]]:
        """The times of the oldest samples after ``time_s``, ``most`` at the most, and the columns of the nodes."""
        first = 0
        while first < self._count and self._time_s(first) <= time_s:
            first += 1
        return self._rows(first, min(most, self._count - first), nodes)

    def _time_s(self, row: int) -> float:
        return self._times_s[self._position(row)]

    def _rows(self, first: int, count: int, nodes: Sequence[Wanted]) -> tuple[list[float], list[NodeColumns | None]]:
        start = self._position(first) if count else 0
        times_s = [self._time_s(first + row) for row in range(count)]
        return times_s, [self._columns(node, start, count) for node in nodes]

    def _replace_from_s(self, revision: int, times: list[float], now_s: float) -> float:
        if revision == 0:
            return 0.0
        return (self.slot(times[0]) - _EARLY_SLOTS) * self._interval_s if times else now_s

    def _columns(self, node: Wanted, start: int, count: int) -> NodeColumns | None:
        if node.detail is None:
            return None
        ring = self._nodes.get(node.ident) or NodeRing(self._capacity)
        return ring.columns(node.uuids, node.detail, start, count)
