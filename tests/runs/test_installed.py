"""What is installed, on real environments: this one, one without MLflow, and folders that look like others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_air.runs.installed import installed_mlflow, schema_revisions
from jupyter_air.runs.store import embedded_store, schema_revision

_ASK = """
import sys
sys.path[:0] = sys.argv[1:]
from jupyter_air.errors import UnavailableError
from jupyter_air.runs.installed import installed_mlflow
try:
    print(installed_mlflow().version)
except UnavailableError as error:
    print(error.message, error.hint)
print("mlflow" in sys.modules)
"""


def _asked(*folders: Path) -> list[str]:
    # -S leaves out what is installed here.
    command = [sys.executable, "-S", "-c", _ASK, str(Path(__file__).parents[2]), *map(str, folders)]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _install(folder: Path, version: str, *packages: str) -> Path:
    for name in ("mlflow", *packages):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    information = folder / f"mlflow-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mlflow\nVersion: {version}\n")
    return folder


def test_its_newest_schema_is_what_it_makes(created: Path) -> None:
    database = embedded_store(created).database
    assert database is not None
    revisions = schema_revisions(installed_mlflow())
    assert revisions.newest == schema_revision(database)
    assert len(revisions.known) > 40


def test_without_mlflow_the_command_is_told() -> None:
    words, imported = _asked()
    assert words == (
        'MLflow is not installed in JupyterLab\'s environment. Run pip install "jupyter_air[mlflow]" there.'
    )
    assert imported == "False"


def test_the_client_alone_is_not_enough(tmp_path: Path) -> None:
    words, _ = _asked(_install(tmp_path, "3.17.2", "fastapi", "uvicorn"))
    assert "cannot serve its pages: flask, sqlalchemy, alembic missing" in words


@pytest.mark.parametrize(("version", "words"), [("3.6.1", "needs MLflow 3.7 or newer"), ("3.10.0rc1", "3.10.0rc1")])
def test_the_oldest_that_will_do(tmp_path: Path, version: str, words: str) -> None:
    folder = _install(tmp_path, version, "flask", "fastapi", "uvicorn", "sqlalchemy", "alembic")
    assert words in _asked(folder)[0]
