"""Which tracking server a tracking URI means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jupyter_air.runs.configured import TRACKING_URI, ConfiguredServer
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import embedded_store, store_of_uri
from jupyter_air.runs.upstream import TrackingServer


def tracking_server(
    environ: Mapping[str, str], uri: str = "", *, folder: Path, home: Path | None = None, idle_s: float = 900.0
) -> TrackingServer | None:
    """The server of the URI that the environment has, else of the one given, else the embedded one.

    Args:
        environ: for ``MLFLOW_TRACKING_URI`` and credentials.
        uri: from the configuration; empty for none.
        folder: that a relative path in the URI starts from.
        home: for state; ``paths.home()`` unless given.
        idle_s: without use, after which a server of ours ends.

    Returns:
        ``None`` for a URI that nothing can be proxied to (Databricks, a database server): there are links, or none.

    Raises:
        InputError: the URI names no server; the message does not repeat it.
    """
    uri = environ.get(TRACKING_URI, "") or uri
    if not uri:
        return EmbeddedServer(embedded_store(home), home, idle_s=idle_s)
    if uri.startswith(("http://", "https://")):
        return ConfiguredServer(uri, environ)
    store = store_of_uri(uri, folder)
    return None if store is None else EmbeddedServer(store, home, idle_s=idle_s)
