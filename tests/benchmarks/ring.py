"""The memory of two hours of a fleet."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

from jupyter_air.gpu.history import History
from jupyter_air.gpu.simulated import SimulatedFleet
from tests.benchmarks.table import Row, Section

_MIB = 2**20
_NOON_S = 1_764_417_600.0
_INTERVAL_S = 10.0


def measured() -> Section:
    """Rings of two sizes."""
    return Section(
        title="Memory of the history",
        how="Two hours at 10 s. `nbytes` is what the ring says of itself, tracemalloc what Python holds for it.",
        rows=[*_ring(64, 8, limit_mib=5), *_ring(1000, 8, limit_mib=80)],
    )


def _ring(nodes: int, gpus: int, limit_mib: float) -> list[Row]:
    samples = list(asyncio.run(SimulatedFleet(nodes, gpus).past([_NOON_S, _NOON_S + _INTERVAL_S])))
    gc.collect()
    tracemalloc.start()
    history = History(7200.0, _INTERVAL_S)
    # It takes all its memory with the first sample of a node: `nbytes` would tell if a later one added to it.
    for row, sample in enumerate(samples):
        history.append(_NOON_S + row * _INTERVAL_S, sample)
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return [
        Row(what=what, ours=size / _MIB, unit="MiB", beside="limit", theirs=limit_mib, most=1)
        for what, size in (
            (f"{nodes} x {gpus} GPUs, `nbytes`", history.nbytes),
            (f"{nodes} x {gpus} GPUs, tracemalloc", traced),
        )
    ]
