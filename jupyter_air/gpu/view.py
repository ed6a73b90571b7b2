"""What a reader is told: the answer to ``GET gpu`` (tests/wire/README.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from jupyter_air.gpu.brief import Brief, brief
from jupyter_air.gpu.history import Wanted
from jupyter_air.gpu.local import LOCAL
from jupyter_air.gpu.monitor import Monitor, MonitorState
from jupyter_air.gpu.ring import Detail, NodeColumns
from jupyter_air.gpu.samples import THROTTLE_REASONS, GpuSample, HostSample, NodeSample

#: A fleet of more GPUs is sent in brief: of its nodes' history only what the reader asks for.
FULL_GPUS = 16


class GpuLayout(msgspec.Struct):
    """What does not change from sample to sample of one GPU."""

    uuid: str
    index: str
    name: str
    parent_uuid: str | None
    mig_profile: str | None
    state: str
    reason: str | None
    memory_total_bytes: int | None
    memory_step_bytes: int
    memory_note: str | None
    power_limit_w: float | None


class HostLayout(msgspec.Struct):
    """What does not change from sample to sample of a host."""

    cpu_count: float | None
    memory_total_bytes: int | None
    memory_step_bytes: int


class NodeLayout(msgspec.Struct):
    """What does not change from sample to sample of one node."""

    id: str
    name: str
    source: str
    local: bool
    simulated: bool
    state: str
    reason: str | None
    hint: str | None
    driver: str | None
    host: HostLayout | None
    gpus: list[GpuLayout]


class Layout(msgspec.Struct):
    """The nodes and GPUs that the columns belong to, in their order."""

    throttle_reasons: tuple[str, ...]
    nodes: list[NodeLayout]


class Answer(msgspec.Struct, omit_defaults=True):
    """The answer to ``GET gpu``."""

    cursor: str
    time_s: float
    poll_interval_s: float
    window_s: float
    monitor: MonitorState
    layout: Layout | None
    ages_s: list[float | None]
    replace_from_s: float
    times_s: list[float]
    columns: list[NodeColumns | None]
    brief: list[Brief | None] | None = None


class View:
    """Answers readers from a monitor; numbers the layouts, so that an unchanged one is not sent again."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._layout: Layout | None = None
        self._layout_number = 0

    def answer(
        self, cursor: str | None, now_s: float, details: Mapping[str, Detail] | None = None, whole: bool = False
    ) -> Answer:
        """What is new since the cursor of an earlier answer; everything for ``None`` or one that is not known here.

        Args:
            cursor: of an earlier answer.
            now_s: Unix time.
            details: of a fleet of more than ``FULL_GPUS`` GPUs, whose columns are wanted and how many of them.
            whole: the columns from the beginning, with the layout that the cursor knows.
        """
        monitor = self._monitor
        layout = self._current_layout(now_s)
        known = _parse_cursor(cursor, monitor.history.epoch)
        revision = known[1] if known and known[0] == self._layout_number else 0
        large = sum(len(node.gpus) for node in layout.nodes) > FULL_GPUS
        part = monitor.history.since(
            0 if whole else revision, now_s, _wanted(layout, (details or {}) if large else None)
        )
        return Answer(
            cursor=f"{monitor.history.epoch}.{self._layout_number}.{part.revision}",
            time_s=round(now_s, 1),
            poll_interval_s=monitor.poll_interval_s,
            window_s=monitor.window_s,
            monitor=monitor.state(),
            layout=None if revision else layout,
            ages_s=[_rounded(monitor.fleet.age_s(node.id, now_s)) for node in layout.nodes],
            replace_from_s=part.replace_from_s,
            times_s=part.times_s,
            columns=part.columns,
            brief=[brief(node) for node in monitor.fleet.nodes().values()] if large else None,
        )

    def _current_layout(self, now_s: float) -> Layout:
        nodes = [self._node(ident, node, now_s) for ident, node in self._monitor.fleet.nodes().items()]
        layout = Layout(throttle_reasons=THROTTLE_REASONS, nodes=nodes)
        if layout != self._layout:
            self._layout = layout
            self._layout_number += 1
        return layout

    def _node(self, ident: str, node: NodeSample, now_s: float) -> NodeLayout:
        history = self._monitor.history
        state, reason = node.state, node.reason
        if state == "live" and self._monitor.state().state == "live" and self._monitor.fleet.is_stale(ident, now_s):
            state, reason = "stale", "The last reading is old."
        return NodeLayout(
            id=ident,
            name=node.name,
            source=node.source,
            local=ident == LOCAL,
            simulated=node.source == "simulated",
            state=state,
            reason=reason,
            hint=node.hint,
            driver=node.driver,
            host=_host(node.host, history.host_step_bytes(ident)),
            gpus=[_gpu(gpu, history.gpu_step_bytes(ident, gpu.uuid)) for gpu in node.gpus],
        )


def _wanted(layout: Layout, details: Mapping[str, Detail] | None) -> list[Wanted]:
    return [
        Wanted(node.id, [gpu.uuid for gpu in node.gpus], "full" if details is None else details.get(node.id))
        for node in layout.nodes
    ]


def _host(host: HostSample | None, memory_step_bytes: int) -> HostLayout | None:
    if host is None:
        return None
    return HostLayout(host.cpu_count, host.memory_total_bytes, memory_step_bytes)


def _gpu(gpu: GpuSample, memory_step_bytes: int) -> GpuLayout:
    return GpuLayout(
        uuid=gpu.uuid,
        index=gpu.index,
        name=gpu.name,
        parent_uuid=gpu.parent_uuid,
        mig_profile=gpu.mig_profile,
        state=gpu.state,
        reason=gpu.reason,
        memory_total_bytes=gpu.memory_total_bytes,
        memory_step_bytes=memory_step_bytes,
        memory_note=gpu.memory_note,
        power_limit_w=gpu.power_limit_w,
    )


def _parse_cursor(cursor: str | None, epoch: str) -> tuple[int, int] | None:
    """The layout's number and the revision of a cursor of this history."""
    match = re.fullmatch(r"([0-9a-f]{6})\.(\d{1,15})\.(\d{1,15})", cursor or "")
    if match is None or match[1] != epoch:
        return None
    return int(match[2]), int(match[3])


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
