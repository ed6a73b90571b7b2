"""The runs that are active in this process, as MLflow has them by thread, and what is known of ours."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_air.runs.registering import Registration


@dataclass
class OpenRun:
    """A run that is active in this thread.

    Attributes:
        run_id: of the run.
        uri: tracking URI that it began with, whatever the person sets meanwhile.
        is_ours: whether it ends with us; ``False`` when it was running already, for somebody else.
        is_new: whether this call made it active.
        flavours: whose autologging was turned on with it.
        notes: what a person should know, a sentence each.
        registration: with the companion, for a run that began or was gone on with here.
    """

    run_id: str
    uri: str
    is_ours: bool = True
    is_new: bool = True
    flavours: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    registration: Registration | None = None


#: Ours, by id.
opened: dict[str, OpenRun] = {}


def active() -> OpenRun | None:
    """The innermost active run of this thread, whoever began it; loads no MLflow."""
    fluent = sys.modules.get("mlflow.tracking.fluent")
    run = fluent.active_run() if fluent is not None else None
    return None if run is None else known(run.info.run_id)


def elsewhere() -> list[OpenRun]:
    """Runs of ours that are active, but not in this thread."""
    here, anywhere = stack_ids(), all_ids()
    return [run for run in opened.values() if run.run_id in anywhere and run.run_id not in here]


def known(run_id: str) -> OpenRun:
    """What is known of an active run."""
    import mlflow

    return opened.get(run_id) or OpenRun(run_id, str(mlflow.get_tracking_uri()), is_new=False)


def stack_ids() -> list[str]:
    """Of the runs that are active in this thread, the innermost last."""
    fluent = sys.modules.get("mlflow.tracking.fluent")
    return [] if fluent is None else [run.info.run_id for run in fluent._active_run_stack.get()]


def all_ids() -> set[str]:
    """Of the runs that are active in any thread."""
    fluent = sys.modules.get("mlflow.tracking.fluent")
    stacks = [] if fluent is None else fluent._active_run_stack.get_all_thread_values().values()
    return {run.info.run_id for stack in stacks for run in stack}


def pop_down_to(run_id: str) -> list[str]:
    """Makes the run and all within it active no more; gives the inner ones, innermost first."""
    from mlflow.tracking import fluent

    inner: list[str] = []
    while run_id in stack_ids():
        top = fluent._active_run_stack.get().pop().info.run_id
        fluent._last_active_run_id.set(top)
        monitor = fluent.run_id_to_system_metrics_monitor.pop(top, None)
        if monitor is not None:
            monitor.finish()
        if top != run_id:
            inner.append(top)
    return inner
