"""What MLflow is told of the notebook at each new run, a plain ``mlflow.start_run()`` too, by its own entry points."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any

from jupyter_air.runs import beginning, notebook, open_runs, strays
from jupyter_air.runs.store import embedded_store

NOTEBOOK_TAG, VERSION_TAG = "jupyter_air.notebook", "jupyter_air.version"
_LONGEST_TAG = 5000


class NotebookContext:
    """The tags of a run that begins in a Jupyter kernel (``mlflow.run_context_provider``)."""

    def in_context(self) -> bool:
        """Whether this process is a kernel."""
        return notebook.kernel_shell() is not None

    def tags(self) -> dict[str, str]:
        """Notebook, kernel and our version; MLflow's own source is the notebook rather than the kernel's program."""
        shell = notebook.kernel_shell()
        path = of_this_process(shell).path
        tags = {
            VERSION_TAG: importlib.metadata.version("jupyter_air"),
            beginning.KERNEL_TAG: notebook.kernel_id(shell),
            NOTEBOOK_TAG: path,
        }
        if path is not None:
            tags |= {"mlflow.source.name": path, "mlflow.source.type": "NOTEBOOK"}
        others = [] if open_runs.active() else open_runs.elsewhere()
        if others:
            tags |= strays.tags(others[-1].run_id)
        return {key: value[:_LONGEST_TAG] for key, value in tags.items() if value is not None}


class NotebookExperiment:
    """Where plain runs of a notebook go (``mlflow.default_experiment_provider``).

    Only in the embedded store, which is the person's alone: on a server that is shared nothing is made unasked.
    """

    def in_context(self) -> bool:
        """Whether this process is a notebook's kernel that logs to the embedded store."""
        shell = notebook.kernel_shell()
        if shell is None or of_this_process(shell).path is None:
            return False
        import mlflow

        return bool(mlflow.get_tracking_uri() == embedded_store().uri)

    def get_experiment_id(self) -> str:
        """The id of its default experiment, which is made when it is missing."""
        import mlflow

        from jupyter_air.runs import experiments

        shell = notebook.kernel_shell()
        name = notebook.default_experiment(of_this_process(shell), notebook.user(os.environ))
        return experiments.named(mlflow.MlflowClient(), name)


def of_this_process(shell: Any) -> notebook.Notebook:
    """The notebook of the shell."""
    return notebook.find(os.environ, shell.user_ns, Path.cwd())
