"""Sources with every kind of fault, and what they said: for the soak."""

from __future__ import annotations

import asyncio

from jupyter_air.gpu.local import LOCAL
from jupyter_air.gpu.ring import GPU_COLUMNS, quantize
from jupyter_air.gpu.samples import GpuSample, NodeSample
from jupyter_air.gpu.simulated import SimulatedFleet

INTERVAL_S = 10.0
WINDOW_S = 3600.0
MIB = 2**20
#: In which memory is compared: that of a GPU of 80 GiB, and a multiple of those of smaller ones.
STEP_BYTES = 2 * MIB

Key = tuple[str, str]
Readings = tuple[float | None, ...]


class Log:
    """What the sources said lately, to the step of the wire, by time and by who said it."""

    def __init__(self) -> None:
        self._said: dict[tuple[float, str], dict[Key, Readings]] = {}

    def note(self, time_s: float, source: str, nodes: dict[str, NodeSample]) -> None:
        """What a source says of a moment: the clock may be set back, and a moment come again."""
        self._said.pop((time_s, source), None)
        self._said[time_s, source] = {
            (ident, gpu.uuid): self._readings(gpu) for ident, node in nodes.items() for gpu in node.gpus
        }
        while len(self._said) > 4 * WINDOW_S / INTERVAL_S:
            del self._said[next(iter(self._said))]

    @staticmethod
    def _readings(gpu: GpuSample) -> Readings:
        return tuple(
            quantize(getattr(gpu, name), STEP_BYTES if name == "memory_used_bytes" else 1) for name in GPU_COLUMNS
        )

    def at(self, time_s: float, key: Key) -> Readings:
        source = "simulated" if key[0].startswith("simulated") else "rack"
        return self._said[time_s, source].get(key, (None,) * len(GPU_COLUMNS))


class Simulated(SimulatedFleet):
    """The simulated fleet, which notes what it says."""

    def __init__(self, log: Log) -> None:
        super().__init__(1, 2)
        self._log = log

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        nodes = await super().sample(time_s)
        self._log.note(time_s, "simulated", nodes)
        return nodes

    async def past(self, times_s: list[float]) -> list[dict[str, NodeSample]]:  # type: ignore[override]
        return []


class Rack:
    """Nodes with every kind of fault, by the number of the sample. Each reading tells whose it is, and when."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.samples = 0
        self.rests = 0

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        self.samples += 1
        n = self.samples
        self._log.note(time_s, "rack", {})
        if n % 100 == 13:
            raise RuntimeError("a bug of the source")
        if n % 400 == 150:
            await asyncio.sleep(3.7 * INTERVAL_S)
        if n % 1000 == 650:
            await asyncio.Event().wait()
        nodes = {LOCAL: self._rack(n, time_s), f"guest-{n // 2000}": _node(time_s, [_gpu(90 + n // 2000, time_s)])}
        if n % 2000 in range(1200, 1210):
            del nodes[LOCAL]
        self._log.note(time_s, "rack", nodes)
        return nodes

    def _rack(self, n: int, time_s: float) -> NodeSample:
        if n % 1500 in range(700, 760):
            return NodeSample(name="rack", state="no-driver", reason="The NVIDIA driver is not loaded.")
        whole = [_gpu(k, time_s, total_mib=98_304 if n // 1000 % 2 else 40_960) for k in range(5)]
        cut = n // 1500
        slices = [_gpu(50 + k, time_s, uuid=f"slice-{cut}-{k}", parent="gpu-0") for k in range(2)]
        present = [*(gpu for k, gpu in enumerate(whole) if (n // 300 + k) % 5), *slices]
        turn = n // 250 % len(present)
        return _node(time_s, present[turn:] + present[:turn])

    def hurry(self) -> None:
        pass

    async def past(self, times_s: list[float]) -> list[dict[str, NodeSample]]:
        return []

    async def rest(self) -> None:
        self.rests += 1


def _node(time_s: float, gpus: list[GpuSample]) -> NodeSample:
    return NodeSample(name="rack", time_s=time_s, gpus=gpus)


def _gpu(k: int, time_s: float, uuid: str = "", parent: str | None = None, total_mib: int = 40_960) -> GpuSample:
    when = int(time_s / INTERVAL_S) % 97
    return GpuSample(
        uuid=uuid or f"gpu-{k}",
        index=str(k),
        name="H100",
        parent_uuid=parent,
        utilization_percent=float(k),
        memory_used_bytes=(400 * (k % 90) + 4 * when) * MIB,
        memory_total_bytes=total_mib * MIB,
        temperature_c=when / 2,
        power_w=400.0 * (k % 100) + when,
        sm_clock_mhz=1000.0 + k,
        throttle_bits=k,
    )
