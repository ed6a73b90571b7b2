"""CPU time of other processes, to the nanosecond; psutil counts in hundredths of a second."""

from __future__ import annotations

import time

import psutil


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has taken until now, user and system; Linux."""
    # clock_getcpuclockid(3): the number of the clock that counts all CPU time of a process.
    return time.clock_gettime((~pid << 3) | 2)


def family_cpu_s(pid: int) -> float:
    """The same of a process and all its living descendants."""
    return sum(cpu_s(each) for each in [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))])
