"""A node as Prometheus text: base units, names after Prometheus' rules; ``dialects.AGENT`` reads it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jupyter_air.gpu.samples import GpuSample, HostSample, NodeSample


class Told(NamedTuple):
    """What the agent has to tell.

    Attributes:
        node: the state of this moment; its readings may be older.
        age_s: of the readings; ``None`` when there are none.
        up: whether the driver answered, or there is no GPU to ask.
    """

    node: NodeSample
    age_s: float | None
    up: bool


class _Gauge(NamedTuple):
    name: str
    help: str
    field: str
    scale: float = 1.0


_GPU = (
    _Gauge(
        "air_gpu_utilization_ratio",
        "Share of the last period in which a kernel ran, 0 to 1.",
        "utilization_percent",
        100,
    ),
    _Gauge("air_gpu_memory_used_bytes", "GPU memory in use by processes.", "memory_used_bytes"),
    _Gauge("air_gpu_memory_total_bytes", "GPU memory in all.", "memory_total_bytes"),
    _Gauge("air_gpu_temperature_celsius", "Temperature of the GPU's core.", "temperature_c"),
    _Gauge("air_gpu_power_watts", "Power drawn now.", "power_w"),
    _Gauge("air_gpu_power_limit_watts", "Power limit that is enforced now.", "power_limit_w"),
    _Gauge("air_gpu_sm_clock_hertz", "Clock of the streaming multiprocessors.", "sm_clock_mhz", 1e-6),
    _Gauge("air_gpu_memory_clock_hertz", "Clock of the GPU's memory.", "memory_clock_mhz", 1e-6),
    _Gauge(
        "air_gpu_throttle_reasons",
        "What holds the clocks down, as the bits of NVML's clocks event reasons.",
        "throttle_bits",
    ),
)
_HOST = (
    _Gauge("air_host_cpu_ratio", "Share of the usable CPU time that was used.", "cpu_percent", 100),
    _Gauge("air_host_cpus", "CPUs that this host or container may use.", "cpu_count"),
    _Gauge(
        "air_host_memory_used_bytes", "Memory in use, without what the kernel gives back at once.", "memory_used_bytes"
    ),
    _Gauge("air_host_memory_total_bytes", "Memory of the host, or the container's limit.", "memory_total_bytes"),
)
_INFO_LABELS = ("uuid", "index", "name", "pci_bus_id", "parent_uuid", "mig_profile", "memory_note")


class NodeCollector(Collector):
    """What prometheus-client asks at every scrape.

    Args:
        tell: the newest there is.
        version: of this package.
    """

    def __init__(self, tell: Callable[[], Told], version: str) -> None:
        self._tell = tell
        self._version = version

    def collect(self) -> Iterator[Metric]:
        """Every metric; a reading that is unknown has no sample."""
        told = self._tell()
        yield from _node(told, self._version)
        yield from _gpus(told.node.gpus)
        if told.node.host is not None:
            yield from _host(told.node.host)


def registry(tell: Callable[[], Told], version: str) -> CollectorRegistry:
    """A registry with the node and nothing else: no metrics of the agent's own Python."""
    nodes = CollectorRegistry(auto_describe=False)
    nodes.register(NodeCollector(tell, version))
    return nodes


def _node(told: Told, version: str) -> Iterator[Metric]:
    node = told.node
    info = GaugeMetricFamily("air_node_info", "The node.", labels=("hostname", "driver", "version"))
    info.add_metric((node.name, node.driver or "", version), 1)
    yield info
    yield GaugeMetricFamily("air_node_up", "Whether the driver answers, or there is no GPU to ask.", float(told.up))
    state = GaugeMetricFamily("air_node_state", "The node's state, in words.", labels=("state", "reason", "hint"))
    state.add_metric((node.state, node.reason or "", node.hint or ""), 1)
    yield state
    age = GaugeMetricFamily("air_reading_age_seconds", "How long ago the GPUs were read.")
    if told.age_s is not None:
        age.add_metric((), round(told.age_s, 3))
    yield age


def _gpus(gpus: list[GpuSample]) -> Iterator[Metric]:
    info = GaugeMetricFamily("air_gpu_info", "A GPU, or a MIG slice of one.", labels=_INFO_LABELS)
    state = GaugeMetricFamily("air_gpu_state", "The GPU's state.", labels=("uuid", "index", "state", "reason"))
    for gpu in gpus:
        info.add_metric([getattr(gpu, label) or "" for label in _INFO_LABELS], 1)
        state.add_metric((gpu.uuid, gpu.index, gpu.state, gpu.reason or ""), 1)
    yield info
    yield state
    for gauge in _GPU:
        family = GaugeMetricFamily(gauge.name, gauge.help, labels=("uuid", "index"))
        for gpu in gpus:
            value = getattr(gpu, gauge.field)
            if value is not None:
                family.add_metric((gpu.uuid, gpu.index), value / gauge.scale)
        yield family


def _host(host: HostSample) -> Iterator[Metric]:
    for gauge in _HOST:
        value = getattr(host, gauge.field)
        if value is not None:
            yield GaugeMetricFamily(gauge.name, gauge.help, value / gauge.scale)
