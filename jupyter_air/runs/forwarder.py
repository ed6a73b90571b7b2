"""The connections to a tracking server, and what goes wrong on them."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterable, Mapping
from urllib.parse import quote

import httpx

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.forwarding import SentHeaders, Target, is_on_this_machine
from jupyter_air.runs.upstream import Upstream

_CONNECT_S = 5.0
#: MLflow may take long before it answers: it copies a large upload to where artifacts are kept.
_SILENCE_S = 300.0
#: gunicorn closes a connection that was idle for 2 s, uvicorn after 5 s: one that is used at that moment would be lost.
_KEEP_S = 1.5
_MOST_CONNECTIONS = 100
_NO_ANSWER = "without sending a response"
_ASCII = "".join(map(chr, range(0x21, 0x7F)))


class Forwarder:
    """Speaks to the tracking server that is in use; connections are kept open and used again.

    Args:
        environ: for ``MLFLOW_TRACKING_SERVER_CERT_PATH``, ``MLFLOW_TRACKING_INSECURE_TLS`` and ``REQUESTS_CA_BUNDLE``,
            which MLflow's own clients obey too.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._client: httpx.AsyncClient | None = None
        self._client_of: tuple[str, str | None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def send(
        self,
        upstream: Upstream,
        method: str,
        target: Target,
        headers: SentHeaders,
        body: AsyncIterable[bytes] | None,
    ) -> httpx.Response:
        """The beginning of the answer; its body is read, and closed, by the caller.

        Raises:
            UnavailableError: there is none.
        """
        client = self._client_for(upstream)
        base = httpx.URL(upstream.url)
        where = base.raw_path.decode().rstrip("/") + target.path + (f"?{target.query}" if target.query else "")
        raw_path = quote(where, safe=_ASCII).encode()
        try:
            request = client.build_request(method, base.copy_with(raw_path=raw_path), headers=headers, content=body)
            for missing in {b"accept", b"accept-encoding", b"user-agent"} - {name.lower() for name, _ in headers}:
                # httpx has its own; an answer must not be compressed for somebody who cannot read it.
                del request.headers[missing.decode()]
            try:
                return await client.send(request, stream=True)
            except httpx.RemoteProtocolError as error:
                # A kept connection that the server closed at the moment in which we used it.
                if body is not None or method not in ("GET", "HEAD") or _NO_ANSWER not in str(error):
                    raise
                return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise in_words(error, upstream) from error
        finally:
            # No answer may change what is sent next.
            client.cookies.clear()

    async def close(self) -> None:
        """Closes all connections."""
        client, self._client, self._client_of = self._client, None, None
        if client is not None:
            await client.aclose()

    def _client_for(self, upstream: Upstream) -> httpx.AsyncClient:
        where = upstream.url, upstream.socket
        if self._client is None or self._client_of != where:
            if self._client is not None:
                # The server was started again elsewhere. What still comes from the old one ends with it.
                self._closing = asyncio.get_running_loop().create_task(self._client.aclose())
            self._client, self._client_of = self._new_client(upstream), where
        return self._client

    def _new_client(self, upstream: Upstream) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=20, keepalive_expiry=_KEEP_S)
        timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S, pool=_CONNECT_S)
        verify = upstream.url.startswith("https:") and _tls(self._environ)
        if is_on_this_machine(upstream):
            transport = httpx.AsyncHTTPTransport(uds=upstream.socket, verify=verify, limits=limits, trust_env=False)
            return httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)
        # The environment may name a proxy on the way, as for MLflow's clients in a kernel.
        return httpx.AsyncClient(verify=verify, limits=limits, timeout=timeout, trust_env=True)


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    if environ.get("MLFLOW_TRACKING_INSECURE_TLS", "").lower() in ("true", "1"):
        return False
    authorities = environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH") or environ.get("REQUESTS_CA_BUNDLE") or None
    try:
        return ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise UnavailableError(
            f"The certificates that MLflow shall trust cannot be read: {error.strerror or type(error).__name__}.",
            "MLFLOW_TRACKING_SERVER_CERT_PATH or REQUESTS_CA_BUNDLE names the file.",
        ) from None


def in_words(error: Exception, upstream: Upstream) -> UnavailableError:
    """What went wrong on the way to a tracking server, for a person."""
    name = "MLflow" if upstream.socket is not None else f"The tracking server at {upstream.url}"
    hint = "" if upstream.socket is not None else "Is it running, and is MLFLOW_TRACKING_URI right?"
    if isinstance(error, httpx.ConnectTimeout):
        return UnavailableError(f"{name} does not answer within {_CONNECT_S:g} s.", hint)
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return UnavailableError(
            f"The certificate of {upstream.url} is not trusted.",
            "Name its authority's file in MLFLOW_TRACKING_SERVER_CERT_PATH.",
        )
    if isinstance(error, httpx.ConnectError):
        return UnavailableError(f"{name} cannot be reached.", hint)
    if isinstance(error, httpx.PoolTimeout):
        return UnavailableError(f"{name} is busy: {_MOST_CONNECTIONS} requests are on their way.", "Try again later.")
    if isinstance(error, httpx.TimeoutException):
        return UnavailableError(f"{name} has been silent for {_SILENCE_S:g} s.", hint)
    return UnavailableError(f"{name} ended the connection without a proper answer.", hint)
