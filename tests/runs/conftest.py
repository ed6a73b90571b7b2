from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from jupyter_air import paths
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store
from jupyter_air.runs.upstream import Upstream
from tests.runs.kernel import kernel
from tests.runs.mlflow_process import end_all
from tests.runs.tracked import Tracked, environment


class Embedded(NamedTuple):
    """An embedded store that is served.

    Attributes:
        home: the folder for state.
        server: which has started it.
        upstream: where it answers.
    """

    home: Path
    server: EmbeddedServer
    upstream: Upstream


@pytest.fixture(scope="session")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an empty embedded store: MLflow takes seconds to make one."""
    home = tmp_path_factory.mktemp("created")
    store = embedded_store(home)
    # What a creation that was killed leaves behind.
    (paths.private_folder(store.folder) / ".new").mkdir()
    (store.folder / ".new" / "mlflow.db").write_text("half of it")
    command = [sys.executable, "-m", "jupyter_air.runs.creation", str(store.database), str(store.artifact_root)]
    subprocess.run(command, check=True, cwd="/", env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    return home


@pytest.fixture
def home(created: Path, tmp_path: Path) -> Iterator[Path]:
    """A home of a test's own, with an empty embedded store; what serves it ends with the test."""
    folder = tmp_path / "home"
    shutil.copytree(created, folder)
    yield folder
    end_all(folder)


@pytest.fixture(scope="session")
def embedded(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A served store for all tests that break nothing."""
    home = tmp_path_factory.mktemp("embedded")
    shutil.copytree(created, home, dirs_exist_ok=True)
    server = EmbeddedServer(embedded_store(home), home)
    with pytest.MonkeyPatch.context() as patch:
        # What a person sets for MLflow's client, or for a server of their own.
        patch.setenv("MLFLOW_TRACKING_URI", "http://nowhere.invalid")
        patch.setenv("MLFLOW_ENABLE_WORKSPACES", "true")
        patch.setenv("_MLFLOW_STATIC_PREFIX", "/mine")
        upstream = asyncio.run(server.ready())
    yield Embedded(home, server, upstream)
    end_all(home)


@pytest.fixture(scope="session")
def tracked_session(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracked]:
    """One kernel for all tests that break nothing: MLflow takes seconds to load."""
    home, folder = tmp_path_factory.mktemp("tracked"), tmp_path_factory.mktemp("notebooks")
    shutil.copytree(created, home, dirs_exist_ok=True)
    uri = embedded_store(home).uri
    with kernel(folder, environment(home, folder, uri)) as one:
        yield Tracked(one, uri)
    end_all(home)


@pytest.fixture
def tracked(tracked_session: Tracked) -> Tracked:
    """That kernel, with no run active."""
    tracked_session.tidy()
    return tracked_session
