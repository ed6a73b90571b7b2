"""Runs that MLflow begins by itself in a thread, while the run that was meant is active in another.

MLflow keeps the active run by thread. Logging in a worker thread finds none and begins one, which nobody ends.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient

#: Of a run that MLflow began by itself: the run that was active in the thread of the cell.
STRAY_TAG = "jupyter_air.stray_of"

_told: set[str] = set()


def tags(meant: str) -> dict[str, str]:
    """For a run that begins in this thread now, while ``meant`` is active in another; tells a person once."""
    if not _begins_by_itself(sys._getframe()):
        return {"mlflow.parentRunId": meant}
    if meant not in _told:
        _told.add(meant)
        print(
            f"Jupyter AIR: the thread {threading.current_thread().name} logged while the run {meant} was active in "
            "another thread. MLflow keeps active runs by thread, so it began a run of its own, which ends with that "
            f"one. In threads, log with mlflow.MlflowClient().log_metric({meant!r}, ...).",
            file=sys.stderr,
        )
    return {"mlflow.parentRunId": meant, STRAY_TAG: meant}


def take(run_id: str) -> list[str]:
    """The strays of a run, from now on active in no thread."""
    from mlflow.tracking import fluent

    found = []
    for stack in fluent._active_run_stack.get_all_thread_values().values():
        for run in [run for run in stack if run.data.tags.get(STRAY_TAG) == run_id]:
            stack.remove(run)
            found.append(run.info.run_id)
    return found


def lost(client: MlflowClient, run_id: str) -> list[str]:
    """The strays of a run that still run in its store: a thread with the number of one that ended took its place."""
    if run_id not in _told:
        return []
    from mlflow.tracking import fluent

    experiments = {client.get_run(run_id).info.experiment_id, fluent._get_experiment_id()}
    condition = f"tags.`{STRAY_TAG}` = '{run_id}' and attributes.status = 'RUNNING'"
    return [run.info.run_id for run in client.search_runs(list(experiments), condition)]


def _begins_by_itself(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "_get_or_start_run":
            return True
        frame = frame.f_back
    return False
