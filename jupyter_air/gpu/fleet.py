"""What is known of each node and GPU beyond its readings: the newest record, its age, and what went missing."""

from __future__ import annotations

import msgspec

from jupyter_air.gpu.gaps import identity
from jupyter_air.gpu.samples import GpuSample, NodeSample


class _Known:
    """A node's newest sample, and the GPUs it has had."""

    def __init__(self, sample: NodeSample) -> None:
        self.sample = sample
        self.read_s: float | None = None
        self.gpus: dict[str, tuple[float, GpuSample]] = {}


class Fleet:
    """The nodes and GPUs that a reader is told of, in order.

    A GPU that its node no longer reports stays listed, as missing, for the length of the history; so does a node that
    no source reports. While a whole node does not answer its GPUs keep the state they had.

    Args:
        keep_s: how long what is gone stays listed.
        stale_s: a reading older than this is said to be stale, unless its source says otherwise.
    """

    def __init__(self, keep_s: float, stale_s: float) -> None:
        self._keep_s = keep_s
        self._stale_s = stale_s
        self._nodes: dict[str, _Known] = {}

    def update(self, time_s: float, samples: dict[str, NodeSample]) -> dict[str, NodeSample]:
        """Takes in one sample of each node; gives them with their missing GPUs.

        Args:
            time_s: when the samples were asked for, Unix time.
            samples: by node identity.
        """
        for ident, sample in samples.items():
            known = self._nodes.setdefault(ident, _Known(sample))
            known.sample = self._complete(known, sample, time_s)
        for ident in self._nodes.keys() - samples.keys():
            self._leave_out(ident, time_s)
        # The order is the sources', also when a node was known before its source's first sample.
        self._nodes = {ident: self._nodes[ident] for ident in [*samples, *(self._nodes.keys() - samples.keys())]}
        return {ident: self._nodes[ident].sample for ident in samples}

    def _complete(self, known: _Known, sample: NodeSample, time_s: float) -> NodeSample:
        if sample.time_s is not None:
            known.read_s = sample.time_s
        answers = sample.state in ("live", "no-gpu")
        reported = {gpu.uuid for gpu in sample.gpus}
        for uuid, (seen_s, gpu) in list(known.gpus.items()):
            if uuid in reported:
                continue
            # A MIG slice that went is an administrator's choice; a row named by its index was another GPU's all along.
            passing = gpu.parent_uuid is not None or gpu.uuid == gpu.index
            if seen_s < time_s - self._keep_s or (answers and passing):
                del known.gpus[uuid]
                continue
            gone = identity(gpu)
            if answers:
                gone.state, gone.reason = "missing", "The GPU was here before and the driver no longer lists it."
            known.gpus[uuid] = (seen_s, gone)
            sample.gpus.append(gone)
        known.gpus.update((gpu.uuid, (time_s, gpu)) for gpu in sample.gpus if gpu.uuid in reported)
        return sample

    def _leave_out(self, ident: str, time_s: float) -> None:
        known = self._nodes[ident]
        if known.read_s is None or known.read_s < time_s - self._keep_s:
            del self._nodes[ident]
            return
        if known.sample.state == "live":
            known.sample = msgspec.structs.replace(
                known.sample, state="error", reason="No source names this node any more."
            )

    def nodes(self) -> dict[str, NodeSample]:
        """The newest sample of each node, by identity."""
        return {ident: known.sample for ident, known in self._nodes.items()}

    def age_s(self, ident: str, now_s: float) -> float | None:
        """Seconds since the node's newest reading; ``None`` when there has been none."""
        read_s = self._nodes[ident].read_s
        return None if read_s is None else max(0.0, now_s - read_s)

    def is_stale(self, ident: str, now_s: float) -> bool:
        """Whether the newest reading is too old to be called live."""
        age_s = self.age_s(ident, now_s)
        return age_s is not None and age_s > (self._nodes[ident].sample.stale_after_s or self._stale_s)
