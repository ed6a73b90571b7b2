"""Which GPU was where, to name one whose handle is lost."""

from __future__ import annotations

from jupyter_air.gpu.samples import GpuSample


class Roster:
    """The GPUs seen so far, by UUID: indices shift when one vanishes (gpud#591).

    MIG slices are not kept: their GPU is what gets lost.
    """

    def __init__(self) -> None:
        self._known: dict[str, GpuSample] = {}

    def remember(self, gpus: list[GpuSample]) -> None:
        """Takes down who is where.

        Args:
            gpus: what the driver lists now.
        """
        for gpu in gpus:
            # A row without a UUID is known by its index, which may be another GPU's tomorrow.
            if gpu.parent_uuid is None and gpu.state == "ok" and gpu.uuid != gpu.index:
                self._known[gpu.uuid] = self._identity(gpu)

    def at(self, index: str, listed: set[str]) -> GpuSample | None:
        """Who was last seen at an index that now answers nothing, unless it is listed elsewhere.

        Args:
            index: the index without an answer.
            listed: the UUIDs that other indices told.
        """
        for gpu in reversed(self._known.values()):
            if gpu.index == index and gpu.uuid not in listed:
                return gpu
        return None

    def forget(self) -> None:
        """Begin again with nobody known."""
        self._known.clear()

    @staticmethod
    def _identity(gpu: GpuSample) -> GpuSample:
        return GpuSample(uuid=gpu.uuid, index=gpu.index, name=gpu.name, pci_bus_id=gpu.pci_bus_id)
