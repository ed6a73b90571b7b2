"""The embedded store's server, real and shared by these tests; what breaks it is in ``test_crashes``."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store, store_beside
from jupyter_air.runs.upstream import Upstream
from tests.runs.conftest import Embedded
from tests.runs.mlflow_process import client, daemons, end_all, experiments, mlflow
from tests.runs.starter_process import starter


def test_it_serves_pages_and_rest_of_the_store(embedded: Embedded) -> None:
    assert embedded.server.progress().state == "ready"
    with client(embedded.upstream) as speaker:
        assert "<title>MLflow</title>" in speaker.get("/").text
        assert speaker.get("/health").text == "OK"
    assert list(experiments(embedded.upstream)) == ["Default"]


def test_one_process_that_only_its_owner_reaches(embedded: Embedded) -> None:
    (process,) = daemons(embedded.home)
    assert process.children(recursive=True) == []
    assert [one for one in process.net_connections() if one.laddr and one.status == "LISTEN"] == []
    assert embedded.upstream.socket is not None
    assert stat.S_IMODE(Path(embedded.upstream.socket).parent.stat().st_mode) == 0o700
    assert process.cwd() == "/"


def test_who_asks_again_or_elsewhere_gets_the_same(embedded: Embedded) -> None:
    assert asyncio.run(embedded.server.ready()) == embedded.upstream
    other = EmbeddedServer(embedded_store(embedded.home), embedded.home)
    assert other.progress().state == "ready"
    assert asyncio.run(other.ready()) == embedded.upstream
    process = starter(embedded.home)
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == [embedded.upstream.socket, False]
    finally:
        process.kill()
        process.wait()


def test_what_a_client_logs_is_seen_with_its_artifacts(embedded: Embedded, tmp_path: Path) -> None:
    store = embedded.server.store
    code = (
        "import mlflow\nmlflow.set_experiment('seen')\n"
        "with mlflow.start_run() as run: mlflow.log_text('hello', 'a.txt')\nprint(run.info.run_id)"
    )
    run = mlflow(code, tmp_path, {"MLFLOW_TRACKING_URI": store.uri})
    assert experiments(embedded.upstream)["seen"].startswith(str(store.artifact_root))
    with client(embedded.upstream) as speaker:
        assert speaker.get("/get-artifact", params={"run_uuid": run, "path": "a.txt"}).text == "hello"
        # An experiment made over REST must be one that a sqlite client can log to: no mlflow-artifacts:/ there.
        speaker.post("/api/2.0/mlflow/experiments/create", json={"name": "by REST"}).raise_for_status()
    assert experiments(embedded.upstream)["by REST"].startswith(str(store.artifact_root))


def test_a_store_that_cannot_be_used_starts_nothing(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"nas.lab:/export/home {tmp_path} nfs4 rw,relatime,vers=4.2 0 0\n")
    server = EmbeddedServer(embedded_store(tmp_path / "air", mounts), tmp_path / "air", mounts=mounts)
    assert server.progress().state == "failed" and "network share" in server.progress().message
    with pytest.raises(UnavailableError, match="network share"):
        asyncio.run(server.ready())
    assert not (tmp_path / "air").exists()


@pytest.mark.parametrize("kind", ["database", "files"])
def test_a_store_beside_a_notebook_is_served_and_left_as_it_is(tmp_path: Path, kind: str) -> None:
    notebooks, home = tmp_path / "notebooks", tmp_path / "home"
    notebooks.mkdir()
    environ = {} if kind == "database" else {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": "./mlruns"}
    mlflow("import mlflow\nmlflow.set_experiment('beside')\nwith mlflow.start_run(): pass", notebooks, environ)
    store = store_beside(notebooks)
    assert store is not None
    before = _contents(notebooks)
    server = EmbeddedServer(store, home)
    try:
        upstream: Upstream = asyncio.run(server.ready())
        assert experiments(upstream)["beside"].startswith(("file://", "/"))
        assert str(notebooks / "mlruns") in experiments(upstream)["beside"]
        assert ("MLFLOW_ALLOW_FILE_STORE=true" in server.progress().note) is (kind == "files")
        assert _contents(notebooks) == before
    finally:
        end_all(home)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
