"""CPU and memory of the host, and of the container where its limits are the smaller ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from jupyter_air.gpu.host import HostReader

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")


def reader(
    tmp_path: Path, group: str, files: dict[str, str], clock_s: Callable[[], float] = time.monotonic
) -> HostReader:
    write(tmp_path, files)
    proc = tmp_path / "self_cgroup"
    proc.write_text(group + "\n")
    return HostReader(cgroup_root=tmp_path, proc_cgroup=proc, clock_s=clock_s)


def test_the_host_itself() -> None:
    host = HostReader(cgroup_root=Path("/nonexistent"))
    assert host.read().cpu_percent is None, "an instant after creation there is nothing to divide by"
    busy_until = time.monotonic() + 0.6
    while time.monotonic() < busy_until:
        pass
    sample = host.read()
    assert sample.cpu_percent is not None and 100 / (psutil.cpu_count() or 1) * 0.5 < sample.cpu_percent <= 100
    assert sample.memory_total_bytes == psutil.virtual_memory().total
    assert sample.memory_used_bytes is not None and 0 < sample.memory_used_bytes < sample.memory_total_bytes


def test_cgroup_v2_limits_of_a_level_above(tmp_path: Path) -> None:
    files = {
        "cgroup.controllers": "cpu memory",
        "pod/cpu.max": "150000 100000",
        "pod/cpu.stat": "usage_usec 1000000\nuser_usec 1",
        "pod/memory.max": str(4 * GIB),
        "pod/memory.current": str(3 * GIB),
        "pod/memory.stat": f"anon 1\ninactive_file {GIB}",
        "pod/box/cpu.max": "max 100000",
        "pod/box/memory.max": "max",
        "pod/box/memory.current": str(GIB),
    }
    now_s = [100.0]
    host = reader(tmp_path, "0::/pod/box", files, lambda: now_s[0])
    now_s[0] += 0.6
    write(tmp_path, {"pod/cpu.stat": "usage_usec 1450000\nuser_usec 1"})
    sample = host.read()
    assert sample.cpu_count == 1.5
    assert sample.cpu_percent == pytest.approx(50)
    assert (sample.memory_used_bytes, sample.memory_total_bytes) == (2 * GIB, 4 * GIB)


def test_cgroup_v1_limits(tmp_path: Path) -> None:
    files = {
        "cpu/job/cpu.cfs_quota_us": "50000",
        "cpu/job/cpu.cfs_period_us": "100000",
        "cpu/job/cpuacct.usage": "0",
        "memory/job/memory.limit_in_bytes": str(2 * GIB),
        "memory/job/memory.usage_in_bytes": str(GIB),
        "memory/job/memory.stat": f"total_inactive_file {GIB // 2}",
    }
    sample = reader(tmp_path, "4:cpu,cpuacct:/job\n3:memory:/job", files).read()
    assert sample.cpu_count == 0.5
    assert (sample.memory_used_bytes, sample.memory_total_bytes) == (GIB // 2, 2 * GIB)


def test_a_limit_above_the_host_is_no_limit(tmp_path: Path) -> None:
    files = {"cgroup.controllers": "", "memory.max": str(1 << 62), "cpu.max": "99999900000 100000"}
    sample = reader(tmp_path, "0::/", files).read()
    assert sample.memory_total_bytes == psutil.virtual_memory().total
    assert sample.cpu_count is not None and sample.cpu_count == int(sample.cpu_count) < 10_000
