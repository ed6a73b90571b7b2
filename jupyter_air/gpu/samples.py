"""The records that every source of readings gives: node, GPU, host.

Units stand in the names. ``None`` is unknown, never 0 or -1. A record crosses the boundary between the NVML child
process and the server as JSON, so these are msgspec structs.
"""

from __future__ import annotations

from typing import Literal

import msgspec

GpuState = Literal["ok", "lost", "missing", "error"]
NodeState = Literal["live", "stale", "no-driver", "no-gpu", "error"]

#: NVML's bits of ``nvmlDeviceGetCurrentClocksEventReasons`` (nvml.h), lowest bit first; the columns carry the bits.
THROTTLE_REASONS = (
    "idle",
    "application clocks",
    "software power cap",
    "hardware slowdown",
    "sync boost",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
    "display clocks",
    "board limit",
    "reliability",
)


class GpuSample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one GPU, or one MIG slice of it, said at one moment.

    Attributes:
        uuid: identity, lower case and without the ``GPU-`` or ``MIG-`` prefix; the index where a source has no UUID.
        index: the source's own order as text, ``"0"``; a MIG slice is ``"0:1"`` (GPU index, slice index).
        name: the model as the source spells it, cut to 128 characters.
        parent_uuid: the GPU that a MIG slice belongs to.
        mig_profile: ``"1g.10gb"`` and the like, for a MIG slice.
        pci_bus_id: ``"00000000:3B:00.0"``, where the source knows it.
        state: ``ok``, or why there are no readings.
        reason: one sentence for a state other than ``ok``.
        utilization_percent: 0 to 100, the share of the last period in which a kernel ran.
        memory_used_bytes: in use by processes; what the driver reserves for itself is not counted.
        memory_total_bytes: of the GPU or of the slice.
        memory_note: why memory is unknown, where there is a reason (``"shared with system memory"``).
        temperature_c: of the GPU's core.
        power_w: drawn now.
        power_limit_w: enforced now.
        sm_clock_mhz: of the streaming multiprocessors.
        memory_clock_mhz: of the memory.
        throttle_bits: which of ``THROTTLE_REASONS`` hold the clocks down, lowest bit first.
        pids: processes that hold memory of this GPU, as NVML numbers them, and the bytes each holds (``None``: not
            told).
    """

    uuid: str
    index: str
    name: str
    parent_uuid: str | None = None
    mig_profile: str | None = None
    pci_bus_id: str | None = None
    state: GpuState = "ok"
    reason: str | None = None
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    memory_note: str | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    throttle_bits: int | None = None
    pids: dict[int, int | None] | None = None


class HostSample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """CPU and memory of a node, as its cgroup allows where there is one.

    Attributes:
        cpu_percent: 0 to 100, of all the CPUs that this host or container may use.
        cpu_count: how many CPUs it may use; a container's quota can be a fraction.
        memory_used_bytes: not available to a new process without swapping.
        memory_total_bytes: of the host, or the container's limit.
    """

    cpu_percent: float | None = None
    cpu_count: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


class NodeSample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One node at one moment.

    Attributes:
        name: the node's name, cut to 128 characters.
        time_s: when the readings were taken, Unix time; ``None`` when there are none.
        state: ``live``, or why there are no GPU readings.
        reason: one sentence for a state other than ``live``.
        hint: one sentence on what to do about it.
        gpus: in the source's order.
        host: of the same node.
        stale_after_s: readings older than this are stale, where the source brings them more rarely than we ask.
        source: what the readings come from (``"nvml"``, ``"simulated"``).
        driver: the driver's version, where there is one.
    """

    name: str
    time_s: float | None = None
    state: NodeState = "live"
    reason: str | None = None
    hint: str | None = None
    gpus: list[GpuSample] = []
    host: HostSample | None = None
    stale_after_s: float | None = None
    source: str = "nvml"
    driver: str | None = None
