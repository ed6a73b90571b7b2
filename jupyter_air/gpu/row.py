"""One GPU or MIG slice while its values come in, and which values a GPU can mean."""

from __future__ import annotations

from typing import Any

from jupyter_air.gpu.samples import THROTTLE_REASONS, GpuSample, GpuState

#: Characters of a name or a label.
LONGEST = 128
#: "Not available" is a value near 2^63 in many exporters, and 2^31 - 16, here in MiB, in DCGM's 32 bit fields.
_MOST_BYTES = 2.0**50
_MOST = {
    "utilization_percent": 100.0,
    "cpu_percent": 100.0,
    "cpu_count": 100_000.0,
    "temperature_c": 200.0,
    "power_w": 100_000.0,
    "power_limit_w": 100_000.0,
    "sm_clock_mhz": 50_000.0,
    "memory_clock_mhz": 50_000.0,
    "throttle_bits": 2.0**32,
}
_NAMED_BITS = (1 << len(THROTTLE_REASONS)) - 1
_WHOLE_NUMBERS = ("memory_used_bytes", "memory_total_bytes", "throttle_bits")


def reading(field: str, value: float, scale: float = 1.0) -> float | None:
    """A value in the field's unit; ``None`` for NaN, negatives and what no GPU can mean.

    Args:
        field: of ``GpuSample`` or ``HostSample``.
        value: as the exporter wrote it.
        scale: into the field's unit.
    """
    if not value >= 0:  # also true for NaN
        return None
    scaled = value * scale
    return scaled if scaled <= _MOST.get(field, _MOST_BYTES) else None


class Row:
    """One GPU or slice: who it is, and what was said of it (rank and value by field)."""

    def __init__(self, uuid: str, index: str) -> None:
        self.uuid = uuid
        self.index = index
        self.name = ""
        self.parent: str | None = None
        self.slice_id = ""
        self.profile: str | None = None
        self.pci: str | None = None
        self.note: str | None = None
        self.state: GpuState = "ok"
        self.reason: str | None = None
        self.said: dict[str, tuple[int, float]] = {}

    def say(self, field: str, rank: int, value: float | None) -> None:
        if value is not None and (field not in self.said or rank < self.said[field][0]):
            self.said[field] = (rank, value)

    def values(self) -> dict[str, Any]:
        """The readings that ``GpuSample`` has."""
        said: dict[str, Any] = {field: value for field, (_, value) in self.said.items()}
        free, reserved = said.pop("memory_free_bytes", None), said.pop("memory_reserved_bytes", 0.0)
        used = said.get("memory_used_bytes")
        if "memory_total_bytes" not in said and used is not None and free is not None:
            said["memory_total_bytes"] = used + free + reserved
        if used is not None and used > said.get("memory_total_bytes", used):
            del said["memory_used_bytes"]
        if not said.get("memory_total_bytes", 1):
            # A GPU without memory of its own says 0 of 0.
            said = {field: value for field, value in said.items() if not field.startswith("memory_")}
        if "throttle_bits" in said:
            said["throttle_bits"] = int(said["throttle_bits"]) & _NAMED_BITS
        return {field: int(value) if field in _WHOLE_NUMBERS else round(value, 3) for field, value in said.items()}

    def gpu(self, *, readings: bool) -> GpuSample:
        """The record, without its readings where they are old."""
        return GpuSample(
            uuid=self.uuid,
            index=self.index,
            name=self.name or "GPU",
            parent_uuid=self.parent,
            mig_profile=self.profile,
            pci_bus_id=self.pci,
            memory_note=self.note,
            state=self.state,
            reason=self.reason,
            **(self.values() if readings else {}),
        )
