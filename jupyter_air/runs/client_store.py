"""Runs through MLflow's own client, for tracking URIs that only it understands: Databricks, databases, plugins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jupyter_air.runs.asking import asking
from jupyter_air.runs.managed import REASON_TAG
from jupyter_air.runs.run_store import MOST_EXPERIMENTS, RunState, Sample, children_filter
from jupyter_air.runs.system_metrics import PREFIX

_Answer = TypeVar("_Answer")


class ClientStore:
    """A ``RunStore`` on ``MlflowClient``; it takes the memory and the time that loading MLflow takes.

    Args:
        uri: tracking URI, with credentials where it has some.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._client: Any = None

    async def state(self, run_id: str) -> RunState:
        """The run as it is."""

        def ask(client: Any) -> RunState:
            run = client.get_run(run_id)
            metrics = run.data._metric_objs
            steps = (metric.step for metric in metrics if metric.key.startswith(PREFIX))
            times = (metric.timestamp for metric in metrics)
            last_sign_ms = max(times, default=run.info.start_time or 0)
            return RunState(run.info.status, run.info.experiment_id, max(steps, default=-1), last_sign_ms)

        return await self._ask(ask)

    async def log(self, run_id: str, samples: Sequence[Sample]) -> None:
        """Logs the samples."""

        def ask(client: Any) -> None:
            from mlflow.entities import Metric

            metrics = [
                Metric(key, value, sample.time_ms, sample.step)
                for sample in samples
                for key, value in sample.values.items()
            ]
            client.log_batch(run_id, metrics=metrics)

        await self._ask(ask)

    async def end(self, run_id: str, status: str, reason: str | None, end_ms: int) -> None:
        """Ends the run."""

        def ask(client: Any) -> None:
            if reason is not None:
                client.set_tag(run_id, REASON_TAG, reason)
            client.set_terminated(run_id, status, end_ms)

        await self._ask(ask)

    async def children(self, run_id: str, experiment_id: str, kernel_id: str) -> list[str]:
        """Ids of its children."""

        def ask(client: Any) -> list[str]:
            found = client.search_experiments(max_results=MOST_EXPERIMENTS)
            ids = sorted({experiment_id, *(one.experiment_id for one in found)})
            return [run.info.run_id for run in client.search_runs(ids, children_filter(run_id, kernel_id))]

        return await self._ask(ask)

    async def close(self) -> None:
        """MLflow keeps its connections."""

    async def _ask(self, ask: Callable[[Any], _Answer]) -> _Answer:
        def in_thread() -> _Answer:
            with asking(self._uri):
                if self._client is None:
                    import mlflow

                    self._client = mlflow.MlflowClient(tracking_uri=self._uri)
                return ask(self._client)

        return await asyncio.to_thread(in_thread)
