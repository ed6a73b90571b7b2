"""``%air_run`` where MLflow, or a part of it, is missing: the cell runs, and a sentence says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.mlflow_process import ENOUGH_S


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("mlflow", f"MLflow is not installed in this kernel's environment ({sys.prefix})."),
        # mlflow-skinny has all but what stores on disk need.
        ("sqlalchemy", "The MLflow store sqlite:///{folder}/mlflow.db needs the Python package sqlalchemy."),
    ],
)
def test_what_is_missing_is_told_with_what_to_install(tmp_path: Path, missing: str, said: str) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / f"{missing}.py").write_text(f"raise ModuleNotFoundError('none', name={missing!r})")
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(tmp_path / "hidden"), str(Path(__file__).parents[2]))),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
    }
    command = [sys.executable, "-m", "IPython", "--no-banner", "-c", "%%air_run lost\nprint(6 * 7)"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=ENOUGH_S)
    assert done.stdout == "42\n", "the cell runs"
    hint = 'Run in a cell: %pip install "jupyter_air[mlflow]" and restart the kernel.'
    assert done.stderr == f"Jupyter AIR: not tracked. {said.format(folder=tmp_path)} {hint}\n"
