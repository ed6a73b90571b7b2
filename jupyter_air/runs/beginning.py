"""A run begins as the options say: a new one, one to go on with, or the one that is active."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from jupyter_air.errors import InputError
from jupyter_air.runs import autologging, experiments
from jupyter_air.runs.asking import is_missing, place
from jupyter_air.runs.managed import REASON_TAG
from jupyter_air.runs.open_runs import OpenRun, known, pop_down_to, stack_ids
from jupyter_air.runs.options import Options

RUN_ID = "MLFLOW_RUN_ID"
KERNEL_TAG = "jupyter_air.kernel_id"

_NOTE, _PARENT = "mlflow.note.content", "mlflow.parentRunId"


class Surroundings(NamedTuple):
    """What a run begins in.

    Attributes:
        default_experiment: name of the notebook's own experiment.
        kernel_id: of this kernel.
        environ: this process's environment.
    """

    default_experiment: str
    kernel_id: str | None = None
    environ: MutableMapping[str, str] = os.environ


class Beginning:
    """One call of ``tracking.begin``; MLflow answers."""

    def __init__(self, mlflow: Any, uri: str, options: Options, around: Surroundings, whole_cell: bool) -> None:
        self._mlflow = mlflow
        self._client = mlflow.MlflowClient()
        self._uri = uri
        self._options = options
        self._around = around
        self._whole_cell = whole_cell
        self._variable = around.environ.get(RUN_ID) or None
        top = mlflow.active_run()
        self._top: str | None = None if top is None else top.info.run_id

    def run(self) -> OpenRun:
        asked = self._options
        autologging.check(asked.autolog)
        if asked.run_id is not None and asked.run_id != self._top:
            if self._top is not None and not (asked.nested or self._whole_cell):
                raise _is_active(self._top, f"--run-id {asked.run_id:.80}", f"--nested --run-id {asked.run_id:.80}")
            return self._resume(asked.run_id, "--run-id")
        if self._top is None:
            return self._begin_first()
        if asked.run_id is not None:
            return self._show(self._top)
        if self._variable not in (None, self._top) and not asked.nested and asked.name is None:
            raise InputError(
                f"{RUN_ID} names the run {self._variable:.80}, but the run {self._top} is active.",
                "End the active one (%air_run --end), begin a child (--nested), or unset the variable.",
            )
        if asked.nested or (self._whole_cell and (asked.name is not None or self._variable is None)):
            return self._new(self._top)
        if asked.name is not None:
            raise _is_active(self._top, f"{asked.name!r:.80}", "--nested")
        return self._show(self._top)

    def _begin_first(self) -> OpenRun:
        asked = self._options
        if asked.nested:
            if self._variable is None:
                raise InputError(
                    "No run is active that could be the parent.", "Begin one first, or leave out --nested."
                )
            return self._new(found_run(self._client, self._uri, self._variable, RUN_ID).info.run_id)
        if self._variable is None:
            return self._new(None)
        if asked.name is None:
            return self._resume(self._variable, RUN_ID)
        begun = self._new(None)
        begun.notes.append(
            f"{RUN_ID} names {self._variable:.80}, which is left alone; %air_run without a name goes on with it."
        )
        return begun

    def _new(self, parent_id: str | None) -> OpenRun:
        asked, mlflow = self._options, self._mlflow
        parent = None if parent_id is None else self._client.get_run(parent_id)
        experiment_id = experiments.for_new_run(
            self._client,
            asked.experiment,
            parent_id=None if parent is None else parent.info.experiment_id,
            chosen_id=mlflow.tracking.fluent._active_experiment_id,
            environ=self._around.environ,
            default=self._around.default_experiment,
        )
        # MLflow takes the variable before any of this, and would go on with its run.
        with _hidden(self._around.environ, RUN_ID):
            run = mlflow.start_run(
                experiment_id=experiment_id,
                run_name=asked.name,
                nested=parent_id is not None,
                parent_run_id=parent_id,
                tags=asked.tags,
                description=asked.description,
                # The companion does it: MLflow's own would log each value twice.
                log_system_metrics=False,
            )
        begun = OpenRun(run.info.run_id, self._uri)
        with self._undone_if_it_fails(begun):
            self._log_params(begun.run_id)
            begun.flavours = autologging.turn_on(asked.autolog)
        return begun

    def _resume(self, run_id: str, source: str) -> OpenRun:
        asked, mlflow = self._options, self._mlflow
        run = found_run(self._client, self._uri, run_id, source)
        if run_id in stack_ids():
            raise InputError(
                f"The run {run_id} is active already, around the run {self._top}.", "End the inner one first."
            )
        self._check_experiment(run)
        self._check_params(run)
        self._check_parent(run)
        is_ours = run.info.status != "RUNNING" or run.data.tags.get(KERNEL_TAG, "") == self._around.kernel_id
        with _hidden(self._around.environ, RUN_ID):
            mlflow.start_run(run_id=run_id, nested=self._top is not None, log_system_metrics=False)
        begun = OpenRun(run_id, self._uri, is_ours=is_ours)
        with self._undone_if_it_fails(begun):
            if self._top is not None:
                self._client.set_tag(run_id, _PARENT, self._top)
            if is_ours and REASON_TAG in run.data.tags:
                self._client.delete_tag(run_id, REASON_TAG)
            self._add(run_id)
            begun.flavours = autologging.turn_on(asked.autolog)
        if source == RUN_ID:
            # As MLflow: a plain nested start_run() in here would go on with this run instead of making a child.
            self._around.environ.pop(RUN_ID, None)
        return begun

    def _show(self, run_id: str) -> OpenRun:
        run = self._client.get_run(run_id)
        if self._options.system_metrics is not None:
            raise InputError(f"The run {run_id} is active already; system metrics begin or not as a run begins.")
        self._check_experiment(run)
        self._check_params(run)
        self._add(run_id)
        shown = known(run_id)
        shown.flavours += autologging.turn_on(self._options.autolog)
        return OpenRun(run_id, shown.uri, shown.is_ours, is_new=False)

    def _check_experiment(self, run: Any) -> None:
        asked, own = self._options.experiment, run.info.experiment_id
        experiments.check_same(self._client, asked, own, f"the run {run.info.run_id} is in")
        chosen = self._mlflow.tracking.fluent._active_experiment_id
        if chosen not in (None, own) and run.info.run_id != self._top:
            mine, theirs = experiments.name_of(self._client, own), experiments.name_of(self._client, chosen)
            raise InputError(
                f"The run {run.info.run_id} is in the experiment {mine!r:.200}, but mlflow.set_experiment() chose "
                f"{theirs!r:.200}.",
                f"Run mlflow.set_experiment({mine!r:.200}) first.",
            )

    def _check_params(self, run: Any) -> None:
        for key, value in self._options.params.items():
            before = run.data.params.get(key, value)
            if before != value:
                raise InputError(
                    f"The parameter {key} of the run {run.info.run_id} is {before!r:.80} already, not {value!r:.80}.",
                    "MLflow keeps a parameter's first value: use another key, or another run.",
                )

    def _check_parent(self, run: Any) -> None:
        parent = run.data.tags.get(_PARENT)
        if self._top is not None and parent not in (None, self._top):
            raise InputError(
                f"The run {run.info.run_id} is a child of the run {parent}, not of the active run {self._top}.",
                "End the active run first: %air_run --end",
            )

    def _add(self, run_id: str) -> None:
        for key, value in self._options.tags.items():
            self._client.set_tag(run_id, key, value)
        if self._options.description is not None:
            self._client.set_tag(run_id, _NOTE, self._options.description)
        self._log_params(run_id)

    def _log_params(self, run_id: str) -> None:
        for key, value in self._options.params.items():
            self._client.log_param(run_id, key, value)

    @contextmanager
    def _undone_if_it_fails(self, begun: OpenRun) -> Iterator[None]:
        try:
            yield
        except BaseException:
            pop_down_to(begun.run_id)
            if begun.is_ours:
                with suppress(Exception):
                    self._client.set_terminated(begun.run_id, "FAILED")
            raise


def found_run(client: Any, uri: str, run_id: str, source: str) -> Any:
    """The run with the id, as MLflow has it.

    Args:
        client: MLflow's.
        uri: tracking URI.
        run_id: that a person gave.
        source: where.

    Raises:
        InputError: there is none, or it is deleted.
    """
    try:
        run = client.get_run(run_id)
    except Exception as error:
        if is_missing(error) or getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE":
            where = place(uri)
            raise InputError(
                f"{source} names the run {run_id!r:.80}, which {where[0].lower()}{where[1:]} does not have.",
                f"Set it to a run's id, or unset {source}." if source == RUN_ID else "Look up its id in MLflow.",
            ) from None
        raise
    if run.info.lifecycle_stage != "active":
        raise InputError(f"The run {run_id} is deleted.", f"Run: mlflow runs restore --run-id {run_id}")
    return run


def _is_active(run_id: str, asked: str, child: str) -> InputError:
    return InputError(
        f"The run {run_id} is active, so {asked} cannot begin.", f"End it (%air_run --end), or begin a child ({child})."
    )


@contextmanager
def _hidden(environ: MutableMapping[str, str], name: str) -> Iterator[None]:
    value = environ.pop(name, None)
    try:
        yield
    finally:
        if value is not None:
            environ[name] = value
