"""Where a notebook's runs are, as a real server tells it of real kernels; what is not known is not guessed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.live_kernel import live_kernel
from tests.live_server import BASE_URL, TOKEN, LiveServer, live_server
from tests.runs.mlflow_process import daemons, end_all, wait_until
from tests.server.test_gpu_routes import WIRE, check
from tests.server.tracked_server import logged_in

pytestmark = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")

MLFLOW = f"{BASE_URL}jupyter-air/mlflow/"
SECRET = "http://ada:s3cret@mlflow.lab:5000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("runs")
    (folder / ".hidden").mkdir()
    (folder / "deep").mkdir()
    kernel = folder / "data_dir" / "kernels" / "elsewhere"
    kernel.mkdir(parents=True)
    argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    env = {"MLFLOW_TRACKING_URI": SECRET, "WORKSPACE_USER": "hopper"}
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Elsewhere", "env": env}))
    with live_server(folder, env={"JUPYTER_AIR_HOME": str(folder / "air"), "WORKSPACE_USER": "ada"}) as up:
        yield up
        assert "s3cret" not in up.log
    end_all(folder / "air")


def context(server: LiveServer, **asked: str) -> dict[str, Any]:
    reply = server.client.get("jupyter-air/runs/context", params=asked)
    assert reply.status_code == 200, reply.text
    assert "s3cret" not in reply.text
    answer: dict[str, Any] = reply.json()
    check(answer, "RunsContext")
    assert answer["message"] != "" or answer["rest"] is not None
    return answer


def test_a_notebook_without_a_kernel_is_told_what_one_would_be_given(server: LiveServer) -> None:
    before = server.client.get("api/status").json()["last_activity"]
    answer = context(server, path="deep/llm finetune.ipynb")
    shown = json.loads((WIRE / "runs-context.json").read_text())
    assert answer == shown | {
        "notebook": str(server.folder / "deep" / "llm finetune.ipynb"),
        "experiment": "/Users/ada/llm finetune",
        "tracking_uri": f"sqlite:///{server.folder}/air/tracking/mlflow.db",
    }
    assert not (server.folder / "air").exists(), "to look makes nothing"
    assert server.client.get("api/status").json()["last_activity"] == before
    check(shown, "RunsContext")


def test_a_kernel_is_told_what_it_was_given(server: LiveServer) -> None:
    with live_kernel(server, "deep/train.ipynb") as kernel:
        # What is so now counts for new kernels alone.
        (server.folder / "deep" / "mlflow.db").touch()
        kernel.run("import os; os.chdir('/'); os.environ['MLFLOW_TRACKING_URI'] = 'http://later'")
        answer = context(server, kernel=kernel.ident)
        assert (answer["kind"], answer["rest"], answer["pages"]) == ("embedded", MLFLOW, MLFLOW)
        code = "from jupyter_air.runs.context import NotebookContext as C; print(C().tags()['jupyter_air.notebook'])"
        assert answer["notebook"] == kernel.run(code)
        renamed = context(server, kernel=kernel.ident, path="tune.ipynb")
        assert renamed == answer | {"notebook": f"{server.folder}/tune.ipynb", "experiment": "/Users/ada/tune"}
        new = context(server, path="deep/train.ipynb")
        assert (new["kind"], new["tracking_uri"]) == ("store", f"sqlite:///{server.folder}/deep/mlflow.db")
        assert daemons(server.folder / "air") == []
        assert server.client.post(f"api/kernels/{kernel.ident}/restart").status_code == 200
        wait_until(lambda: server.client.get(f"api/kernels/{kernel.ident}").json()["execution_state"] == "idle")
        assert context(server, kernel=kernel.ident) == answer


def test_a_kernels_specification_has_the_last_word(server: LiveServer) -> None:
    started = server.client.post("api/kernels", json={"name": "elsewhere", "path": "deep"}).json()["id"]
    answer = context(server, kernel=started, path="deep/a.ipynb")
    assert (answer["kind"], answer["tracking_uri"]) == ("server", "http://mlflow.lab:5000")
    assert (answer["rest"], answer["pages"]) == (None, "http://mlflow.lab:5000/")
    assert answer["experiment"] == "/Users/hopper/a" and "JupyterAir.tracking_uri" in answer["message"]
    server.client.delete(f"api/kernels/{started}")
    assert server.client.get("jupyter-air/runs/context", params={"kernel": started}).status_code == 404


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"kernel": "100%"}, 404, "has no kernel '100%'."),
        ({"path": "../../etc/a.ipynb"}, 400, "is no file that this Jupyter server shows."),
        ({"path": "/"}, 400, "is no file that this Jupyter server shows."),
        ({"path": ".hidden/a.ipynb"}, 400, "is no file that this Jupyter server shows."),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(
    server: LiveServer, asked: dict[str, str], status: int, words: str
) -> None:
    reply = server.client.get("jupyter-air/runs/context", params=asked)
    check(reply.json(), "Error")
    assert reply.status_code == status and words in reply.json()["message"]
    with logged_in(server) as browser:
        browser.cookies.clear()
        assert browser.get("jupyter-air/runs/context", params=asked).status_code == 403


@pytest.mark.parametrize(
    ("env", "args", "expected"),
    [
        (SECRET.replace("mlflow.lab", "127.0.0.1"), (), ("server", "http://127.0.0.1:5000", MLFLOW, MLFLOW)),
        (SECRET, (), ("server", "http://mlflow.lab:5000", MLFLOW, "http://mlflow.lab:5000/")),
        ("", ("--JupyterAir.embedded_tracking=False",), ("store", "sqlite:///{folder}/mlflow.db", None, None)),
        ("http://:1", (), ("none", None, None, None)),
    ],
)
def test_wherever_the_server_says_that_runs_go(
    tmp_path: Path, env: str, args: tuple[str, ...], expected: tuple[str | None, ...]
) -> None:
    environ = {"MLFLOW_TRACKING_URI": env, "JUPYTER_AIR_HOME": str(tmp_path / "air"), "DATABRICKS_HOST": "dbc.lab"}
    with live_server(tmp_path, *args, env=environ) as server:
        answer = context(server, path="a.ipynb")
        assert "s3cret" not in server.log
        anywhere = context(server)
    for one in (answer, anywhere):
        told = tuple(one[name] for name in ("kind", "tracking_uri", "rest", "pages"))
        assert told == tuple(part and part.format(folder=tmp_path) for part in expected)
    assert anywhere["notebook"] is None
    assert not (tmp_path / "air").exists()


def test_a_kernel_behind_a_gateway_is_not_guessed_at(server: LiveServer, tmp_path: Path) -> None:
    gateway = (f"--GatewayClient.url={server.url}", f"--GatewayClient.auth_token={TOKEN}")
    with live_server(tmp_path, *gateway) as other, live_kernel(server, "far.ipynb", through=other) as kernel:
        for asked in ({"kernel": kernel.ident}, {"kernel": kernel.ident, "path": "far.ipynb"}, {"path": "far.ipynb"}):
            answer = context(other, **asked)
            told = [answer[name] for name in ("kind", "tracking_uri", "rest", "pages")]
            assert told == ["none", None, None, None]
            assert "does not see its environment" in answer["message"]
            assert answer["notebook"] == (f"{tmp_path}/far.ipynb" if "path" in asked else None)
