"""Begins runs, goes on with them and ends them: MLflow's own way, without the traps that it leaves."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import ExitStack, suppress
from typing import Any

from jupyter_air.errors import AirError, InputError, UnavailableError
from jupyter_air.runs import autologging, kernel_end, notebook, strays
from jupyter_air.runs.asking import asking
from jupyter_air.runs.beginning import Beginning, Surroundings, found_run
from jupyter_air.runs.installed import INSTALL_IN_A_CELL, OLDEST
from jupyter_air.runs.managed import REASON_TAG
from jupyter_air.runs.open_runs import OpenRun, all_ids, known, opened, pop_down_to, stack_ids
from jupyter_air.runs.options import Options
from jupyter_air.runs.registering import register

#: What a run ends with unless something said otherwise before.
_BAD = ("FAILED", "KILLED")


def begin(options: Options, surroundings: Surroundings, *, whole_cell: bool = False) -> OpenRun:
    """Makes a run active as the options say: a new one, one to go on with, or the one that is.

    Args:
        options: what was asked.
        surroundings: where.
        whole_cell: the run is to last as long as a cell: where a run is active, as its child.

    Raises:
        InputError: what was asked contradicts what is; nothing has changed.
        UnavailableError: MLflow is missing, or its store cannot be used.
    """
    mlflow = load()
    uri = str(mlflow.get_tracking_uri())
    with asking(uri):
        begun = Beginning(mlflow, uri, options, surroundings, whole_cell).run()
    if not begun.is_new:
        opened.setdefault(begun.run_id, begun)
        return begun
    before = opened.pop(begun.run_id, None)
    if before is not None:
        # It was ended by a person's code, and is gone on with.
        begun.flavours = [*before.flavours, *begun.flavours]
        _leave(before)
    opened[begun.run_id] = begun
    _register(begun, options, surroundings)
    return begun


def has_ended(run: OpenRun) -> bool:
    """Whether the run is active in no thread any more: a person's code may have ended it."""
    if run.run_id in all_ids():
        return False
    left = opened.pop(run.run_id, None)
    if left is not None:
        autologging.turn_off(run.flavours)
        _leave(left)
    return True


def end(run: OpenRun, status: str, *, even_if_not_ours: bool = False, reason: str | None = None) -> None:
    """Ends the run, and what was begun within it, at the server that it began with.

    A run of somebody else's is only left. What a person or a job has said of the run before stays, unless it would
    hide a failure.

    Args:
        run: active, or ended already by a person's code.
        status: such as ``FINISHED``.
        even_if_not_ours: end it although somebody else may still log to it.
        reason: one sentence, where it did not end by itself.

    Raises:
        UnavailableError: the store does not answer: the run is active here no more, and its companion ends it there
            once it can.
    """
    run = opened.pop(run.run_id, run)
    is_ours = run.is_ours or even_if_not_ours
    inner: list[OpenRun] = []
    try:
        with asking(run.uri), ExitStack() as last:
            last.callback(autologging.turn_off, run.flavours)
            import mlflow

            client = mlflow.MlflowClient(tracking_uri=run.uri)
            within = [*strays.take(run.run_id), *pop_down_to(run.run_id)]
            inner = [opened.pop(run_id, OpenRun(run_id, run.uri)) for run_id in within]
            for one in inner:
                if one.is_ours:
                    _terminate(client, one.run_id, status, reason)
            for run_id in strays.lost(client, run.run_id):
                _terminate(client, run_id, status, reason)
            if is_ours:
                _terminate(client, run.run_id, status, reason)
    except BaseException:
        for one in inner:
            _leave(one, status if one.is_ours else None, reason)
        _leave(run, status if is_ours else None, reason)
        raise
    for one in (*inner, run):
        _leave(one)


def end_by_id(run_id: str, status: str) -> None:
    """Ends a run that is active nowhere, such as one whose kernel died.

    Raises:
        InputError: it has ended already, or there is none.
        UnavailableError: MLflow is missing, or its store does not answer.
    """
    mlflow = load()
    if run_id in stack_ids():
        end(known(run_id), status, even_if_not_ours=True)
        return
    uri = str(mlflow.get_tracking_uri())
    with asking(uri):
        client = mlflow.MlflowClient()
        before = found_run(client, uri, run_id, "--run-id").info.status
        if before not in ("RUNNING", "SCHEDULED"):
            raise InputError(f"The run {run_id} has ended already: it is {before}.")
        client.set_terminated(run_id, status)


def load() -> Any:
    """MLflow, imported now.

    Raises:
        UnavailableError: it is not there, or too old.
    """
    first = "mlflow" not in sys.modules
    try:
        import mlflow
        from mlflow.tracking import fluent
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("mlflow"):
            raise UnavailableError(f"MLflow cannot be loaded: {error}.", INSTALL_IN_A_CELL) from None
        raise UnavailableError(
            f"MLflow is not installed in this kernel's environment ({sys.prefix}).",
            INSTALL_IN_A_CELL,
        ) from None
    version = tuple(int(part) for part in mlflow.__version__.split(".")[:2] if part.isdigit())
    if version < OLDEST:
        raise UnavailableError(
            f"Jupyter AIR needs MLflow {OLDEST[0]}.{OLDEST[1]} or newer; this kernel has {mlflow.__version__}.",
            INSTALL_IN_A_CELL,
        )
    if first or not hasattr(fluent, "_jupyter_air"):
        fluent._jupyter_air = os.getpid()
        # After MLflow's own, so that it comes before it: that ends the innermost run alone, and anybody's.
        atexit.register(_end_all)
    return mlflow


def _register(run: OpenRun, options: Options, around: Surroundings) -> None:
    shell = notebook.kernel_shell()
    if shell is not None:
        kernel_end.watch(shell, _leaving)
    try:
        run.registration = register(
            run.run_id,
            run.uri,
            is_ours=run.is_ours,
            system_metrics=options.system_metrics,
            kernel_id=around.kernel_id,
            environ=around.environ,
        )
    except AirError as error:
        run.notes.append(f"The run has no system metrics. {error.message} {error.hint}".strip())
    except OSError as error:
        run.notes.append(f"The run has no system metrics: {error.strerror or error}.")


def _leave(run: OpenRun, status: str | None = None, reason: str | None = None) -> None:
    if run.registration is not None:
        run.registration.end(status, reason)


def _leaving(why: kernel_end.Why) -> None:
    for run in list(opened.values()):
        if run.registration is not None:
            run.registration.leaving(why)


def _terminate(client: Any, run_id: str, status: str, reason: str | None) -> None:
    before = client.get_run(run_id).info.status
    # KILLED elsewhere, or FAILED by the person's own code, says more than our FINISHED; an end already told stays.
    if before == status or (before in _BAD and status not in _BAD) or before == "KILLED":
        return
    if reason is not None:
        client.set_tag(run_id, REASON_TAG, reason)
    client.set_terminated(run_id, status)


def _end_all() -> None:
    # An orderly end of the kernel, such as a restart: parents too, and nobody else's. A process that was forked from it
    # has its runs in memory, and not to end.
    from mlflow.tracking import fluent

    if fluent._jupyter_air == os.getpid():
        status, reason = kernel_end.outcome(notebook.kernel_shell())
        for run_id in reversed(stack_ids()):
            with suppress(AirError):
                end(known(run_id), status, reason=reason)
