"""What a companion asks of a tracking server, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from jupyter_air.errors import UnavailableError

#: Statuses of a run that has not ended.
RUNNING = ("RUNNING", "SCHEDULED")
#: How many experiments are searched for children.
MOST_EXPERIMENTS = 1000
#: MLflow's own limit of a batch.
MOST_METRICS = 1000


class NotAllowedError(UnavailableError):
    """The tracking server refuses our credentials; others may do."""


class Sample(NamedTuple):
    """What was read at one time.

    Attributes:
        time_ms: Unix time.
        step: of it.
        values: by metric key.
    """

    time_ms: int
    step: int
    values: Mapping[str, float]


class RunState(NamedTuple):
    """A run as its store has it.

    Attributes:
        status: MLflow's word.
        experiment_id: of it.
        last_step: of its system metrics; -1 when it has none.
        last_sign_ms: when something was logged last, Unix time; its beginning when nothing was.
    """

    status: str
    experiment_id: str
    last_step: int
    last_sign_ms: int


class RunStore(Protocol):
    """Runs of one tracking URI.

    Every call raises ``UnavailableError`` when it may go well another time, ``InputError`` when it never will.
    """

    async def state(self, run_id: str) -> RunState:
        """The run as it is."""

    async def log(self, run_id: str, samples: Sequence[Sample]) -> None:
        """Logs the samples; at most ``MOST_METRICS`` values together, unless one sample has more."""

    async def end(self, run_id: str, status: str, reason: str | None, end_ms: int) -> None:
        """Ends the run, saying why where there is a reason."""

    async def children(self, run_id: str, experiment_id: str, kernel_id: str) -> list[str]:
        """Ids of the runs that still run as its children and began in the same kernel.

        MLflow begins a child in the experiment that is chosen then, not in its parent's: all are searched, up to
        ``MOST_EXPERIMENTS``.
        """

    async def close(self) -> None:
        """Lets go of connections."""


def children_filter(run_id: str, kernel_id: str) -> str:
    """The condition of ``children``, in MLflow's language; ids with a quote have no children."""
    if "'" in run_id + kernel_id:
        return "attributes.run_id = ''"
    return (
        f"tags.`mlflow.parentRunId` = '{run_id}' and tags.`jupyter_air.kernel_id` = '{kernel_id}' "
        "and attributes.status = 'RUNNING'"
    )
