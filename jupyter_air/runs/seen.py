"""A run as its store has it now, as a card."""

from __future__ import annotations

import time
from collections.abc import Mapping

from jupyter_air.runs import links
from jupyter_air.runs.asking import asking
from jupyter_air.runs.card import RunCard
from jupyter_air.runs.destination import kind_of, pages
from jupyter_air.runs.managed import REASON_TAG


def see(uri: str, run_id: str, notebook: str | None, environ: Mapping[str, str], *, is_in_page: bool = True) -> RunCard:
    """The run's card.

    Args:
        uri: tracking URI of the run.
        run_id: of the run.
        notebook: its file.
        environ: of the kernel.
        is_in_page: as of ``RunCard``.

    Raises:
        InputError: there is no such run.
        UnavailableError: the store does not answer.
    """
    with asking(uri):
        import mlflow

        client = mlflow.MlflowClient(tracking_uri=uri)
        run = client.get_run(run_id)
        experiment_id = run.info.experiment_id
        experiment = client.get_experiment(experiment_id).name
    base = pages(uri, environ)
    page = links.run_page(
        uri,
        base,
        experiment_id,
        run_id,
        workspace=environ.get("MLFLOW_WORKSPACE"),
        databricks_host=base if kind_of(uri) == "databricks" else None,
    )
    return RunCard(
        run_id=run_id,
        experiment_id=experiment_id,
        name=run.info.run_name or run_id,
        experiment=experiment,
        status=run.info.status,
        started_ms=run.info.start_time,
        ended_ms=run.info.end_time,
        metrics=run.data.metrics,
        kind=kind_of(uri),
        base=base,
        page=page,
        notebook=notebook,
        seen_ms=int(time.time() * 1000),
        end_reason=run.data.tags.get(REASON_TAG),
        is_in_page=is_in_page,
    )
