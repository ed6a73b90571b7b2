"""Which experiment a new run goes to; settings that contradict each other are refused, naming both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_air.errors import InputError
from jupyter_air.runs.asking import is_missing

NAME_VARIABLE, ID_VARIABLE = "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"


def for_new_run(
    client: Any,
    asked: str | None,
    *,
    parent_id: str | None,
    chosen_id: str | None,
    environ: Mapping[str, str],
    default: str,
) -> str:
    """Its id; an experiment that is only named is made when it is missing.

    Args:
        client: MLflow's.
        asked: name that the person gives for this run.
        parent_id: experiment of the run's parent, which a child shares.
        chosen_id: what ``mlflow.set_experiment()`` chose.
        environ: for MLflow's own variables.
        default: name, where nothing else is set.

    Raises:
        InputError: the experiment is deleted or does not exist, or two settings name different ones.
    """
    if parent_id is not None:
        check_same(client, asked, parent_id, "its parent's run is in")
        return parent_id
    if asked is not None:
        return named(client, asked)
    return chosen_id or _of_environment(client, environ) or named(client, default)


def named(client: Any, name: str) -> str:
    """The id of the experiment with the name, which is made when it is missing.

    Raises:
        InputError: it is deleted.
    """
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name))
        except Exception as error:
            # Somebody else made it just now.
            if getattr(error, "error_code", None) != "RESOURCE_ALREADY_EXISTS":
                raise
            found = client.get_experiment_by_name(name)
    return _usable(found)


def check_same(client: Any, asked: str | None, experiment_id: str, whose: str) -> None:
    """Whether the experiment that a person asks for is the one with the id.

    Raises:
        InputError: it is another; the message names both.
    """
    if asked is not None:
        name = name_of(client, experiment_id)
        if name != asked:
            raise InputError(
                f"--experiment asks for {asked!r:.200}, but {whose} {name!r:.200}.",
                "Leave out --experiment, or end the active run first.",
            )


def name_of(client: Any, experiment_id: str) -> str:
    """The name of the experiment with the id."""
    return str(client.get_experiment(experiment_id).name)


def _of_environment(client: Any, environ: Mapping[str, str]) -> str | None:
    name, experiment_id = environ.get(NAME_VARIABLE), environ.get(ID_VARIABLE)
    if not experiment_id:
        return named(client, name) if name else None
    try:
        found = client.get_experiment(experiment_id)
    except Exception as error:
        if is_missing(error):
            raise InputError(
                f"{ID_VARIABLE} names the experiment {experiment_id!r:.80}, which does not exist.",
                f"Unset {ID_VARIABLE}, or give --experiment NAME.",
            ) from None
        raise
    if name and found.name != name:
        raise InputError(
            f"{NAME_VARIABLE} names the experiment {name!r:.200}, but {ID_VARIABLE} is {experiment_id}, which is "
            f"{found.name!r:.200}.",
            "Unset one of them, or give --experiment NAME.",
        )
    return _usable(found)


def _usable(experiment: Any) -> str:
    if experiment.lifecycle_stage != "active":
        raise InputError(
            f"The experiment {experiment.name!r:.200} is deleted.",
            f"Run: mlflow experiments restore --experiment-id {experiment.experiment_id}, or choose another.",
        )
    return str(experiment.experiment_id)
