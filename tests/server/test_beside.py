"""Stores beside notebooks on a real server: which are shown, at which address, and what looking leaves of them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_air.errors import MissingError
from jupyter_air.server.beside import TrackingServers, key_of, path_of
from jupyter_air.server.tracking import Tracking
from tests.live_kernel import live_kernel
from tests.live_server import BASE_URL, LiveServer, live_server
from tests.runs.mlflow_process import end_all, mlflow, wait_until
from tests.server.test_gpu_routes import check
from tests.server.test_runs import context
from tests.server.tracked_server import logged_in

pytestmark = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")

#: What a person asks for who opens an address.
LOOK = {"Sec-Fetch-Mode": "navigate"}
_LOG = (
    "import mlflow\nmlflow.set_experiment('speech')\n"
    "with mlflow.start_run(run_name='conformer') as run:\n"
    "    mlflow.log_metric('loss', 1); mlflow.log_text('<p>', 'a.html')\n"
    "print(run.info.run_id)"
)
_FOLDERS = {"database": "", "files": "old work/älter"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with a database, a folder in it with a store of plain files; the run of each."""
    root = tmp_path_factory.mktemp("beside")
    allowed = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": "./mlruns"}
    runs = {}
    for kind, folder in _FOLDERS.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        runs[kind] = mlflow(_LOG, root / folder, allowed if kind == "files" else {})
    for empty in ("none", "empty", ".hidden"):
        (root / empty).mkdir()
    (root / "empty" / "mlflow.db").touch()
    shutil.copy(root / "mlflow.db", root / ".hidden")
    return root, runs


@pytest.fixture(scope="module")
def server(stores: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    home = tmp_path_factory.mktemp("home")
    with live_server(stores[0], env={"JUPYTER_AIR_HOME": str(home)}) as up:
        yield up
        assert not up.has_traceback
    end_all(home)


def tracking(server: LiveServer, key: str) -> dict[str, Any]:
    answer: dict[str, Any] = server.client.get("jupyter-air/tracking", params={"beside": key}).json()
    check(answer, "Tracking")
    return answer


def _contents(root: Path) -> dict[str, bytes]:
    """Of all files of both stores."""
    places = [root / "mlflow.db", *(root / "mlruns").rglob("*"), *(root / "old work").rglob("*")]
    return {str(path): path.read_bytes() for path in places if path.is_file()}


@pytest.mark.parametrize("kind", ["database", "files"])
def test_it_is_served_as_the_main_one_and_left_as_it_is(
    server: LiveServer, stores: tuple[Path, dict[str, str]], kind: str
) -> None:
    (root, runs), folder = stores, _FOLDERS[kind]
    before = _contents(root)
    key = key_of(folder)
    address = f"{BASE_URL}jupyter-air/mlflow-beside/{key}/"
    told = context(server, path=f"{folder}/train.ipynb")
    assert (told["kind"], told["rest"], told["pages"]) == ("store", address, address)
    assert ("MLFLOW_ALLOW_FILE_STORE=true" in told["message"]) is (kind == "files")
    assert tracking(server, key)["state"] == "stopped", "to look starts nothing"
    page = server.client.get(address.removeprefix(BASE_URL), headers=LOOK)
    assert page.status_code == 200 and f'data-asks="{BASE_URL}jupyter-air/tracking?beside={key}"' in page.text
    assert ("logs no new runs to the file store" in page.text) is (kind == "files")
    server.client.post("jupyter-air/tracking/start", params={"beside": key}).raise_for_status()
    wait_until(lambda: tracking(server, key)["state"] == "ready")
    state = tracking(server, key)
    assert state["page"] == {"url": address, "outside": False}
    assert ("MLFLOW_ALLOW_FILE_STORE=true" in state["note"]) is (kind == "files")
    assert server.client.get("jupyter-air/tracking").json()["state"] == "stopped", "the main one is another"

    at = address.removeprefix(BASE_URL)
    with logged_in(server) as browser:
        slash = browser.get(at.removesuffix("/"), follow_redirects=False)
        assert str(slash.url.join(slash.headers["Location"])).endswith(address)
        page = browser.get(at, headers=LOOK)
        assert "<title>MLflow</title>" in page.text and "sandbox" not in page.headers["Content-Security-Policy"]
        found = browser.get(f"{at}api/2.0/mlflow/runs/get", params={"run_id": runs[kind]})
        assert found.json()["run"]["info"]["run_name"] == "conformer"
        artifact = browser.get(f"{at}get-artifact", params={"path": "a.html", "run_uuid": runs[kind]})
        assert artifact.text == "<p>" and artifact.headers["Content-Security-Policy"].endswith("sandbox allow-scripts")
        tag = {"run_id": runs[kind], "key": "k", "value": "v"}
        for site in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.lab"}, {}):
            assert browser.post(f"{at}api/2.0/mlflow/runs/set-tag", json=tag, headers=site).status_code == 403
        browser.cookies.clear()
        assert browser.get(f"{at}api/2.0/mlflow/runs/get").status_code == 403
    assert _contents(root) == before


@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        (key_of("none"), 404, "The folder 'none' has no MLflow store"),
        (key_of("empty"), 404, "The folder 'empty' has no MLflow store"),
        (key_of("no such"), 404, "The folder 'no such' is none that this Jupyter server shows."),
        (key_of(".hidden"), 404, "The folder '.hidden' is none that this Jupyter server shows."),
        (key_of(".."), 400, "This address of MLflow names no folder."),
        (key_of("none/../.."), 400, "This address of MLflow names no folder."),
        (key_of("/etc"), 400, "This address of MLflow names no folder."),
        (key_of("none\0"), 400, "This address of MLflow names no folder."),
        (key_of("none") + "=", 400, "This address of MLflow names no folder."),
        ("https:evil.lab", 400, "This address of MLflow names no folder."),
        ("%2e%2e", 400, "This address of MLflow names no folder."),
        ("L" * 20_000, 400, "This address of MLflow names no folder."),
    ],
)
def test_what_is_none_is_told_in_a_sentence(
    server: LiveServer, stores: tuple[Path, dict[str, str]], key: str, status: int, words: str
) -> None:
    page = server.client.get(f"jupyter-air/mlflow-beside/{key}/", headers=LOOK)
    assert page.status_code == status and words.replace("'", "&#x27;") in page.text
    for reply in (
        server.client.post(f"jupyter-air/mlflow-beside/{key}/api/2.0/mlflow/runs/search", json={}),
        server.client.get(f"jupyter-air/tracking?beside={key}"),
        server.client.post(f"jupyter-air/tracking/start?beside={key}"),
    ):
        check(reply.json(), "Error")
        assert reply.status_code == status and words in reply.json()["message"]
    assert (stores[0] / "empty" / "mlflow.db").stat().st_size == 0
    slash = server.client.get(f"jupyter-air/mlflow-beside/{key}", follow_redirects=False)
    assert slash.headers["Location"].startswith("./")


def test_an_address_outlasts_the_server_and_passes_proxies() -> None:
    # Saved notebooks have them.
    assert (key_of(""), key_of("own"), key_of("a b/ü?%")) == ("Lw", "L293bg", "L2EgYi_DvD8l")
    for path in ("", "own", "a b/ü?%", "deep/er"):
        assert path_of(key_of(path)) == path


def test_a_store_that_the_first_run_makes_is_linked_from_its_card(tmp_path: Path) -> None:
    env = {"JUPYTER_AIR_HOME": str(tmp_path / "air"), "MLFLOW_DISABLE_TELEMETRY": "true"}
    args = "--JupyterAir.embedded_tracking=False"
    with live_server(tmp_path, args, env=env) as server, live_kernel(server, "train.ipynb") as kernel:
        told = context(server, kernel=kernel.ident)
        assert told["rest"] is None and told["message"].startswith("The first run makes the store sqlite:///")
        kernel.run("%%air_run first\nimport mlflow; mlflow.log_metric('loss', 1)")
        told = context(server, kernel=kernel.ident)
        assert told["rest"] == f"{BASE_URL}jupyter-air/mlflow-beside/Lw/"
        code = (
            "from jupyter_air.runs.seen import see; import os\n"
            "run = mlflow.search_runs(search_all_experiments=True, output_format='list')[0]\n"
            "print(see(mlflow.get_tracking_uri(), run.info.run_id, None, os.environ).page)"
        )
        assert kernel.run(code).startswith(f"{BASE_URL}jupyter-air/mlflow-beside/Lw/#/experiments/1/runs/")


def test_a_few_are_open_at_a_time(stores: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(10):
        (root / str(number)).mkdir(parents=True)
        shutil.copy(stores[0] / "mlflow.db", root / str(number))
    (root / "out").symlink_to(stores[0] / _FOLDERS["files"])
    app = ServerApp(root_dir=str(root))
    app.contents_manager = AsyncLargeFileManager(parent=app)
    servers = TrackingServers(app, Tracking(None), idle_s=60)
    keys = [key_of(str(number)) for number in range(10)]

    async def look() -> None:
        first = await servers.at(keys[0])
        assert await servers.at(keys[0]) is first
        last = [await servers.at(key) for key in keys[1:]][-1]
        assert await servers.at(keys[9]) is last
        assert await servers.at(keys[0]) is not first, "it was unused for the longest"
        # The same address, another store: its runs were moved, as MLflow asks for.
        shutil.copytree(stores[0] / _FOLDERS["files"] / "mlruns", root / "9" / "mlruns")
        assert (await servers.at(keys[9])).leads_to(f"{(root / '9' / 'mlruns').as_uri()}")
        # A link out of the folder is followed, as Jupyter does for files.
        assert (await servers.at(key_of("out"))).leads_to(f"{(stores[0] / _FOLDERS['files']).as_uri()}/mlruns")
        shutil.rmtree(root / "0")
        with pytest.raises(MissingError):
            await servers.at(keys[0])
        await servers.close()

    asyncio.run(look())
    assert servers.key_of_folder(root / "out") == key_of("out")
    assert servers.key_of_folder(stores[0]) is None and servers.key_of_folder(root / ".ssh") is None
    assert servers.key_of_folder(root / "\udcff") is None, "no address can name it"
