"""A node in six figures."""

from __future__ import annotations

from jupyter_air.gpu.brief import brief
from jupyter_air.gpu.samples import GpuSample, NodeSample


def gpu(index: str, **readings: float | str | None) -> GpuSample:
    return GpuSample(uuid=f"u{index}", index=index, name="H100", **readings)  # type: ignore[arg-type]


def test_figures_of_all_gpus_together() -> None:
    first = gpu(
        "0", utilization_percent=90, memory_used_bytes=30, memory_total_bytes=80, temperature_c=71, power_w=400.4
    )
    other = gpu(
        "1", utilization_percent=45, memory_used_bytes=12, memory_total_bytes=80, temperature_c=64, power_w=101.3
    )
    first.power_w, other.power_w = 400.4, 101.3
    first.throttle_bits, other.throttle_bits = 0b0100, 0b1000_0100
    assert brief(NodeSample(name="n", gpus=[first, other])) == (68, 42, 160, 71, 502, 0b1000_0100)


def test_what_no_gpu_tells_is_unknown() -> None:
    quiet = gpu("0", memory_total_bytes=80)
    assert brief(NodeSample(name="n", gpus=[quiet])) == (None, None, 80, None, None, None)
    told = gpu("1", utilization_percent=0, memory_used_bytes=0, temperature_c=30)
    assert brief(NodeSample(name="n", gpus=[quiet, told])) == (0, 0, 80, 30, None, None)
    assert brief(NodeSample(name="n", state="no-gpu")) is None


def test_a_slice_counts_no_memory_twice() -> None:
    whole = gpu("0", memory_used_bytes=30, memory_total_bytes=80, temperature_c=50)
    part = gpu("0:1", parent_uuid="u0", memory_used_bytes=20, memory_total_bytes=40, utilization_percent=10)
    assert brief(NodeSample(name="n", gpus=[whole, part])) == (10, 30, 80, 50, None, None)
