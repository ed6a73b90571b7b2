"""The runs of a store, through MLflow's own client, and a kernel that makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.runs.kernel import Kernel, Reply

PAGES = "/user/ada@lab/jupyter-air/mlflow"


class Tracked:
    """A notebook's kernel and the store that it logs to.

    Args:
        kernel: of the notebook ``train.ipynb``.
        uri: tracking URI of the store.
    """

    def __init__(self, kernel: Kernel, uri: str) -> None:
        import mlflow

        self.kernel = kernel
        self.uri = uri
        self.client: Any = mlflow.MlflowClient(tracking_uri=uri)

    def run(self, code: str, interrupt_at: str | None = None) -> Reply:
        return self.kernel.run(code, interrupt_at=interrupt_at)

    def ok(self, code: str) -> Reply:
        """A cell that goes well and says nothing but its cards and its value."""
        reply = self.kernel.run(code)
        assert (reply.status, reply.stderr, reply.tracebacks) == ("ok", "", []), reply
        return reply

    def refused(self, code: str) -> str:
        """The one sentence of a cell that is refused: an error to whoever runs all cells, without a traceback."""
        before = len(self.runs())
        reply = self.kernel.run(code)
        assert reply.status == "error" and reply.tracebacks == [] and reply.cards == [], reply
        assert reply.stderr == f"UsageError: {reply.evalue}\n" and reply.stdout == ""
        assert len(self.runs()) == before, "a refusal leaves nothing behind"
        return reply.evalue

    def runs(self) -> list[Any]:
        """All runs, newest first."""
        experiments = [one.experiment_id for one in self.client.search_experiments()]
        found: list[Any] = self.client.search_runs(experiments, order_by=["attributes.start_time DESC"])
        return found

    def newest(self, name: str) -> Any:
        return next(run for run in self.runs() if run.info.run_name == name)

    def made(self, name: str, *, status: str = "FINISHED", experiment: str = "elsewhere") -> str:
        """The id of a run that somebody else made, as it is in the store."""
        found = self.client.get_experiment_by_name(experiment)
        experiment_id = found.experiment_id if found else self.client.create_experiment(experiment)
        run_id: str = self.client.create_run(experiment_id, run_name=name, start_time=1000).info.run_id
        if status != "RUNNING":
            self.client.set_terminated(run_id, status, end_time=2000)
        return run_id

    def status(self, run_id: str) -> str:
        status: str = self.client.get_run(run_id).info.status
        return status

    def tidy(self) -> None:
        """No run is active and nothing is set: the kernel is as it was."""
        self.kernel.run(
            "import os, mlflow\n"
            "while mlflow.active_run(): mlflow.end_run()\n"
            f"mlflow.set_tracking_uri({self.uri!r})\n"
            "mlflow.tracking.fluent._active_experiment_id = None\n"
            "for _name in ('RUN_ID', 'EXPERIMENT_NAME', 'EXPERIMENT_ID'): os.environ.pop(f'MLFLOW_{_name}', None)"
        )


def environment(home: Path, folder: Path, uri: str, *, system_metrics: bool = False) -> dict[str, str]:
    """What Jupyter's server gives to the kernel of a notebook; without metrics the store's process need not start."""
    return {
        "JUPYTER_AIR_HOME": str(home),
        "MLFLOW_TRACKING_URI": uri,
        "JUPYTER_AIR_MLFLOW_STORE": uri,
        "JUPYTER_AIR_MLFLOW_BASE": PAGES,
        "JUPYTER_AIR_USER": "ada",
        "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": str(system_metrics).lower(),
        "JPY_SESSION_NAME": str(folder / "train.ipynb"),
    }
