"""A made-up fleet, always labelled so: for a look without a GPU, for pictures and for tests.

Readings are a function of time alone, so that two servers, two tabs and a reload show the same, and the two hours
before the start can be filled in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from jupyter_air.errors import InputError
from jupyter_air.gpu.samples import GpuSample, HostSample, NodeSample

_GIB = 1 << 30
_LARGEST_FLEET = 1024


def parse_fleet(text: str) -> tuple[int, int]:
    """Reads ``"2x8"``: two nodes of eight GPUs.

    Raises:
        InputError: anything else, or more than 1024 nodes or 72 GPUs a node.
    """
    match = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,2})", text)
    nodes, gpus = (int(g) for g in match.groups()) if match else (0, 0)
    if not (1 <= nodes <= _LARGEST_FLEET and 1 <= gpus <= 72):
        raise InputError(
            f"JupyterAir.simulate is NODESxGPUS, 1x1 to {_LARGEST_FLEET}x72, such as '2x8'; got {text!r:.40}.",
            "Start with --JupyterAir.simulate=2x8.",
        )
    return nodes, gpus


class SimulatedFleet:
    """A source of readings for ``nodes`` nodes of ``gpus`` GPUs."""

    def __init__(self, nodes: int, gpus: int) -> None:
        self._nodes = nodes
        self._gpus = gpus

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        """Every node at ``time_s``."""
        return self._at(time_s)

    async def past(self, times_s: Iterable[float]) -> Iterator[dict[str, NodeSample]]:
        """Every node at each of the times."""
        return map(self._at, times_s)

    def hurry(self) -> None:
        """Nothing is waited for."""

    async def rest(self) -> None:
        """Nothing is held."""

    def _at(self, time_s: float) -> dict[str, NodeSample]:
        return {f"simulated-{n + 1:02}": self._node(n, time_s) for n in range(self._nodes)}

    def _node(self, node: int, time_s: float) -> NodeSample:
        name = f"simulated-{node + 1:02}"
        gpus = [_gpu(node, index, time_s) for index in range(self._gpus)]
        load = sum(g.utilization_percent or 0.0 for g in gpus) / len(gpus)
        host = HostSample(
            cpu_percent=round(8 + load / 3 + 3 * _ripple(time_s, node + 0.3), 1),
            cpu_count=64.0,
            memory_used_bytes=int((60 + 2.1 * load + 4 * _ripple(time_s / 9, node)) * _GIB),
            memory_total_bytes=503 * _GIB,
        )
        return NodeSample(name=name, time_s=time_s, gpus=gpus, host=host, source="simulated", driver="simulated")


def _ripple(time_s: float, phase: float) -> float:
    """A smooth, aperiodic-looking wave between -1 and 1."""
    return (
        0.5 * math.sin(time_s / 19 + 5.1 * phase)
        + 0.3 * math.sin(time_s / 7.3 + 2.3 * phase)
        + 0.2 * math.sin(time_s / 3.1 + phase)
    )


def _load(node: int, index: int, time_s: float) -> float:
    """How busy the GPU is, 0 to 1: training runs of about 20 minutes with pauses between, of another length a GPU."""
    period_s = 1500 + 190 * ((node * 3 + index * 7) % 11)
    into_s = (time_s + 397 * index + 1301 * node) % period_s
    running_s = 0.72 * period_s
    if into_s > running_s:
        return 0.0
    return min(1.0, into_s / 60, (running_s - into_s) / 25)


def _gpu(node: int, index: int, time_s: float) -> GpuSample:
    phase = node * 1.7 + index * 0.61
    load = _load(node, index, time_s)
    slow = sum(_load(node, index, time_s - lag) for lag in (30, 60, 90, 120)) / 4
    busy = load > 0.05
    utilization = max(0.0, min(100.0, 88 * load + 7 * load * _ripple(time_s, phase)))
    # A caching allocator fills up at the start of a run and keeps what it has.
    memory_gib = 0.7 + (54 + 3 * (index % 4)) * min(1.0, load * 1.6)
    power_w = 68 + 344 * load + 18 * load * _ripple(time_s, phase + 1)
    temperature_c = 33 + 2 * (index % 4) + 36 * slow + 0.8 * _ripple(time_s / 6, phase)
    return GpuSample(
        uuid=f"51a0{node:04x}-{index:04x}-0000-0000-000000000000",
        index=str(index),
        name="Simulated H100 80GB",
        utilization_percent=round(utilization),
        memory_used_bytes=int(memory_gib * _GIB),
        memory_total_bytes=80 * _GIB,
        temperature_c=round(temperature_c),
        power_w=round(power_w, 1),
        power_limit_w=700.0,
        sm_clock_mhz=round(345 + 1500 * load),
        memory_clock_mhz=2619.0,
        throttle_bits=0 if busy else 1,
    )
