"""Kernels and terminals of a real Jupyter server: where a plain ``mlflow.start_run()`` in them goes."""

from __future__ import annotations

import getpass
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_air.runs.store import Store, embedded_store, schema_revision
from tests.live_server import LiveServer, live_server
from tests.runs.mlflow_process import ENOUGH_S, wait_until

_PLAIN = "import mlflow\nwith mlflow.start_run() as run: mlflow.log_text('hello', 'a.txt')\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "own").mkdir()
    (folder / "own" / "mlflow.db").touch()
    with live_server(folder, env=_environment(folder)) as up:
        yield up


def _environment(folder: Path) -> dict[str, str]:
    assert "MLFLOW_TRACKING_URI" not in os.environ
    return {"JUPYTER_AIR_HOME": str(folder / "air"), "MLFLOW_DISABLE_TELEMETRY": "true"}


def _session(server: LiveServer, path: str) -> str:
    """Opens a notebook's kernel as JupyterLab does."""
    kernel = {"name": "python3"}
    body = {"path": path, "name": path.rpartition("/")[2], "type": "notebook", "kernel": kernel}
    reply = server.client.post("api/sessions", json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["kernel"]["id"])


def _run(server: LiveServer, kernel_id: str, code: str) -> str:
    """What code prints in a kernel."""
    client = BlockingKernelClient()
    client.load_connection_file(str(server.runtime_folder / f"kernel-{kernel_id}.json"))
    # Without a heartbeat: a kernel that is slow to come up has none yet, and counts as dead.
    client.start_channels(hb=False)
    printed: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["header"]["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    try:
        client.wait_for_ready(timeout=ENOUGH_S)
        reply = client.execute_interactive(code, output_hook=hear, timeout=ENOUGH_S)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
    return "".join(printed).strip()


def _runs(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        count: int = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        return count


def _embedded(server: LiveServer) -> tuple[Store, Path]:
    store = embedded_store(server.folder / "air")
    assert store.database is not None
    return store, store.database


def test_a_plain_run_goes_to_the_embedded_store_quietly(server: LiveServer) -> None:
    store, database = _embedded(server)
    (server.folder / "deep").mkdir()
    kernel_id = _session(server, "deep/train.ipynb")
    wait_until(lambda: schema_revision(database))
    assert _run(server, kernel_id, "import os; print(os.environ['MLFLOW_TRACKING_URI'])") == store.uri
    printed = _run(server, kernel_id, _PLAIN + "print(run.info.artifact_uri, run.data.tags['jupyter_air.kernel_id'])")
    assert printed.startswith(f"{store.artifact_root}/1/") and printed.endswith(kernel_id)
    with closing(sqlite3.connect(database)) as connection:
        (experiment,) = connection.execute("SELECT name FROM experiments WHERE experiment_id = 1").fetchone()
    assert experiment == f"/Users/{getpass.getuser()}/train", "the server's invented person is nobody"
    assert _runs(database) == 1
    assert list((server.folder / "deep").iterdir()) == [], "nothing is left beside the notebook"
    # Session-less kernels, such as those of extensions, and a kernel that is restarted.
    other = server.client.post("api/kernels", json={"name": "python3"}).json()["id"]
    assert server.client.post(f"api/kernels/{other}/restart").status_code == 200
    assert _run(server, other, _PLAIN + "print(run.info.status)") == "RUNNING"
    assert _runs(database) == 2


def test_a_card_links_to_the_pages_that_the_server_shows(server: LiveServer) -> None:
    store, _ = _embedded(server)
    code = "import os; print(*(os.environ.get(f'JUPYTER_AIR_MLFLOW_{name}') for name in ('BASE', 'STORE')))"
    assert _run(server, _session(server, "a.ipynb"), code) == f"/user/ada@lab/jupyter-air/mlflow {store.uri}"
    own = f"/user/ada@lab/jupyter-air/mlflow-beside/L293bg sqlite:///{server.folder}/own/mlflow.db"
    assert _run(server, _session(server, "own/a.ipynb"), code) == own, "its pages are of another store"
    # No %load_ext: the magic is there.
    assert _run(server, _session(server, "b.ipynb"), "%air_run --status") == "No run is active in this kernel."


def test_a_store_beside_the_notebook_is_used_instead(server: LiveServer) -> None:
    own = server.folder / "own"
    kernel_id = _session(server, "own/train.ipynb")
    assert _run(server, kernel_id, "import os; print(os.environ.get('MLFLOW_TRACKING_URI'))") == "None"
    _run(server, kernel_id, _PLAIN)
    assert _runs(own / "mlflow.db") == 1 and (own / "mlruns" / "0").is_dir()
    # A rename gives a kernel the server's environment anew: it still must have no URI after a restart.
    (session,) = [one for one in server.client.get("api/sessions").json() if one["kernel"]["id"] == kernel_id]
    renamed = {"path": "own/other.ipynb", "name": "other.ipynb"}
    assert server.client.patch(f"api/sessions/{session['id']}", json=renamed).status_code == 200
    assert server.client.post(f"api/kernels/{kernel_id}/restart").status_code == 200
    assert _run(server, kernel_id, "import os; print(os.environ.get('MLFLOW_TRACKING_URI'))") == "None"


def test_terminals_too_and_the_server_itself_stays_as_it_was(server: LiveServer) -> None:
    store, _ = _embedded(server)
    before = {process.pid for process in psutil.Process(server.process.pid).children()}
    for folder in (".", "own"):
        assert server.client.post("api/terminals", json={"cwd": str(server.folder / folder)}).status_code == 200
    parent = psutil.Process(server.process.pid)
    shells = {shell.cwd(): shell.environ() for shell in parent.children() if shell.pid not in before}
    assert shells[str(server.folder)]["MLFLOW_TRACKING_URI"] == store.uri
    assert "MLFLOW_TRACKING_URI" not in shells[str(server.folder / "own")]
    # NumPy is the first of what MLflow loads.
    assert not [area.path for area in parent.memory_maps() if "/numpy/" in area.path]


@pytest.mark.parametrize(
    ("uri", "given"),
    [
        ("http://ada:s3cret@mlflow.lab:5000", "http://mlflow.lab:5000 ada s3cret"),
        ("sqlite:///mine.db", "sqlite:///{folder}/mine.db None None"),
    ],
)
def test_a_uri_of_the_configuration_is_for_all_kernels_and_not_for_the_log(
    tmp_path: Path, uri: str, given: str
) -> None:
    config = tmp_path / "config_dir"
    config.mkdir()
    (config / "jupyter_server_config.json").write_text(json.dumps({"JupyterAir": {"tracking_uri": uri}}))
    (tmp_path / "mlflow.db").touch()
    with live_server(tmp_path, env=_environment(tmp_path)) as server:
        kernel_id = _session(server, "train.ipynb")
        names = [f"MLFLOW_TRACKING_{name}" for name in ("URI", "USERNAME", "PASSWORD")]
        printed = _run(server, kernel_id, f"import os; print(*map(os.environ.get, {names}))")
        assert printed == given.format(folder=tmp_path)
        assert "s3cret" not in server.log
    assert not (tmp_path / "air").exists()


@pytest.mark.parametrize(
    ("args", "env", "expected"),
    [
        (("--JupyterAir.embedded_tracking=False",), {}, "None"),
        ((), {"MLFLOW_TRACKING_URI": "http://ada:s3cret@set.lab"}, "http://set.lab"),
        ((), {"JUPYTER_AIR_HOME": "/proc/air"}, "None"),
    ],
)
def test_kernels_without_the_embedded_store(
    tmp_path: Path, args: tuple[str, ...], env: dict[str, str], expected: str
) -> None:
    with live_server(tmp_path, *args, env={**_environment(tmp_path), **env}) as server:
        kernel_id = _session(server, "train.ipynb")
        code = "import os; print(os.environ.get('MLFLOW_TRACKING_URI'))"
        assert _run(server, kernel_id, code) == expected
        assert ("do not log to Jupyter AIR's embedded MLflow store: " in server.log) is ("JUPYTER_AIR_HOME" in env)
    assert not (tmp_path / "air").exists()


@pytest.mark.parametrize(("environ", "user"), [({}, "grace"), ({"WORKSPACE_USER": "hopper"}, "hopper")])
def test_the_person_whom_the_server_knows_owns_the_experiment(
    tmp_path: Path, environ: dict[str, str], user: str
) -> None:
    (tmp_path / "known.py").write_text(
        "from jupyter_server.auth.identity import IdentityProvider, User\n"
        "class Known(IdentityProvider):\n"
        "    async def get_user(self, handler):\n"
        "        return User(username='grace', name='Grace') if await super().get_user(handler) else None\n"
    )
    args = ("--ServerApp.identity_provider_class=known.Known",)
    env = {**_environment(tmp_path), "PYTHONPATH": str(tmp_path), **environ}
    with live_server(tmp_path, *args, env=env) as server:
        kernel_id = _session(server, "train.ipynb")
        code = (
            "import os; from jupyter_air.runs.context import of_this_process; from jupyter_air.runs import notebook\n"
            "print(notebook.default_experiment(of_this_process(get_ipython()), notebook.user(os.environ)))"
        )
        assert _run(server, kernel_id, code) == f"/Users/{user}/train"
        for asked in ({"kernel": kernel_id}, {"path": "train.ipynb"}):
            told = server.client.get("jupyter-air/runs/context", params=asked).json()
            assert told["experiment"] == f"/Users/{user}/train"
