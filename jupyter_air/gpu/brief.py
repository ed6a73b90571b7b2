"""A node in six figures: what the list of a large fleet shows of it, and sorts by."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jupyter_air.gpu.samples import GpuSample, NodeSample

Brief = tuple[int | None, int | None, int | None, int | None, int | None, int | None]


def brief(node: NodeSample) -> Brief | None:
    """The newest readings of a node's GPUs together; ``None`` for a node without a GPU.

    Returns:
        mean utilization (percent), memory used and memory in all (bytes), the highest temperature (degrees C), power
        (watts), and every throttle reason of any GPU (bits). ``None`` in place of a figure that no GPU tells.
    """
    if not node.gpus:
        return None
    # A MIG slice has its share of its GPU's memory; its utilization is nobody else's.
    whole = [gpu for gpu in node.gpus if gpu.parent_uuid is None]
    told = [gpu for gpu in whole if gpu.memory_used_bytes is not None]
    utilization = _known(node.gpus, lambda gpu: gpu.utilization_percent)
    temperature = _known(whole, lambda gpu: gpu.temperature_c)
    power = _known(whole, lambda gpu: gpu.power_w)
    throttle = _known(whole, lambda gpu: gpu.throttle_bits)
    return (
        round(sum(utilization) / len(utilization)) if utilization else None,
        sum(gpu.memory_used_bytes or 0 for gpu in told) if told else None,
        sum(gpu.memory_total_bytes or 0 for gpu in whole) or None,
        round(max(temperature)) if temperature else None,
        round(sum(power)) if power else None,
        _union(int(bits) for bits in throttle) if throttle else None,
    )


def _known(gpus: Iterable[GpuSample], read: Callable[[GpuSample], float | None]) -> list[float]:
    return [value for value in map(read, gpus) if value is not None]


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
