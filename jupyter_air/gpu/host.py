"""CPU and memory of this machine, or of the container we run in."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from jupyter_air.gpu.samples import HostSample

#: Below this the kernel's CPU counters are too coarse to divide (USER_HZ is 100).
_SHORTEST_PERIOD_S = 0.5


@dataclass(frozen=True)
class _Limits:
    """What the cgroups above this process allow, and what the group that sets each limit uses."""

    cpu_quota: float | None = None
    cpu_used_s: float | None = None
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None


class HostReader:
    """Reads CPU and memory; the first CPU figure counts from the reader's creation.

    A cgroup's limit replaces the host's figure where it is the smaller one (cgroup v2, and v1's cpu and memory
    controllers), at whichever level of the hierarchy it is set. Memory in use leaves out the page cache that the kernel
    gives back at once, as ``docker stats`` and the kubelet count it.

    Args:
        cgroup_root: where the cgroup file systems are mounted.
        proc_cgroup: which groups the process is in, where it is not as of ``pid``.
        pid: of the process whose limits count; our own without.
        clock_s: what a cgroup's CPU seconds are divided by.
    """

    def __init__(
        self,
        cgroup_root: Path = Path("/sys/fs/cgroup"),
        proc_cgroup: Path | None = None,
        *,
        pid: int | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock_s = clock_s
        self._cgroup_root = cgroup_root
        self._proc_cgroup = proc_cgroup or Path(f"/proc/{pid or 'self'}/cgroup")
        self._cpus = _usable_cpus(pid or 0)
        self._groups = ""
        self._busy_s, self._all_s = self._cpu_times()
        self._limits = self._read_limits()
        self._time_s = clock_s()
        self._cpu_percent: float | None = None

    def read(self) -> HostSample:
        """CPU since the last call, and memory now."""
        limits = self._read_limits()
        cpu_count = float(len(self._cpus)) if self._cpus else float(psutil.cpu_count() or 1)
        capped = limits.cpu_quota is not None and limits.cpu_quota < cpu_count
        if self._clock_s() - self._time_s >= _SHORTEST_PERIOD_S:
            self._cpu_percent = self._cpu_since_last(limits, capped)
        memory = psutil.virtual_memory()
        used, total = memory.total - memory.available, memory.total
        if limits.memory_limit_bytes is not None and limits.memory_limit_bytes < total:
            used, total = limits.memory_used_bytes or 0, limits.memory_limit_bytes
        return HostSample(
            cpu_percent=self._cpu_percent,
            cpu_count=limits.cpu_quota if capped else cpu_count,
            memory_used_bytes=used,
            memory_total_bytes=total,
        )

    def _cpu_since_last(self, limits: _Limits, capped: bool) -> float | None:
        now_s = self._clock_s()
        busy_s, all_s = self._cpu_times()
        if capped and limits.cpu_used_s is not None and self._limits.cpu_used_s is not None:
            used, allowed = (
                limits.cpu_used_s - self._limits.cpu_used_s,
                (now_s - self._time_s) * (limits.cpu_quota or 1),
            )
        else:
            used, allowed = busy_s - self._busy_s, all_s - self._all_s
        self._busy_s, self._all_s, self._limits, self._time_s = busy_s, all_s, limits, now_s
        return min(max(100 * used / allowed, 0.0), 100.0) if allowed > 0 else None

    def _cpu_times(self) -> tuple[float, float]:
        """Busy and all seconds since boot, summed over the CPUs that this process may use."""
        times = psutil.cpu_times(percpu=True)
        mine = [t for cpu, t in enumerate(times) if not self._cpus or cpu in self._cpus]
        everything = sum(sum(t[:8]) for t in mine)  # guest time, after the eighth, is in user time already
        idle = sum(t.idle + getattr(t, "iowait", 0.0) for t in mine)
        return everything - idle, everything

    def _read_limits(self) -> _Limits:
        # A process that has ended leaves what it was in.
        self._groups = _text(self._proc_cgroup) or self._groups
        if not self._groups:
            return _Limits()  # not Linux, or /proc is hidden: the host's own figures stand
        lines = self._groups.splitlines()
        groups = dict(line.split(":", 2)[1:] for line in lines if line.count(":") >= 2)
        if "" in groups and (self._cgroup_root / "cgroup.controllers").exists():
            return self._read_v2(groups[""])
        return self._read_v1(groups)

    def _levels(self, root: Path, group: str) -> list[Path]:
        """The group's folder and those above it; with a cgroup namespace the mount's own root is the group."""
        inner = root / group.strip("/")
        if not inner.is_dir():
            inner = root
        return [inner, *(p for p in inner.parents if p == root or root in p.parents)]

    def _read_v2(self, group: str) -> _Limits:
        quota, cpu_level = None, None
        limit, memory_level = None, None
        for level in self._levels(self._cgroup_root, group):
            cores = _cpu_max(_text(level / "cpu.max"))
            if cores is not None and (quota is None or cores < quota):
                quota, cpu_level = cores, level
            bytes_ = _number(_text(level / "memory.max"))
            if bytes_ is not None and (limit is None or bytes_ < limit):
                limit, memory_level = bytes_, level
        used_us = _field(_text(cpu_level / "cpu.stat"), "usage_usec") if cpu_level else None
        return _Limits(
            cpu_quota=quota,
            cpu_used_s=None if used_us is None else used_us / 1e6,
            memory_limit_bytes=limit,
            memory_used_bytes=_in_use(memory_level, "memory.current", "inactive_file") if memory_level else None,
        )

    def _read_v1(self, groups: dict[str, str]) -> _Limits:
        by_controller = {name: group for names, group in groups.items() for name in names.split(",")}
        quota, used_s, limit, used = None, None, None, None
        for level in self._levels(self._cgroup_root / "cpu", by_controller.get("cpu", "/")):
            allowed, period = _number(_text(level / "cpu.cfs_quota_us")), _number(_text(level / "cpu.cfs_period_us"))
            if allowed and period and allowed > 0 and (quota is None or allowed / period < quota):
                usage_ns = _number(_text(level / "cpuacct.usage"))
                quota, used_s = allowed / period, None if usage_ns is None else usage_ns / 1e9
        for level in self._levels(self._cgroup_root / "memory", by_controller.get("memory", "/")):
            bytes_ = _number(_text(level / "memory.limit_in_bytes"))
            if bytes_ is not None and (limit is None or bytes_ < limit):
                limit, used = bytes_, _in_use(level, "memory.usage_in_bytes", "total_inactive_file")
        return _Limits(quota, used_s, limit, used)


def _usable_cpus(pid: int) -> frozenset[int]:
    """The CPUs that a process may run on; empty where the system does not tell."""
    try:
        return frozenset(os.sched_getaffinity(pid)) if hasattr(os, "sched_getaffinity") else frozenset()
    except OSError:  # It has ended.
        return frozenset()


def _text(path: Path) -> str:
    """A file's text; empty where there is none, as of a controller that a cgroup lacks."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _number(text: str) -> int | None:
    """The number in the text; ``None`` for "max" and for nothing."""
    try:
        return int(text)
    except ValueError:
        return None


def _cpu_max(text: str) -> float | None:
    """Cores of ``cpu.max`` ("150000 100000" is 1.5); ``None`` for "max 100000"."""
    parts = text.split()
    if len(parts) != 2 or parts[0] == "max":
        return None
    return int(parts[0]) / int(parts[1])


def _field(text: str, name: str) -> int | None:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return _number(value)
    return None


def _in_use(level: Path, usage_file: str, cache_field: str) -> int | None:
    usage = _number(_text(level / usage_file))
    if usage is None:
        return None
    return max(usage - (_field(_text(level / "memory.stat"), cache_field) or 0), 0)
