"""Where artifacts go, whatever MLflow client logs them, from whatever folder."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from jupyter_air.runs.artifact_root import is_artifact_root, set_artifact_root
from jupyter_air.runs.store import Store, embedded_store
from tests.runs.mlflow_process import mlflow

_LOG = """
import mlflow
mlflow.set_experiment("plain")
with mlflow.start_run() as run:
    mlflow.log_text("hello", "a.txt")
    print(run.info.artifact_uri)
mlflow.create_experiment("elsewhere", artifact_location="chosen/mlruns")
mlflow.set_tracking_uri("sqlite:///mine.db")
mlflow.set_experiment("mine")
with mlflow.start_run() as run:
    print(run.info.artifact_uri)
"""


def _locations(store: Store) -> dict[str, str]:
    assert store.database is not None
    with closing(sqlite3.connect(store.database)) as connection:
        return dict(connection.execute("SELECT name, artifact_location FROM experiments"))


def test_new_experiments_keep_them_below_the_root(home: Path, tmp_path: Path) -> None:
    store = embedded_store(home)
    assert store.database is not None
    # The copied store still has the root of the one it was copied from.
    assert not is_artifact_root(store.database, store.artifact_root)
    set_artifact_root(store.database, store.artifact_root)
    assert is_artifact_root(store.database, store.artifact_root)
    folder = tmp_path / "a notebook's folder"
    folder.mkdir()
    first, mine = mlflow(_LOG, folder, {"MLFLOW_TRACKING_URI": store.uri}).splitlines()
    assert Path(first).is_relative_to(store.artifact_root / "1") and (Path(first) / "a.txt").read_text() == "hello"
    locations = _locations(store)
    assert locations["plain"] == f"{store.artifact_root}/1"
    assert locations["elsewhere"] == f"{folder}/chosen/mlruns"
    # A person's other stores are none of our business.
    assert Path(mine).is_relative_to(folder / "mlruns")


def test_a_notebook_that_was_quicker_keeps_its_store(tmp_path: Path) -> None:
    store = embedded_store(tmp_path / "it's ü")
    store.folder.mkdir(parents=True)
    code = "import mlflow\nwith mlflow.start_run() as run:\n    print(run.info.artifact_uri)"
    first = mlflow(code, tmp_path, {"MLFLOW_TRACKING_URI": store.uri})
    assert Path(first).is_relative_to(tmp_path / "mlruns" / "0")
    command = [sys.executable, "-m", "jupyter_air.runs.creation", str(store.database), str(store.artifact_root)]
    subprocess.run(command, check=True, cwd="/", env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert _locations(store) == {"Default": f"{store.artifact_root}/0"}
    assert store.database is not None
    with closing(sqlite3.connect(store.database)) as connection:
        assert [row[0] for row in connection.execute("SELECT artifact_uri FROM runs")] == [first]


def test_a_look_makes_no_database(tmp_path: Path) -> None:
    assert not is_artifact_root(tmp_path / "new.db", tmp_path)
    assert list(tmp_path.iterdir()) == []
