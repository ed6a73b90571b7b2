"""What a tracking URI leads to: its kind, how it is shown, and where a browser finds its pages. Loads no MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from jupyter_air.errors import InputError
from jupyter_air.runs import links
from jupyter_air.runs.configured import without_credentials
from jupyter_air.runs.links import PAGES_VARIABLE, STORE_VARIABLE
from jupyter_air.runs.store import embedded_store, store_of_uri

Kind = Literal["embedded", "store", "server", "databricks"]

#: MLflow's own answer to a server that browsers see under another name.
PUBLIC_VARIABLE = "MLFLOW_NOTEBOOK_TRACE_RENDERER_BASE_URL"


def kind_of(uri: str) -> Kind:
    """The kind of an absolute tracking URI; ``store`` is any other on disk, or a database."""
    if uri.startswith(("http://", "https://")):
        return "server"
    if uri == "databricks" or uri.startswith("databricks://"):
        return "databricks"
    return "embedded" if uri == embedded_store().uri else "store"


def absolute(uri: str, folder: Path) -> str:
    """A tracking URI that means the same everywhere, without credentials; two of one place are equal.

    Args:
        uri: as a person or a configuration gives it.
        folder: that a relative path in it starts from.

    Raises:
        InputError: it names no server; the message does not repeat it.
    """
    if kind_of(uri) == "server":
        return without_credentials(uri)
    store = store_of_uri(uri, folder)
    if store is not None:
        return store.uri
    scheme, mark, rest = uri.partition("://")
    # A password may have any of /, @ and ? in it, and the query may have a password.
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def pages(uri: str, environ: Mapping[str, str]) -> str | None:
    """Where a browser finds the pages of a tracking URI: absolute or root-relative, without credentials.

    Args:
        uri: of the run.
        environ: of the kernel.
    """
    kind = kind_of(uri)
    if kind == "databricks":
        return links.databricks_host(uri, environ)
    with suppress(InputError):
        if kind == "server":
            return without_credentials(environ.get(PUBLIC_VARIABLE) or uri)
    # The pages of another store than the kernel's would say that there is no such run.
    return environ.get(PAGES_VARIABLE) or None if uri == environ.get(STORE_VARIABLE) else None
