"""A tracking server that somebody else runs: used as it is, its credentials kept to the header."""

from __future__ import annotations

import base64
import configparser
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from jupyter_air.errors import InputError
from jupyter_air.runs.upstream import Progress, Upstream

TRACKING_URI = "MLFLOW_TRACKING_URI"

_CREDENTIALS = Path("~/.mlflow/credentials")
_IN_A_URI = re.compile(r"(\w[\w+.-]*://)[^/@\s]*@")


class ConfiguredServer:
    """A server that an ``http:`` or ``https:`` URI names.

    Args:
        uri: may have ``user:password@`` in it.
        environ: for ``MLFLOW_TRACKING_USERNAME``, ``..._PASSWORD`` and ``..._TOKEN``.
        credentials: the file where MLflow keeps a name and a password.

    Raises:
        InputError: the URI is none; the message does not repeat it.
    """

    def __init__(self, uri: str, environ: Mapping[str, str], credentials: Path = _CREDENTIALS) -> None:
        self.uri = without_credentials(uri)
        self._upstream = Upstream(self.uri, None, _authorization(uri, environ, credentials.expanduser()))

    def progress(self) -> Progress:
        """Ready, as far as is known: it is not ours to start."""
        return Progress("ready", f"Runs go to {self.uri}.")

    async def ready(self) -> Upstream:
        """Where it answers, if it does."""
        return self._upstream

    def used(self) -> None:
        """It does not stop for lack of use."""


def without_credentials(uri: str) -> str:
    """``scheme://host[:port][/path]`` of a tracking URI, without a slash at its end.

    Raises:
        InputError: it has no host or a port that is no number; the message does not repeat it.
    """
    try:
        parts = urlsplit(uri.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise InputError(
            "The MLflow tracking URI is no address of a server.", "It should look like http://mlflow.lab:5000."
        )
    place = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, place if port is None else f"{place}:{port}", parts.path.rstrip("/"), "", ""))


def masked(text: str) -> str:
    """A text without the credentials of any URI in it."""
    return _IN_A_URI.sub(r"\1", text)


def client_environment(uri: str) -> dict[str, str]:
    """The environment in which MLflow's client uses a tracking URI, with its credentials apart from it.

    The client prints its URI into the notebook when a run ends, and shows it in errors.
    """
    try:
        parts = urlsplit(uri.strip())
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if parts.scheme not in ("http", "https") or not (user or password):
            return {TRACKING_URI: uri}
        clean = without_credentials(uri)
    except (ValueError, InputError):
        return {TRACKING_URI: uri}
    if not (user and password):
        # Half a pair has no variables of its own; at least it is not printed.
        return {TRACKING_URI: uri, "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
    return {TRACKING_URI: clean, "MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password}


def _authorization(uri: str, environ: Mapping[str, str], credentials: Path) -> str | None:
    # In MLflow's own order: the URI's, which its HTTP library prefers; name and password, each from the environment or
    # the file; a token.
    parts = urlsplit(uri.strip())
    if parts.username is not None:
        return _basic(unquote(parts.username), unquote(parts.password or ""))
    stored = _stored(credentials)
    user = environ.get("MLFLOW_TRACKING_USERNAME") or stored.get("mlflow_tracking_username")
    password = environ.get("MLFLOW_TRACKING_PASSWORD") or stored.get("mlflow_tracking_password")
    if user and password:
        return _basic(user, password)
    token = environ.get("MLFLOW_TRACKING_TOKEN")
    return f"Bearer {token}" if token else None


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _stored(credentials: Path) -> Mapping[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(credentials, encoding="utf-8")
        return parser["mlflow"]
    except (OSError, UnicodeDecodeError, KeyError, configparser.Error):
        return {}
