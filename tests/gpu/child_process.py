"""What the tests of the NVML child share."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jupyter_air.gpu.child import ChildError, NvmlChild

#: An answer takes milliseconds, a start 200 ms; a loaded machine may take much longer.
ENOUGH_S = 20.0


@asynccontextmanager
async def a_child(hang_limit_s: float = 60.0, retry_s: float = 5.0) -> AsyncIterator[NvmlChild]:
    child = NvmlChild(hang_limit_s=hang_limit_s, retry_s=retry_s)
    try:
        yield child
    finally:
        await child.stop()


def children() -> list[int]:
    """The living child processes of this one that are samplers."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z" and b"jupyter_air.gpu.sampler" in command:
            found.append(int(stat.parent.name))
    return found


async def failure(child: NvmlChild, timeout_s: float = ENOUGH_S) -> ChildError:
    with pytest.raises(ChildError) as raised:
        await child.sample(timeout_s)
    return raised.value


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
