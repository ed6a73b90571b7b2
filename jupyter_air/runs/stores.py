"""Which way a companion speaks to a tracking URI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jupyter_air.runs.client_store import ClientStore
from jupyter_air.runs.configured import ConfiguredServer
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.rest_store import RestStore
from jupyter_air.runs.run_store import RunStore
from jupyter_air.runs.store import embedded_store, store_of_uri

#: Ways to prove who one is that only MLflow's client knows.
_OF_THE_CLIENT = ("MLFLOW_TRACKING_AUTH", "MLFLOW_TRACKING_AWS_SIGV4", "MLFLOW_TRACKING_CLIENT_CERT_PATH")


def run_store(uri: str, environ: Mapping[str, str]) -> RunStore:
    """The runs of a tracking URI.

    Args:
        uri: absolute, with credentials where it has some.
        environ: for MLflow's other settings.

    Raises:
        InputError: the URI names no server.
    """
    if uri.startswith(("http://", "https://")):
        if any(environ.get(name) for name in _OF_THE_CLIENT):
            return ClientStore(uri)
        return RestStore(ConfiguredServer(uri, environ), environ)
    embedded = embedded_store()
    if uri == embedded.uri:
        return RestStore(EmbeddedServer(embedded), environ)
    store = store_of_uri(uri, Path("/"))
    if store is None:
        return ClientStore(uri)
    beside = store if store.database is None else store._replace(artifact_root=store.folder / "mlruns")
    return RestStore(EmbeddedServer(beside), environ)
