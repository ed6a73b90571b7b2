from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path

import pytest

from jupyter_air.errors import InputError
from jupyter_air.runs.choice import tracking_server
from jupyter_air.runs.configured import ConfiguredServer, client_environment
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.upstream import Upstream


def _upstream(uri: str, environ: Mapping[str, str], credentials: Path = Path("/not/there")) -> Upstream:
    return asyncio.run(ConfiguredServer(uri, environ, credentials).ready())


def _basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


def test_the_address_has_no_credentials_and_the_header_has_them() -> None:
    server = ConfiguredServer("https://ada:p%40ss@mlflow.lab:5000/team/", {}, Path("/not/there"))
    upstream = asyncio.run(server.ready())
    assert upstream == Upstream("https://mlflow.lab:5000/team", None, _basic("ada:p@ss"))
    assert server.progress().state == "ready"
    assert "ada" not in server.progress().message and "https://mlflow.lab:5000/team" in server.progress().message


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": "pw"}, _basic("ada:pw")),
        ({"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_TOKEN": "t"}, "Bearer t"),
        (
            {"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": "pw", "MLFLOW_TRACKING_TOKEN": "t"},
            _basic("ada:pw"),
        ),
    ],
)
def test_credentials_of_the_environment(environ: dict[str, str], expected: str | None) -> None:
    assert _upstream("http://mlflow.lab", environ).authorization == expected


def test_credentials_of_mlflows_file(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[mlflow]\nmlflow_tracking_username = ada\nmlflow_tracking_password = 50%off\n")
    assert _upstream("http://mlflow.lab", {}, file).authorization == _basic("ada:50%off")
    environ = {"MLFLOW_TRACKING_PASSWORD": "env"}
    assert _upstream("http://mlflow.lab", environ, file).authorization == _basic("ada:env")
    file.write_text("no section")
    assert _upstream("http://mlflow.lab", {}, file).authorization is None


@pytest.mark.parametrize("uri", ["http://", "http://ada:s3cret@host:port", "http://[ada:s3cret@x"])
def test_a_bad_address_is_refused_without_repeating_it(uri: str) -> None:
    with pytest.raises(InputError) as raised:
        ConfiguredServer(uri, {})
    assert "s3cret" not in str(raised.value) + raised.value.hint


def test_a_client_gets_credentials_apart_from_the_uri() -> None:
    assert client_environment("https://ada:p%40ss@mlflow.lab:5000/team/") == {
        "MLFLOW_TRACKING_URI": "https://mlflow.lab:5000/team",
        "MLFLOW_TRACKING_USERNAME": "ada",
        "MLFLOW_TRACKING_PASSWORD": "p@ss",
    }
    assert client_environment("http://token@mlflow.lab") == {
        "MLFLOW_TRACKING_URI": "http://token@mlflow.lab",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }
    for uri in ("http://mlflow.lab:5000", "sqlite:///a.db", "databricks", "http://[x@y", "./mlruns"):
        assert client_environment(uri) == {"MLFLOW_TRACKING_URI": uri}


def test_which_server_a_uri_means(tmp_path: Path) -> None:
    def chosen(environ: str = "", configured: str = "") -> object:
        environ_ = {"MLFLOW_TRACKING_URI": environ} if environ else {}
        return tracking_server(environ_, configured, folder=tmp_path, home=tmp_path)

    def store_uri(server: object) -> str:
        assert isinstance(server, EmbeddedServer)
        return server.store.uri

    assert store_uri(chosen()) == f"sqlite:///{tmp_path}/tracking/mlflow.db"
    assert isinstance(chosen("http://a"), ConfiguredServer)
    assert isinstance(chosen("", "http://a"), ConfiguredServer)
    assert store_uri(chosen("sqlite:///mine.db", "http://a")) == f"sqlite:///{tmp_path}/mine.db"
    assert store_uri(chosen("file:///nb/mlruns")) == "file:///nb/mlruns"
    assert store_uri(chosen("./mlruns")) == f"file://{tmp_path}/mlruns"
    for uri in ("databricks", "databricks://team", "postgresql://u:p@db/x", "databricks-uc", "sqlite://", "uc"):
        assert chosen(uri) is None, uri
