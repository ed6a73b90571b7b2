"""The one table of exporters: which metric is which reading, in what unit, and which labels say whose it is.

Facts: the exporters' own documentation and pages; nvitop-exporter and Ray were run on ``tests/fake_nvml``.
"""

from __future__ import annotations

from typing import NamedTuple

_MIB = 2**20

#: What a metric is about: a GPU's reading, that of a MIG slice, a host's reading, a label set, an exporter's health.
GPU = "gpu"
SLICE = "slice"
HOST = "host"
INFO = "info"
STATE = "state"
NODE = "node"
HEALTH = "health"
AGE = "age"


class Metric(NamedTuple):
    """One metric of an exporter.

    Attributes:
        name: as on the page, without the optional prefix.
        field: of ``GpuSample`` or ``HostSample``; ``memory_free_bytes`` and ``memory_reserved_bytes`` add up to a total
            where no metric gives one. Of two metrics with one field the first in the table wins.
        scale: the value times this is in the field's unit.
        about: what it is about. ``HEALTH`` metrics have no labels of a GPU and say 1 when readings are fresh.
    """

    name: str
    field: str = ""
    scale: float = 1.0
    about: str = GPU


class Labels(NamedTuple):
    """Which label says what: the first one on a line that is not empty counts.

    Attributes:
        uuid: the GPU's identity.
        position: the GPU's index on its node.
        model: the GPU's model.
        host: the node's name.
        pci: the PCI bus id.
        slice_id: which MIG slice, or partition, of the GPU.
        slice_uuid: the slice's own identity.
        profile: the slice's MIG profile.
        driver: the driver's version.
    """

    uuid: tuple[str, ...] = ()
    position: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    pci: tuple[str, ...] = ()
    slice_id: tuple[str, ...] = ()
    slice_uuid: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    driver: tuple[str, ...] = ()


class Dialect(NamedTuple):
    """How one exporter writes.

    Attributes:
        source: its name, as ``NodeSample.source`` has it.
        metrics: what is read of its page.
        labels: whose it is.
        prefixes: that its configuration may put before every metric's name.
        unhealthy: what a ``HEALTH`` metric of 0 means, one sentence.
    """

    source: str
    metrics: tuple[Metric, ...]
    labels: Labels
    prefixes: tuple[str, ...] = ("",)
    unhealthy: str = ""


AGENT = Dialect(
    source="air-agent",
    metrics=(
        Metric("air_gpu_utilization_ratio", "utilization_percent", 100),
        Metric("air_gpu_memory_used_bytes", "memory_used_bytes"),
        Metric("air_gpu_memory_total_bytes", "memory_total_bytes"),
        Metric("air_gpu_temperature_celsius", "temperature_c"),
        Metric("air_gpu_power_watts", "power_w"),
        Metric("air_gpu_power_limit_watts", "power_limit_w"),
        Metric("air_gpu_sm_clock_hertz", "sm_clock_mhz", 1e-6),
        Metric("air_gpu_memory_clock_hertz", "memory_clock_mhz", 1e-6),
        Metric("air_gpu_throttle_reasons", "throttle_bits"),
        Metric("air_gpu_info", about=INFO),
        Metric("air_gpu_state", about=STATE),
        Metric("air_host_cpu_ratio", "cpu_percent", 100, HOST),
        Metric("air_host_cpus", "cpu_count", 1, HOST),
        Metric("air_host_memory_used_bytes", "memory_used_bytes", 1, HOST),
        Metric("air_host_memory_total_bytes", "memory_total_bytes", 1, HOST),
        Metric("air_node_info", about=NODE),
        Metric("air_node_state", about=STATE),
        Metric("air_reading_age_seconds", about=AGE),
    ),
    labels=Labels(
        uuid=("uuid",),
        position=("index",),
        model=("name",),
        host=("hostname",),
        pci=("pci_bus_id",),
        driver=("driver",),
    ),
)

DCGM = Dialect(
    source="dcgm-exporter",
    metrics=(
        Metric("DCGM_FI_DEV_GPU_UTIL", "utilization_percent"),
        # The only utilization that a MIG slice has; the share of time in which its engine was busy.
        Metric("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "utilization_percent", 100),
        Metric("DCGM_FI_DEV_FB_USED", "memory_used_bytes", _MIB),
        Metric("DCGM_FI_DEV_FB_TOTAL", "memory_total_bytes", _MIB),
        Metric("DCGM_FI_DEV_FB_FREE", "memory_free_bytes", _MIB),
        Metric("DCGM_FI_DEV_FB_RESERVED", "memory_reserved_bytes", _MIB),
        Metric("DCGM_FI_DEV_GPU_TEMP", "temperature_c"),
        Metric("DCGM_FI_DEV_POWER_USAGE", "power_w"),
        Metric("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz"),
        Metric("DCGM_FI_DEV_MEM_CLOCK", "memory_clock_mhz"),
    ),
    labels=Labels(
        uuid=("UUID",),
        position=("gpu",),
        model=("modelName",),
        host=("hostname", "Hostname"),
        pci=("pci_bus_id",),
        slice_id=("GPU_I_ID",),
        profile=("GPU_I_PROFILE",),
        driver=("DCGM_FI_DRIVER_VERSION",),
    ),
)

NVIDIA_SMI = Dialect(
    source="nvidia_gpu_exporter",
    metrics=(
        Metric("nvidia_smi_utilization_gpu_ratio", "utilization_percent", 100),
        Metric("nvidia_smi_memory_used_bytes", "memory_used_bytes"),
        Metric("nvidia_smi_memory_total_bytes", "memory_total_bytes"),
        Metric("nvidia_smi_memory_free_bytes", "memory_free_bytes"),
        Metric("nvidia_smi_memory_reserved_bytes", "memory_reserved_bytes"),
        Metric("nvidia_smi_temperature_gpu", "temperature_c"),
        Metric("nvidia_smi_power_draw_watts", "power_w"),
        Metric("nvidia_smi_enforced_power_limit_watts", "power_limit_w"),
        Metric("nvidia_smi_mig_memory_used_bytes", "memory_used_bytes", 1, SLICE),
        Metric("nvidia_smi_mig_memory_total_bytes", "memory_total_bytes", 1, SLICE),
        Metric("nvidia_smi_mig_memory_free_bytes", "memory_free_bytes", 1, SLICE),
        Metric("nvidia_smi_gpu_info", about=INFO),
        Metric("nvidia_smi_last_collect_success", about=HEALTH),
    ),
    labels=Labels(
        uuid=("uuid",),
        position=("index",),
        model=("name",),
        pci=("pci_bus_id",),
        slice_id=("gpu_instance_id",),
        driver=("driver_version",),
    ),
    unhealthy="nvidia-smi failed on the node when the exporter last ran it.",
)

NVITOP = Dialect(
    source="nvitop-exporter",
    metrics=(
        Metric("gpu_utilization_Percentage", "utilization_percent"),
        Metric("gpu_memory_used_MiB", "memory_used_bytes", _MIB),
        Metric("gpu_memory_total_MiB", "memory_total_bytes", _MIB),
        Metric("gpu_memory_free_MiB", "memory_free_bytes", _MIB),
        Metric("gpu_temperature_C", "temperature_c"),
        Metric("gpu_power_usage_W", "power_w"),
        Metric("gpu_power_limit_W", "power_limit_w"),
        Metric("gpu_clock_sm_MHz", "sm_clock_mhz"),
        Metric("gpu_clock_memory_MHz", "memory_clock_mhz"),
        Metric("host_cpu_percent_Percentage", "cpu_percent", 1, HOST),
        Metric("host_virtual_memory_used_MiB", "memory_used_bytes", _MIB, HOST),
        Metric("host_virtual_memory_total_MiB", "memory_total_bytes", _MIB, HOST),
    ),
    labels=Labels(uuid=("uuid",), position=("index",), model=("devicename",), host=("hostname",)),
)

RAY = Dialect(
    source="ray",
    metrics=(
        Metric("ray_node_gpus_utilization", "utilization_percent"),
        # Declared as bytes; the value is MiB (Ray's gpu_providers.py divides).
        Metric("ray_node_gram_used", "memory_used_bytes", _MIB),
        Metric("ray_node_gram_available", "memory_free_bytes", _MIB),
        Metric("ray_node_gpu_temperature_celsius", "temperature_c"),
        Metric("ray_node_gpu_power_milliwatts", "power_w", 1e-3),
        Metric("ray_node_cpu_utilization", "cpu_percent", 1, HOST),
        Metric("ray_node_cpu_count", "cpu_count", 1, HOST),
        Metric("ray_node_mem_used", "memory_used_bytes", 1, HOST),
        Metric("ray_node_mem_total", "memory_total_bytes", 1, HOST),
    ),
    # Neither SessionName, which changes at a restart, nor Version is any part of an identity.
    labels=Labels(uuid=("GpuUuid",), position=("GpuIndex",), model=("GpuDeviceName",), host=("ip",)),
)

AMD = Dialect(
    source="amd-device-metrics-exporter",
    metrics=(
        Metric("gpu_gfx_activity", "utilization_percent"),
        # "MB" in its documentation: an MI300X of 192 GiB says 196592.
        Metric("gpu_used_vram", "memory_used_bytes", _MIB),
        Metric("gpu_total_vram", "memory_total_bytes", _MIB),
        Metric("gpu_free_vram", "memory_free_bytes", _MIB),
        Metric("gpu_junction_temperature", "temperature_c"),
        Metric("gpu_edge_temperature", "temperature_c"),
        Metric("gpu_package_power", "power_w"),
        Metric("gpu_power_usage", "power_w"),
    ),
    labels=Labels(
        uuid=("gpu_uuid", "serial_number"),
        position=("gpu_id",),
        model=("card_series", "card_model"),
        host=("hostname",),
        slice_id=("gpu_partition_id",),
        driver=("driver_version",),
    ),
    prefixes=("", "amd_"),
)

ALL_SMI = Dialect(
    source="all-smi",
    metrics=(
        Metric("all_smi_gpu_utilization", "utilization_percent"),
        Metric("all_smi_gpu_memory_used_bytes", "memory_used_bytes"),
        Metric("all_smi_gpu_memory_total_bytes", "memory_total_bytes"),
        Metric("all_smi_gpu_temperature_celsius", "temperature_c"),
        Metric("all_smi_gpu_power_consumption_watts", "power_w"),
        Metric("all_smi_mig_instance_utilization_gpu", "utilization_percent", 1, SLICE),
        Metric("all_smi_mig_instance_memory_used_bytes", "memory_used_bytes", 1, SLICE),
        Metric("all_smi_mig_instance_memory_total_bytes", "memory_total_bytes", 1, SLICE),
        Metric("all_smi_cpu_utilization", "cpu_percent", 1, HOST),
        Metric("all_smi_memory_used_bytes", "memory_used_bytes", 1, HOST),
        Metric("all_smi_memory_total_bytes", "memory_total_bytes", 1, HOST),
        Metric("all_smi_up", about=HEALTH),
    ),
    # Before version 0.10 the labels were uuid and index.
    labels=Labels(
        uuid=("gpu_uuid", "uuid"),
        position=("gpu_index", "index"),
        model=("gpu",),
        host=("hostname", "host", "instance"),
        slice_id=("mig_instance",),
        slice_uuid=("mig_uuid",),
        profile=("mig_profile",),
    ),
    unhealthy="The exporter has taken no reading yet.",
)

DIALECTS = (AGENT, DCGM, NVIDIA_SMI, NVITOP, RAY, AMD, ALL_SMI)


class Known(NamedTuple):
    """A metric that a page may have.

    Attributes:
        dialect: of which exporter.
        metric: what it says.
        rank: of two metrics with one field the lower rank wins.
    """

    dialect: Dialect
    metric: Metric
    rank: int


#: Every metric's full name on a page.
KNOWN: dict[str, Known] = {
    prefix + metric.name: Known(dialect, metric, rank)
    for dialect in DIALECTS
    for prefix in dialect.prefixes
    for rank, metric in enumerate(dialect.metrics)
}
