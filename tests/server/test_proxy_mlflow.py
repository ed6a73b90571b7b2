"""A real MLflow behind the proxy, over a unix socket as the embedded one: its page, its REST, its artifacts."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from jupyter_air.runs.card import MIME_TYPE
from jupyter_air.runs.forwarding import only_asks
from tests.live_server import TOKEN, LiveServer, live_server
from tests.runs.kernel import kernel
from tests.runs.mlflow_process import end_all, wait_until
from tests.server.mlflow_process import MlflowProcess
from tests.server.tracked_server import logged_in, tracked_server

pytestmark = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")

MLFLOW = "jupyter-air/mlflow/"
#: As a browser reaches Jupyter by a public name, through a proxy that ends TLS.
HOST = "hub.example.org"
PUBLIC = {"Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowProcess]:
    process = MlflowProcess(tmp_path_factory.mktemp("mlflow"))
    try:
        process.wait_until_up()
        yield process
    finally:
        process.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, mlflow: MlflowProcess) -> Iterator[LiveServer]:
    folder, public = tmp_path_factory.mktemp("jupyter"), "--ServerApp.allow_remote_access=True"
    with tracked_server(folder, mlflow.url, public, socket=mlflow.socket) as up:
        yield up
    assert not up.has_traceback


@pytest.fixture(scope="module")
def run(server: LiveServer) -> Any:
    """A run in an experiment of its own, made through the proxy."""
    experiment = post(server.client, "experiments/create", {"name": "speech"})["experiment_id"]
    run = post(server.client, "runs/create", {"experiment_id": experiment, "run_name": "conformer", "start_time": 1})
    return run["run"]["info"]


def post(client: httpx.Client, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    reply = client.post(f"{MLFLOW}api/2.0/mlflow/{path}", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_the_page_and_its_program_come_below_the_prefix(server: LiveServer) -> None:
    with logged_in(server) as browser:
        # Until MLflow has answered once, a person sees how far it is.
        while 'id="elapsed"' in (page := browser.get(MLFLOW, headers={"Sec-Fetch-Mode": "navigate"})).text:
            time.sleep(0.5)
        assert page.status_code == 200 and "<title>MLflow</title>" in page.text
        assert "X-Frame-Options" not in page.headers
        sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert len(sources) >= 3
        for source in sources:
            reply = browser.get(str(page.url.join(source)))
            assert reply.status_code == 200
            assert f"/{MLFLOW}static-files/" in str(reply.url)


def test_a_public_name_and_tls_in_front_change_nothing(server: LiveServer, run: Any) -> None:
    # MLflow itself refuses such a Host, and such an Origin.
    with logged_in(server, HOST) as browser:
        found = post(browser, "runs/search", {"experiment_ids": [run["experiment_id"]]}, PUBLIC)
        assert [one["info"]["run_name"] for one in found["runs"]] == ["conformer"]
        post(browser, "runs/set-tag", {"run_id": run["run_id"], "key": "seen", "value": "yes"}, PUBLIC)
        run_tags = browser.get(f"{MLFLOW}api/2.0/mlflow/runs/get", params={"run_id": run["run_id"]}).json()
    assert {"key": "seen", "value": "yes"} in run_tags["run"]["data"]["tags"]


def test_an_error_of_mlflow_keeps_its_words(server: LiveServer) -> None:
    reply = server.client.get(f"{MLFLOW}api/2.0/mlflow/runs/get", params={"run_id": "none"})
    assert reply.status_code == 404
    assert reply.json()["error_code"] == "RESOURCE_DOES_NOT_EXIST"


def test_an_artifact_goes_there_and_comes_back_whole(server: LiveServer, run: Any) -> None:
    whole = hashlib.sha256(b"line\n" * 10_000_000)
    path = f"{MLFLOW}api/2.0/mlflow-artifacts/artifacts/{run['experiment_id']}/{run['run_id']}/artifacts/a.txt"
    pieces = (b"line\n" * 100_000 for _ in range(100))
    assert server.client.put(path, content=pieces, headers={"Content-Length": "50000000"}).status_code == 200
    came = hashlib.sha256()
    query = {"path": "a.txt", "run_uuid": run["run_id"]}
    with server.client.stream("GET", f"{MLFLOW}get-artifact", params=query) as reply:
        for piece in reply.iter_raw():
            came.update(piece)
    assert came.hexdigest() == whole.hexdigest()
    assert reply.headers["Content-Security-Policy"].endswith("sandbox allow-scripts")


@pytest.mark.parametrize(
    "path",
    [
        "api/2.0/mlflow/experiments/search",
        "ajax-api/2.0/mlflow/runs/search",
        "ajax-api/2.0/mlflow/logged-models/search",
        "ajax-api/2.0/mlflow/experiments/search-datasets",
        "ajax-api/2.0/mlflow/registered-models/get-latest-versions",
        "ajax-api/3.0/mlflow/traces/search",
        "ajax-api/3.0/mlflow/traces/metrics",
        "ajax-api/3.0/mlflow/traces/batchGetInfos",
        "ajax-api/3.0/mlflow/traces/calculate-filter-correlation",
        "graphql",
    ],
)
def test_what_is_taken_for_reading_is_what_mlflow_has(server: LiveServer, path: str) -> None:
    assert only_asks("POST", f"/{path}")
    assert server.client.post(MLFLOW + path, json={}).status_code not in (404, 405)


def test_a_kernel_says_nothing_of_a_server_but_its_cards(server: LiveServer, tmp_path: Path) -> None:
    uri = f"{server.url}{MLFLOW}".rstrip("/")
    # Jupyter takes its token as MLflow's client sends its own.
    environ = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_TRACKING_TOKEN": TOKEN}
    with kernel(tmp_path, environ, "cccc-3333") as notebook:
        begun = notebook.run("%air_run outer\nimport mlflow; mlflow.log_metric('loss', 0.5)")
        cell = notebook.run("%%air_run inner --autolog sklearn\nwith mlflow.start_run(nested=True): pass")
        ended = notebook.run("%air_run --end")
        own = notebook.run("with mlflow.start_run(): pass")
    replies = (begun, cell, ended, own)
    # MLflow would print two lines for each run that ends.
    assert [(one.status, one.stdout, one.stderr) for one in replies] == [("ok", "", "")] * 4
    card = ended.cards[-1]
    record = card[MIME_TYPE]
    assert record["tracking"] == {"kind": "server", "base": uri} and record["metrics"] == {"loss": 0.5}
    assert record["page"] == f"{uri}/#/experiments/{record['experiment_id']}/runs/{record['run_id']}"
    assert "finished" in card["text/html"] and f'href="{record["page"]}"' in card["text/html"]
    assert TOKEN not in json.dumps([reply.cards for reply in replies])


def test_the_assistant_with_its_shell_is_not_offered(server: LiveServer) -> None:
    assert server.client.get(f"{MLFLOW}ajax-api/3.0/mlflow/assistant/config").status_code == 400


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "air"
    end_all(tmp_path / "air")


def test_the_embedded_mlflow_starts_when_somebody_looks(tmp_path: Path, home: Path) -> None:
    look = {"Sec-Fetch-Mode": "navigate"}
    with live_server(tmp_path, env={"JUPYTER_AIR_HOME": str(home)}) as server:

        def state() -> Any:
            return server.client.get("jupyter-air/tracking").json()

        assert state()["state"] == "stopped"
        page = server.client.get(MLFLOW, headers=look)
        assert page.status_code == 200 and 'role="status"' in page.text
        assert state()["state"] == "starting"
        wait_until(lambda: state()["state"] != "starting")
        assert state()["page"]["outside"] is False
        page = server.client.get(MLFLOW, headers=look)
        assert "<title>MLflow</title>" in page.text and 'role="status"' not in page.text
        found = post(server.client, "experiments/search", {"max_results": 10})
        assert [one["name"] for one in found["experiments"]] == ["Default"]
        assert not server.has_traceback
