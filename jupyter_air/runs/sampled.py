"""One run under the eyes of its companion: whether its kernel lives, and the samples that are still to be sent."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from jupyter_air.runs.managed import Found, ManagedRun
from jupyter_air.runs.run_store import MOST_METRICS, RUNNING, RunState, Sample
from jupyter_air.runs.system_metrics import Gpu, Host, metrics, node_key, traffic
from jupyter_air.runs.visible_gpus import visible

_log = logging.getLogger(__name__)

#: An hour at ten seconds: what a server that is away for so long gets of it.
_MOST_SAMPLES = 360
#: For so long a machine is as a run left it: until its kernel has told, or a companion has started.
_ENDING_S = 30.0
#: How often the store is asked whether somebody ended a run there.
_CHECK_S = 60.0
#: Between the two readings of the first CPU figure.
_FIRST_PERIOD_S = 0.6


class HostReader(Protocol):
    """Reads CPU and memory; CPU is of the time since the last reading."""

    def read(self) -> Host: ...


class Machine(Protocol):
    """Where readings come from."""

    def host(self, pid: int) -> HostReader:
        """A reader of CPU and memory, as they are limited for a process."""

    async def gpus(self) -> Sequence[Gpu]:
        """All GPUs now; none where they cannot be read."""

    async def close(self) -> None:
        """Lets go of the driver."""


class Over(NamedTuple):
    """How a run is over.

    Attributes:
        status: to be written if the store has it running; ``None`` when nothing is to be written.
        reason: one sentence, or ``None``.
        ended_s: when, Unix time; ``None`` when nobody saw it.
        is_gone: so that nothing of it is left to measure.
        whose: which of its kernels decided that; ``None`` when nothing is to be written.
    """

    status: str | None = None
    reason: str | None = None
    ended_s: float | None = None
    is_gone: bool = False
    whose: ManagedRun | None = None


class SampledRun:
    """A run.

    Args:
        found: what its kernels wrote; several may have it active.
        machine: gives readings.
    """

    def __init__(self, found: Sequence[Found], machine: Machine) -> None:
        self._files: list[Path] = []
        self._was_alive = False
        self._taken = 0
        self._is_complete = self._is_refused = False
        self.over: Over | None = None
        #: Steps begin here; known once the store has been asked.
        self.first_step: int | None = None
        # When it was seen that somebody had ended it in the store.
        self._ended_there_s: float | None = None
        self._checked_s = -math.inf
        self._samples: list[Sample] = []
        self.update(found)
        self._since = traffic()
        self._host = machine.host(self.record.pid)
        self._next_s = time.monotonic() + _FIRST_PERIOD_S

    def update(self, found: Sequence[Found]) -> None:
        """Takes in what its kernels say now."""
        self._files = [one.path for one in found]
        alive = [one.run for one in found if one.is_held and one.run.ending is None]
        # Whoever owns it says which GPUs are its own.
        alive.sort(key=lambda run: not run.is_ours)
        self.record: ManagedRun = alive[0] if alive else found[-1].run
        if alive:
            self._was_alive, self.over, self._is_complete = True, None, self._is_refused
        elif self.over is None:
            self.over = _over([one.run for one in found], self._was_alive)
            if self._ended_there_s is not None and time.monotonic() - self._ended_there_s < _ENDING_S:
                # That was this very end, of which the store heard first.
                self._ended_there_s = None

    @property
    def run_id(self) -> str:
        """MLflow's."""
        return self.record.run_id

    def is_due(self) -> bool:
        """Whether a sample is to be taken."""
        if not self._is_measured():
            return False
        # The first one takes its time, even of a run that is over already.
        return time.monotonic() >= self._next_s or (self.over is not None and self._taken > 0)

    def take(self, gpus: Sequence[Gpu], time_s: float) -> None:
        """Takes a sample.

        Args:
            gpus: of the machine.
            time_s: when they were read, Unix time.
        """
        record = self.record
        own = self._own(gpus)
        values = metrics(node_key(record.node), self._host.read(), own, gpus, self._since)
        self._samples.append(Sample(round(time_s * 1000), self._taken, values))
        self._taken += 1
        self._is_complete = self.over is not None and self._taken > 1
        self._next_s = _next(time.monotonic(), record.interval_s)
        if len(self._samples) > _MOST_SAMPLES:
            # What is old needs fewer points; the first stays.
            half = _MOST_SAMPLES // 2
            self._samples[:half] = self._samples[:half:2]

    def _own(self, gpus: Sequence[Gpu]) -> list[Gpu]:
        named = self.record.visible_devices
        own = visible(gpus, named, self.record.device_order)
        if own is None and not self._taken:
            _log.warning(
                "The run %.80s has no GPU metrics: only CUDA knows which models CUDA_VISIBLE_DEVICES=%.80s "
                "names. CUDA_DEVICE_ORDER=PCI_BUS_ID makes it plain.",
                self.run_id,
                named,
            )
        return own or []

    def is_settled(self) -> bool:
        """Whether it is over and all of it is measured."""
        return self.over is not None and not self._is_measured()

    def _is_measured(self) -> bool:
        is_gone = self.over is not None and self.over.is_gone
        return self.record.system_metrics and self._ended_there_s is None and not is_gone and not self._is_complete

    def batch(self) -> list[Sample]:
        """The oldest samples that are still to be sent, with their steps; ``first_step`` is known."""
        assert self.first_step is not None
        batch: list[Sample] = []
        values = 0
        for sample in self._samples:
            values += len(sample.values)
            if batch and values > MOST_METRICS:
                break
            batch.append(sample._replace(step=self.first_step + sample.step))
        return batch

    def sent(self, batch: Sequence[Sample]) -> None:
        """The batch has arrived."""
        assert self.first_step is not None
        done = {sample.step - self.first_step for sample in batch}
        self._samples = [sample for sample in self._samples if sample.step not in done]

    def has_samples(self) -> bool:
        """Whether samples are to be sent."""
        return bool(self._samples)

    def is_check_due(self) -> bool:
        """Whether the store is to be asked how the run is."""
        if self.first_step is None:
            return self.has_samples()
        return self.over is None and time.monotonic() - self._checked_s > _CHECK_S

    def checked(self, state: RunState) -> None:
        """Takes in how the store has it."""
        self._checked_s = time.monotonic()
        if self.over is None:
            self._ended_there_s = None if state.status in RUNNING else time.monotonic()
        if self.first_step is None:
            self.first_step = state.last_step + 1

    def refuse(self) -> None:
        """The store will never take anything of it: nothing more is measured or sent."""
        self._samples.clear()
        self._is_complete = self._is_refused = True

    def remove(self) -> None:
        """Nothing is left to do: its files go."""
        for path in self._files:
            path.unlink(missing_ok=True)


def _over(runs: Sequence[ManagedRun], was_alive: bool) -> Over:
    for run in runs:
        if run.ending is None and run.is_ours:
            return Over("KILLED", run.death_reason, time.time() if was_alive else None, is_gone=True, whose=run)
    endings = [(run.ending, run) for run in runs if run.ending is not None]
    is_gone = all(time.time() - ending.time_s > _ENDING_S for ending, _ in endings)
    for ending, run in endings:
        if ending.status is not None:
            return Over(ending.status, ending.reason, ending.time_s, is_gone, run)
    return Over(is_gone=is_gone)


def _next(now_s: float, interval_s: float) -> float:
    """All runs at the same time: one look at the GPUs serves them all."""
    next_s = (math.floor(now_s / interval_s) + 1) * interval_s
    return next_s if next_s - now_s >= interval_s / 2 else next_s + interval_s
