"""Which of a machine's GPUs a process can use: ``CUDA_VISIBLE_DEVICES`` as CUDA understands it.

``NVIDIA_VISIBLE_DEVICES`` has no part in it: it tells a container's runtime which GPUs to give, and what was not given
is not listed. Read in the CUDA C++ Programming Guide ("CUDA Environment Variables") and the MIG User Guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

_PREFIX = re.compile(r"^(mig-|gpu-)+")


class Device(Protocol):
    """A GPU, or a MIG slice of one, as ``gpu.samples`` has it."""

    @property
    def uuid(self) -> str: ...
    @property
    def index(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def parent_uuid(self) -> str | None: ...


AnyDevice = TypeVar("AnyDevice", bound=Device)


def visible(devices: Sequence[AnyDevice], named: str | None, order: str | None) -> list[AnyDevice] | None:
    """Those that a process can use, in the order of ``devices``; for a slice its GPU too, which it shares.

    Args:
        devices: of the machine, in NVML's order, which is that of the PCI bus.
        named: ``CUDA_VISIBLE_DEVICES``; ``None`` where it is not set.
        order: ``CUDA_DEVICE_ORDER``.

    Returns:
        ``None`` where nobody but CUDA can tell: it numbers GPUs of different models by its own guess of their speed.
    """
    if named is None:
        return list(devices)
    entries = [entry.strip() for entry in named.split(",")]
    gpus = [one for one in devices if one.parent_uuid is None]
    by_number = any(entry.isdecimal() for entry in entries)
    if by_number and order != "PCI_BUS_ID" and len({gpu.name for gpu in gpus}) > 1:
        # All of them are all of them in any order.
        numbers = {int(entry) for entry in entries if entry.isdecimal()}
        if not numbers.issuperset(range(len(gpus))):
            return None
    chosen = list(_chosen(devices, gpus, entries))
    if len(set(chosen)) < len(chosen):
        return []  # CUDA takes no GPU twice, and then none at all.
    shared = {one.parent_uuid for one in devices if one.uuid in chosen}
    return [one for one in devices if one.uuid in chosen or one.uuid in shared]


def _chosen(devices: Sequence[Device], gpus: Sequence[Device], entries: Sequence[str]) -> Iterator[str]:
    for entry in entries:
        uuid = _of_number(devices, gpus, int(entry)) if entry.isdecimal() else _of_uuid(devices, entry)
        if uuid is None:
            return  # What follows an entry that names nothing (-1, NoDevFiles) counts no more.
        yield uuid


def _of_number(devices: Sequence[Device], gpus: Sequence[Device], number: int) -> str | None:
    if number >= len(gpus):
        return None
    gpu = gpus[number].uuid
    # Of a GPU that is sliced a process gets the first slice.
    return next((one.uuid for one in devices if one.parent_uuid == gpu), gpu)


def _of_uuid(devices: Sequence[Device], entry: str) -> str | None:
    """Of a UUID, or of the beginning of one that no other begins with."""
    kind, wanted = entry[:4].upper(), _PREFIX.sub("", entry.lower())
    if kind not in ("GPU-", "MIG-") or not wanted:
        return None
    kept = [one.uuid for one in devices if (one.parent_uuid is not None) == (kind == "MIG-")]
    if wanted in kept:
        return wanted
    begins = [uuid for uuid in kept if uuid.startswith(wanted)]
    return begins[0] if len(begins) == 1 and kind == "GPU-" else None
