"""What it costs to say whose the memory is, beside a plain walk over the machine's processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import psutil

from jupyter_air.gpu.holders import Holder, Owner, holders
from jupyter_air.gpu.processes import Processes
from tests.benchmarks.table import Row, Section

_PROCESSES = 200
_TIMES = 25
_LIMIT_MS = 5.0
_GPUS = 8
#: Stands for a notebook's kernel: starts its ranks, tells their numbers, and ends them when its input ends.
_KERNEL = """
import subprocess, sys
ranks = [subprocess.Popen(["sleep", "600"]) for _ in range(int(sys.argv[1]))]
print(*(rank.pid for rank in ranks), flush=True)
sys.stdin.read()
for rank in ranks: rank.kill()
"""


def measured() -> Section:
    """A tick with 200 processes on 8 GPUs, half of them two notebooks' and half nobody's."""
    kernels = [_kernel(_PROCESSES // 4) for _ in range(2)]
    others = [subprocess.Popen(["sleep", "600"]) for _ in range(_PROCESSES // 2)]
    try:
        pids = [pid for _, ranks in kernels for pid in ranks] + [one.pid for one in others]
        gpus: dict[str, dict[int, int | None]] = {f"gpu-{at}": dict.fromkeys(pids[at::_GPUS], 1) for at in range(_GPUS)}
        owners = [Owner(kernel.pid, at) for at, (kernel, _) in enumerate(kernels)]
        processes = Processes()

        def tick(known: Processes) -> dict[str, list[Holder] | None]:
            return holders(gpus, owners, known, time.time())

        # Both kernels hold something of each GPU, and what is nobody's is a line of its own.
        seen = len(psutil.pids())
        found = [one for of_gpu in tick(processes).values() for one in of_gpu or ()]
        assert sorted(one.owner is None for one in found) == [False] * 2 * _GPUS + [True] * len(others), found
        first_ms = _median_ms(lambda: tick(Processes()))
        tick_ms = _median_ms(lambda: tick(processes))
        walk_ms = _median_ms(lambda: list(psutil.process_iter(["pid", "ppid", "name", "username"])))
    finally:
        for kernel, _ in kernels:
            kernel.communicate()
        for one in others:
            one.kill()
            one.wait()
    walk = '`psutil.process_iter(["pid", "ppid", "name", "username"])`'
    return Section(
        title="Whose the memory is",
        how=(
            f"CPU of {_PROCESSES} processes on {_GPUS} GPUs: a quarter each of two kernels, half of nobody's; median "
            f"of {_TIMES}. The walk reads all {seen} processes of this machine, and does not tell whose they are."
        ),
        rows=[
            Row(what="a tick", ours=tick_ms, unit="ms", beside="limit", theirs=_LIMIT_MS, most=1),
            Row(what="a tick", ours=tick_ms, unit="ms", beside=walk, theirs=walk_ms, most=1),
            Row(what="the first look at all of them", ours=first_ms, unit="ms", beside=walk, theirs=walk_ms),
        ],
    )


def _kernel(ranks: int) -> tuple[subprocess.Popen[str], list[int]]:
    kernel = subprocess.Popen(
        [sys.executable, "-c", _KERNEL, str(ranks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert kernel.stdout is not None
    return kernel, [int(pid) for pid in kernel.stdout.readline().split()]


def _median_ms(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(_TIMES):
        began_s = time.process_time()
        work()
        spent.append(1000 * (time.process_time() - began_s))
    return statistics.median(spent)
