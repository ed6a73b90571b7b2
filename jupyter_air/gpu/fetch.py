"""One bounded GET: in time, in size, without redirects, proxies or cookies; what goes wrong is a sentence."""

from __future__ import annotations

import asyncio
import errno
import functools
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from jupyter_air.errors import InputError, UnavailableError
from jupyter_air.gpu.credentials import Credentials

MIB = 2**20
#: A page of a thousand GPUs has about 8 MiB.
MOST_PAGE_BYTES = 16 * MIB
#: Of all answers that are on their way at one moment.
MOST_BYTES_IN_FLIGHT = 256 * MIB

_ACCEPT = "text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1"
#: How httpx words a connection that ended before its answer began.
_NO_ANSWER = "without sending a response"


class FetchError(UnavailableError):
    """No answer that could be used.

    Args:
        message: one sentence: what happened.
        hint: one sentence: what to do about it.
    """


class Reply(NamedTuple):
    """An answer as it came; ``content`` decompresses it.

    Attributes:
        raw: the body, compressed as it was sent.
        encoding: ``Content-Encoding``, lower case.
    """

    raw: bytes
    encoding: str

    def content(self, most_bytes: int = MOST_PAGE_BYTES) -> bytes:
        """The body; costs CPU time, so not on an event loop.

        Raises:
            FetchError: it is compressed wrongly, otherwise than asked for, or longer than it may be.
        """
        if self.encoding in ("", "identity"):
            return self.raw
        if self.encoding not in ("gzip", "x-gzip"):
            raise FetchError("The answer is compressed in a way that was not asked for.")
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            body = unpacker.decompress(self.raw, most_bytes + 1)
        except zlib.error:
            raise FetchError("The answer is said to be gzip and is not.") from None
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
        if not unpacker.eof:
            raise _closed()
        return body


class Budget:
    """Counts the bytes of all answers that are on their way.

    Args:
        most_bytes: how many there may be.
    """

    def __init__(self, most_bytes: int = MOST_BYTES_IN_FLIGHT) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0


class Endpoint:
    """One address, with one connection that is kept open.

    httpx looks through all connections of a client at every request: 1,000 targets on one client took 100 ms of CPU
    each, on a client of their own 1 ms.

    Args:
        url: what is fetched.
        credentials: what it is shown.
        budget: shared with other endpoints.
        what: answers there, for a sentence.
    """

    def __init__(
        self, url: str, credentials: Credentials, budget: Budget | None = None, what: str = "exporter"
    ) -> None:
        self.url = url
        self._what = what
        self._credentials = credentials
        self._budget = budget or Budget()
        # Made at the first request: a thousand at once would hold up the event loop for half a second.
        self._client: httpx.AsyncClient | None = None
        self._built: tuple[str | None, httpx.Request] | None = None

    async def get(
        self, timeout_s: float, most_bytes: int = MOST_PAGE_BYTES, params: Mapping[str, str] | None = None
    ) -> Reply:
        """The answer, within the limits.

        Args:
            timeout_s: for the whole exchange, the connection included.
            most_bytes: of the body as it is sent.
            params: sent as a form by POST (a Prometheus server's query may be longer than an address can be).

        Raises:
            FetchError: there is none, in words for a person.
        """
        try:
            return await asyncio.wait_for(self._twice(most_bytes, params), timeout_s)
        except asyncio.TimeoutError:
            # What was cut off in the middle must not be waited for by the next request.
            await self.close()
            raise FetchError(f"No answer within {timeout_s:g} s.") from None
        except InputError as error:
            raise FetchError(error.message, error.hint) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise _in_words(error, self.url, self._what) from error

    async def _twice(self, most_bytes: int, params: Mapping[str, str] | None) -> Reply:
        try:
            return await self._exchange(most_bytes, params)
        except httpx.RemoteProtocolError as error:
            # A server may close a kept connection at the moment in which we use it again.
            if _NO_ANSWER not in str(error):
                raise
            return await self._exchange(most_bytes, params)

    async def _exchange(self, most_bytes: int, params: Mapping[str, str] | None) -> Reply:
        client = self._client = self._client or _client()
        response = await client.send(self._request(client, params), stream=True)
        try:
            _check_status(response, self.url)
            raw = await self._body(response, most_bytes)
        finally:
            await response.aclose()
        # No answer may change what is sent next.
        client.cookies.clear()
        return Reply(raw, response.headers.get("content-encoding", "").strip().lower())

    def _request(self, client: httpx.AsyncClient, params: Mapping[str, str] | None) -> httpx.Request:
        authorization = self._credentials.authorization(self.url)
        headers = {"Authorization": authorization} if authorization else {}
        if params is not None:
            return client.build_request("POST", self.url, headers=headers, data=params)
        # The same request each time: building one is a tenth of what a scrape costs.
        if self._built is None or self._built[0] != authorization:
            self._built = authorization, client.build_request("GET", self.url, headers=headers)
        return self._built[1]

    async def _body(self, response: httpx.Response, most_bytes: int) -> bytes:
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in response.aiter_raw():
                chunks.append(chunk)
                size += len(chunk)
                self._budget.used_bytes += len(chunk)
                if size > most_bytes:
                    raise _too_large(most_bytes)
                if self._budget.used_bytes > self._budget.most_bytes:
                    raise FetchError("Too many large answers came at once; this one was given up.")
            return b"".join(chunks)
        finally:
            self._budget.used_bytes -= size

    async def close(self) -> None:
        """Closes the connection; the next request opens another."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=_tls(),
        trust_env=False,
        follow_redirects=False,
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=3600),
        timeout=None,  # one limit for the whole exchange: a trickle would pass any limit on a single read
        headers={"Accept": _ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "jupyter-air"},
    )


@functools.cache
def _tls() -> ssl.SSLContext:
    """The system's authorities, where an admin puts the site's own; one context, since each costs 20 ms."""
    return ssl.create_default_context()


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status == 200:
        return
    if status in (401, 403):
        raise FetchError(
            f"Access is refused (HTTP {status}).",
            "Name a file with its token in JupyterAir.bearer_token_files or JupyterAir.basic_auth_files.",
        )
    if 300 <= status < 400:
        raise FetchError(f"It redirects elsewhere (HTTP {status}), which is not followed.", "Give the final address.")
    if status == 404:
        raise FetchError(f"There is no page at {urlsplit(url).path or '/'} (HTTP 404).")
    raise FetchError(f"It answers with an error (HTTP {status}).")


def _too_large(most_bytes: int) -> FetchError:
    return FetchError(f"The answer is larger than {most_bytes / MIB:g} MiB.")


def _closed() -> FetchError:
    return FetchError("The connection was closed in the middle of the answer.")


def _in_words(error: Exception, url: str, what: str) -> FetchError:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return FetchError(
                f"The certificate of {parts.hostname} is not trusted: {cause.verify_message}.",
                "Add its authority to the system's certificates.",
            )
        if isinstance(cause, ssl.SSLError):
            return FetchError(f"Port {port} of {parts.hostname} does not speak TLS as expected.", "Is it http?")
        if isinstance(cause, socket.gaierror):
            return FetchError(f"The host name {parts.hostname} is not known.")
        number = cause.errno if isinstance(cause, OSError) else None
        if number == errno.ECONNREFUSED:
            return FetchError(f"Connection refused by the {what} on port {port}.", f"Is the {what} running?")
        if number in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN):
            return FetchError(f"The host {parts.hostname} cannot be reached.")
    if isinstance(error, httpx.RemoteProtocolError) and _NO_ANSWER in str(error):
        return FetchError("The connection was closed without an answer.")
    if isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError)):
        # httpx says so for a body that is cut off, and for what is no HTTP at all.
        return (
            _closed() if "peer closed" in str(error) or not str(error) else FetchError("The answer is no valid HTTP.")
        )
    return FetchError(f"The connection failed ({type(error).__name__}).")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it; a connection tried on several addresses has one cause each."""
    open_: list[BaseException | None] = [error]
    seen: set[int] = set()
    while open_:
        cause = open_.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        open_ += [cause.__cause__, cause.__context__, *getattr(cause, "exceptions", ())]
