"""The GPUs of one node, put together from values that come one by one in any order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, get_args

from jupyter_air.gpu import dialects
from jupyter_air.gpu.dialects import Dialect, Known
from jupyter_air.gpu.nvml_device import identity
from jupyter_air.gpu.row import LONGEST, Row, reading
from jupyter_air.gpu.samples import GpuSample, GpuState, HostSample, NodeSample, NodeState

#: What a GPU has once, however many slices: an exporter repeats it for each slice.
_OF_THE_WHOLE = ("temperature_c", "power_w", "power_limit_w", "sm_clock_mhz", "memory_clock_mhz")
_NO_PARTITION = ("", "0", "na", "n/a", "none")
_RAY_SLICES = 1000


class _Place(NamedTuple):
    """Where the values of one set of labels go."""

    row: Row | None
    whole: Row | None
    partition: bool


_NOWHERE = _Place(None, None, False)


class NodeRows:
    """What the exporters of one node said."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._places: dict[tuple[int, bool, str], _Place] = {}
        self._host = Row("", "")
        self._dialect: Dialect | None = None
        self._time_s: float | None = None
        self._age_s: float | None = None
        self._driver: str | None = None
        self._state: NodeState = "live"
        self._reason: str | None = None
        self._hint: str | None = None

    def __len__(self) -> int:
        """GPUs and slices."""
        return len(self._rows)

    @property
    def is_known(self) -> bool:
        """Whether anything was said of this node."""
        return self._dialect is not None

    def add(
        self, known: Known, labels: Mapping[str, str], value: float, time_s: float | None, *, may_grow: bool = True
    ) -> int:
        """Takes in one value.

        Args:
            known: what it says.
            labels: whose it is; they must stay alive and unchanged.
            value: as written.
            time_s: when it was read, Unix time; ``None`` where that is not told.
            may_grow: whether a GPU that was not seen before counts.

        Returns:
            how many GPUs and slices came in by it.
        """
        dialect, metric, rank = known
        before = len(self._rows)
        if metric.about in (dialects.GPU, dialects.SLICE, dialects.INFO, dialects.STATE):
            place = self._place(dialect, labels, metric.about == dialects.SLICE, may_grow)
            if place.row is None and metric is not _NODE_STATE:
                return len(self._rows) - before
            self._put(known, labels, value, place)
        elif metric.about == dialects.HOST:
            self._host.say(metric.field, rank, reading(metric.field, value, metric.scale))
        elif metric.about == dialects.HEALTH and not value:
            self._state, self._reason = "error", dialect.unhealthy
        elif metric.about == dialects.AGE:
            self._age_s = reading("age", value)
        elif metric.about == dialects.NODE:
            self._driver = _first(labels, dialect.labels.driver) or self._driver
        self._dialect = self._dialect or dialect
        if time_s is not None:
            self._time_s = max(time_s, self._time_s or 0.0)
        return len(self._rows) - before

    def _put(self, known: Known, labels: Mapping[str, str], value: float, place: _Place) -> None:
        metric, rank = known.metric, known.rank
        if metric.about == dialects.STATE:
            if value:
                self._put_state(labels, place.row)
        elif place.row is not None and metric.about == dialects.INFO:
            _inform(place.row, labels)
        elif place.row is not None:
            row = place.whole if place.whole is not None and metric.field in _OF_THE_WHOLE else place.row
            # AMD's partitions but the first say 0 W for "not mine to tell".
            silent = place.partition and metric.field in ("power_w", "temperature_c") and not value
            row.say(metric.field, rank, None if silent else reading(metric.field, value, metric.scale))

    def _put_state(self, labels: Mapping[str, str], row: Row | None) -> None:
        state, reason = labels.get("state", ""), labels.get("reason", "")[:512] or None
        if row is not None and state in get_args(GpuState):
            row.state, row.reason = state, reason  # type: ignore[assignment]
        elif row is None and state in get_args(NodeState):
            self._state, self._reason = state, reason  # type: ignore[assignment]
            self._hint = labels.get("hint", "")[:512] or None

    def _place(self, dialect: Dialect, labels: Mapping[str, str], of_slice: bool, may_grow: bool) -> _Place:
        key = (id(labels), of_slice, dialect.source)
        place = self._places.get(key)
        if place is None or (place is _NOWHERE and may_grow):
            place = self._places[key] = self._find(dialect, labels, of_slice, may_grow)
        return place

    def _find(self, dialect: Dialect, labels: Mapping[str, str], of_slice: bool, may_grow: bool) -> _Place:
        names = dialect.labels
        uuid, index = identity(_first(labels, names.uuid)), _first(labels, names.position)
        if uuid in ("na", "n/a"):
            uuid = ""
        slice_id = _first(labels, names.slice_id)
        partition = dialect is dialects.AMD and slice_id.lower() not in _NO_PARTITION
        if partition and not labels.get("gpu_uuid"):
            uuid = uuid and f"{uuid}/{slice_id}"  # the serial number is the whole card's
        if not uuid and not index:
            return _NOWHERE
        whole = self._row(uuid or index, _ray_index(index, labels) if dialect is dialects.RAY else index, may_grow)
        if whole is None:
            return _NOWHERE
        self._driver = self._driver or _first(labels, names.driver) or None
        whole.name = whole.name or _first(labels, names.model)
        whole.pci = whole.pci or _first(labels, names.pci) or None
        if dialect is dialects.AMD or not slice_id or not (of_slice or dialect is dialects.DCGM):
            return _Place(whole, None, partition)
        own = identity(_first(labels, names.slice_uuid)) or f"{whole.uuid}/{slice_id}"
        row = self._row(own[:LONGEST], "", may_grow)
        if row is None:
            return _NOWHERE
        row.parent, row.slice_id, row.profile = whole.uuid, slice_id, _first(labels, names.profile) or None
        return _Place(row, whole, False)

    def _row(self, uuid: str, index: str, may_grow: bool) -> Row | None:
        row = self._rows.get(uuid)
        if row is None and may_grow:
            row = self._rows[uuid] = Row(uuid, index)
        if row is not None:
            row.index = row.index or index
        return row

    def merge(self, other: NodeRows) -> None:
        """Takes in what was said of the same node without its name."""
        for uuid, row in other._rows.items():
            mine = self._rows.setdefault(uuid, row)
            for field, (rank, value) in row.said.items():
                mine.say(field, rank, value)
        for field, (rank, value) in other._host.said.items():
            self._host.say(field, rank, value)
        self._time_s = max((t for t in (self._time_s, other._time_s) if t is not None), default=None)
        self._age_s = other._age_s if self._age_s is None else self._age_s
        self._driver = self._driver or other._driver
        if self._state == "live":
            self._state, self._reason, self._hint = other._state, other._reason, other._hint

    def sample(self, name: str, now_s: float) -> NodeSample:
        """The node as a record.

        Args:
            name: of the node.
            now_s: when it was read, Unix time; a time that the exporter told counts where it is older.
        """
        assert self._dialect is not None, "something was said"
        node = NodeSample(name=name[:LONGEST], source=self._dialect.source, driver=self._driver)
        node.state, node.reason, node.hint = self._state, self._reason, self._hint
        stale = self._state == "error" and self._dialect is not dialects.AGENT
        node.gpus = self._gpus(readings=not stale)
        host = self._host.values()
        node.host = HostSample(**host) if host else None
        # An agent that has read nothing tells no age.
        unread = self._dialect is dialects.AGENT and self._age_s is None and node.state not in ("live", "no-gpu")
        node.time_s = None if stale or unread else min(now_s - (self._age_s or 0.0), self._time_s or now_s)
        if not node.gpus and node.state == "live":
            node.state, node.reason = "no-gpu", "The exporter lists no GPU."
        return node

    def _gpus(self, readings: bool) -> list[GpuSample]:
        for number, row in enumerate(row for row in self._rows.values() if row.parent is None):
            row.index = row.index or str(number)
        by_index = {row.index: row.uuid for row in self._rows.values() if row.index}
        for row in self._rows.values():
            whole = self._rows.get(row.parent or "")
            if whole is not None:
                row.index = row.index or f"{whole.index}:{row.slice_id}"
                row.name = row.name or whole.name
            elif row.parent is None and ":" in row.index:
                before = row.index.partition(":")[0]
                row.parent = by_index.get(before, before)
                row.profile = row.profile or _profile(row.name)
        return [row.gpu(readings=readings) for row in sorted(self._rows.values(), key=_order)]


_NODE_STATE = dialects.KNOWN["air_node_state"].metric


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        value = labels.get(name)
        if value:
            return value[:LONGEST]
    return ""


def _inform(row: Row, labels: Mapping[str, str]) -> None:
    """What only the agent's info metric says."""
    row.parent = identity(labels.get("parent_uuid", ""))[:LONGEST] or row.parent
    row.profile = labels.get("mig_profile", "")[:LONGEST] or row.profile
    row.note = labels.get("memory_note", "")[:LONGEST] or row.note


def _ray_index(index: str, labels: Mapping[str, str]) -> str:
    """Ray numbers slice 2 of GPU 1 as 1002."""
    if not re.fullmatch(r"[0-9]{1,9}", index):
        return index
    gpu, number = divmod(int(index), _RAY_SLICES)
    return f"{gpu}:{number}" if gpu or "MIG" in labels.get("GpuDeviceName", "") else index


def _profile(name: str) -> str | None:
    found = re.search(r"\bMIG (\S+)", name)
    return found[1] if found else None


def _order(row: Row) -> tuple[list[int], str]:
    return [int(part) for part in re.findall(r"[0-9]{1,9}", row.index)], row.index
