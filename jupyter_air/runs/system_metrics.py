"""Readings of a machine as MLflow's system metrics: its keys and units, with the node in the key.

The keys are those of ``mlflow.system_metrics`` (3.17), where a megabyte is 10^6 bytes and figures have one decimal.
MLflow has no temperature; ours is named after its others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import psutil

from jupyter_air.runs.visible_gpus import Device

PREFIX = "system/"

_ILLEGAL = re.compile(r"[^\w.\- ]")
_LONGEST_NODE = 128
_MB = 1e6


class Gpu(Device, Protocol):
    """Readings of a GPU, as ``gpu.samples`` has them: percent, bytes, degrees C, watts; ``None`` is unknown."""

    @property
    def utilization_percent(self) -> float | None: ...
    @property
    def memory_used_bytes(self) -> int | None: ...
    @property
    def memory_total_bytes(self) -> int | None: ...
    @property
    def temperature_c(self) -> float | None: ...
    @property
    def power_w(self) -> float | None: ...
    @property
    def power_limit_w(self) -> float | None: ...


class Host(Protocol):
    """CPU and memory, as ``gpu.samples`` has them."""

    @property
    def cpu_percent(self) -> float | None: ...
    @property
    def memory_used_bytes(self) -> int | None: ...
    @property
    def memory_total_bytes(self) -> int | None: ...


class Traffic(NamedTuple):
    """Bytes that this machine received and sent since it began to count."""

    received: int
    sent: int


def traffic() -> Traffic | None:
    """Over all of its network; ``None`` where the system does not tell."""
    counters = psutil.net_io_counters()
    return None if counters is None else Traffic(counters.bytes_recv, counters.bytes_sent)


def node_key(name: str) -> str:
    """A node's name as it can stand in a key; empty where nothing of it can."""
    key = _ILLEGAL.sub("_", name)[:_LONGEST_NODE].strip()
    return "" if key.strip(".") == "" else key


def metrics(
    node: str, host: Host | None, gpus: Sequence[Gpu], all_gpus: Sequence[Gpu], since: Traffic | None
) -> dict[str, float]:
    """All that is known, by key; what is unknown has none.

    Args:
        node: as ``node_key`` gives it.
        host: readings.
        gpus: those of the run.
        all_gpus: of the machine.
        since: when the run began.
    """
    sliced = {gpu.parent_uuid for gpu in all_gpus}
    values = dict(_of_host(host)) | dict(_of_disk()) | dict(_of_network(since))
    for gpu in gpus:
        values |= _of_gpu(gpu, is_shared=gpu.uuid in sliced)
    place = f"{PREFIX}{node}/" if node else PREFIX
    return {place + key: round(value, 1) for key, value in values.items() if value is not None}


def _of_host(host: Host | None) -> Iterator[tuple[str, float | None]]:
    if host is not None:
        yield "cpu_utilization_percentage", host.cpu_percent
        yield "system_memory_usage_megabytes", _megabytes(host.memory_used_bytes)
        yield "system_memory_usage_percentage", _percent(host.memory_used_bytes, host.memory_total_bytes)


def _of_disk() -> Iterator[tuple[str, float | None]]:
    try:
        disk = psutil.disk_usage(os.sep)
    except OSError:
        return
    yield "disk_usage_percentage", disk.percent
    yield "disk_usage_megabytes", disk.used / _MB
    yield "disk_available_megabytes", disk.free / _MB


def _of_network(since: Traffic | None) -> Iterator[tuple[str, float | None]]:
    now = traffic()
    if now is not None and since is not None:
        # An interface that went away takes its count with it.
        yield "network_receive_megabytes", max(0, now.received - since.received) / _MB
        yield "network_transmit_megabytes", max(0, now.sent - since.sent) / _MB


def _of_gpu(gpu: Gpu, *, is_shared: bool) -> dict[str, float | None]:
    """Of a GPU in slices, others' memory and work are not the run's: only what is one for all of them."""
    before = f"gpu_{gpu.index.replace(':', '_')}_"
    own = {
        "memory_usage_percentage": _percent(gpu.memory_used_bytes, gpu.memory_total_bytes),
        "memory_usage_megabytes": _megabytes(gpu.memory_used_bytes),
        "utilization_percentage": gpu.utilization_percent,
    }
    whole = {
        "power_usage_watts": gpu.power_w,
        "power_usage_percentage": _percent(gpu.power_w, gpu.power_limit_w),
        "temperature_celsius": gpu.temperature_c,
    }
    return {before + key: value for key, value in (whole if is_shared else own | whole).items()}


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole


def _megabytes(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / _MB
