"""Requests sent on to a tracking server: what of them goes there, what of the answer comes back."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import httpx

from jupyter_air.errors import InputError, UnavailableError
from jupyter_air.runs.upstream import Upstream

#: Everything else stays here: cookies, tokens and whatever a login in front of Jupyter adds.
_SENT = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "cache-control", "content-encoding", "content-type"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "range"),
        *("traceparent", "user-agent"),
    )
)
#: Nothing else may speak for Jupyter's address: no cookie, no policy, no permission.
_RETURNED = frozenset(
    (
        *("accept-ranges", "allow", "cache-control", "content-disposition", "content-encoding", "content-length"),
        *("content-range", "content-type", "etag", "expires", "last-modified", "retry-after", "vary"),
    )
)
_OWN_PREFIX = "x-mlflow-"

#: MLflow's REST asks by POST too; these change nothing.
_ASKING = re.compile(
    r"/(?:ajax-)?api/\d\.\d/mlflow/(?:[\w-]+/)*"
    r"(?:search|search-datasets|get-latest-versions|batchGetInfos|calculate-filter-correlation"
    r"|presigned-download-url)"
    r"|/(?:ajax-)?api/3\.0/mlflow/traces/metrics"
    r"|(?:/ajax-api/\d\.\d/mlflow)?/graphql"
)
#: MLflow lets only local callers use it, since it has a shell; what comes through a proxy only looks local.
_LOCAL_ONLY = re.compile(r"/ajax-api/\d\.\d/mlflow/assistant(?:/|$)", re.IGNORECASE)

SentHeaders = list[tuple[bytes, bytes]]


class Target(NamedTuple):
    """What is asked for below the base URL of a tracking server.

    Attributes:
        path: as it was sent, so still quoted; begins with a slash.
        query: as it was sent, without the question mark.
    """

    path: str
    query: str = ""

    def check(self) -> None:
        """
        Raises:
            InputError: it leads out of the server's own paths, or to what only local callers may use.
        """
        plain = self.path
        # Twice: what we would pass on quoted, the next one may unquote again.
        for _ in range(2):
            plain = unquote(plain)
        if any(part in (".", "..") for part in re.split(r"[/\\]", plain)) or "\0" in plain:
            raise InputError("The path of a request to MLflow may not have . or .. in it.")
        if _LOCAL_ONLY.search(plain):
            raise InputError(
                "MLflow's assistant can run programs, so it is not offered through Jupyter.",
                "Open MLflow on the machine it runs on.",
            )


def only_asks(method: str, path: str) -> bool:
    """Whether a request reads and changes nothing."""
    return method in ("GET", "HEAD", "OPTIONS") or (method == "POST" and _ASKING.fullmatch(path) is not None)


def is_own_page(path: str) -> bool:
    """Whether MLflow's program answers there, rather than data that somebody logged."""
    return path == "/" or path.startswith("/static-files/")


def is_on_this_machine(upstream: Upstream) -> bool:
    """Whether only this machine reaches it."""
    if upstream.socket is not None:
        return True
    host = urlsplit(upstream.url).hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def sent_headers(headers: Iterable[tuple[str, str]], upstream: Upstream, body_bytes: str | None) -> SentHeaders:
    """What a tracking server gets to see of a request's headers.

    Args:
        headers: of the request, a character a byte.
        upstream: whose authorization is added.
        body_bytes: ``Content-Length`` of the body, or ``None``.
    """
    sent = [(name, value) for name, value in headers if _is_among(name, _SENT)]
    if body_bytes is not None:
        sent.append(("Content-Length", body_bytes))
    if upstream.authorization is not None:
        sent.append(("Authorization", upstream.authorization))
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent]


def returned_headers(response: httpx.Response, upstream: Upstream, prefix: str) -> list[tuple[str, str]]:
    """What comes back of an answer's headers.

    Args:
        response: of the tracking server.
        upstream: which one it was.
        prefix: path of the proxy, with a slash at its end.

    Returns:
        A character a byte.

    Raises:
        UnavailableError: it redirects to somewhere else.
    """
    came = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw]
    returned = [(name, value) for name, value in came if _is_among(name, _RETURNED)]
    if response.has_redirect_location:
        returned.append(("location", _location(response, upstream, prefix)))
    # A cache between the browser and Jupyter knows nothing of who may see this.
    return [
        (name, value.replace("public", "private") if name == "cache-control" else value) for name, value in returned
    ]


def _is_among(name: str, names: frozenset[str]) -> bool:
    return name.lower() in names or name.lower().startswith(_OWN_PREFIX)


def _location(response: httpx.Response, upstream: Upstream, prefix: str) -> str:
    below = upstream.url.rstrip("/") + "/"
    with contextlib.suppress(ValueError):
        to = urljoin(str(response.url), response.headers["location"])
        if to.startswith(below):
            return prefix + to[len(below) :]
    raise UnavailableError(
        f"The tracking server at {upstream.url} sends the request elsewhere, which is not followed.",
        "Give its final address in MLFLOW_TRACKING_URI.",
    )
