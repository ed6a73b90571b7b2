"""The way to the tracking server's pages and REST: authenticated as Jupyter is, streamed both ways."""

from __future__ import annotations

import asyncio
import datetime
import math
import re
from collections.abc import AsyncIterator
from typing import cast

import httpx
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, authenticated, stream_request_body

from jupyter_air.errors import AirError
from jupyter_air.runs.forwarder import in_words
from jupyter_air.runs.forwarding import Target, is_own_page, only_asks, returned_headers, sent_headers
from jupyter_air.runs.upstream import Upstream
from jupyter_air.server.beside import TrackingServers
from jupyter_air.server.page import PageHandler
from jupyter_air.server.tracking import Tracking

#: Up to where a tracking server's own paths begin; the key of a store beside notebooks is in it.
_PLACE = re.compile(r".*?/jupyter-air/mlflow(?:-beside/([^/]+))?/")
#: Jupyter's own limit for a body counts for uploads that it holds in memory. None is held here.
_MOST_BODY_BYTES = 2**40
_SMALL_BODY_BYTES = 2**20
#: The pages of this machine's MLflow may do what they like; what somebody logged may run scripts, but not as Jupyter.
_SANDBOX = "sandbox allow-scripts"


class Upload:
    """The body of a request on its way through: at most two pieces are here at a time."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._closed = False

    async def put(self, piece: bytes) -> None:
        """Takes a piece when there is room; an empty one is the end. What nobody waits for any more is dropped."""
        if not self._closed:
            await self._pieces.put(piece)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces up to the end."""
        while piece := await self._pieces.get():
            yield piece

    def close(self) -> None:
        """Nobody waits for pieces any more."""
        self._closed = True
        while not self._pieces.empty():
            self._pieces.get_nowait()


class AddSlashHandler(PageHandler):
    """``GET mlflow``, ``GET mlflow-beside/KEY``: MLflow's paths are relative, so its address must end in a slash."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Redirects."""
        query = f"?{self.request.query}" if self.request.query else ""
        # Without ./ it could be read as the address of another site.
        self.redirect(f"./{self.request.path.rpartition('/')[2]}/{query}", permanent=True)


@stream_request_body
class ProxyHandler(PageHandler):
    """``* mlflow/...``: the tracking server; ``* mlflow-beside/KEY/...``: that of a store beside notebooks.

    Not an ``APIHandler``, whose policy would let no page run. MLflow's page cannot send Jupyter's XSRF token either, so
    it is judged here which site asks.
    """

    _tracking: Tracking

    def initialize(self, name: str, servers: TrackingServers) -> None:
        super().initialize(name)
        self._servers = servers
        self._upload: Upload | None = None
        self._refusal: AirError | HTTPError | None = None
        self._exchange: asyncio.Task[httpx.Response] | None = None

    def check_xsrf_cookie(self) -> None:
        """``_check_site`` does, better."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Lets nothing in, a body included, before it is clear who asks and what for."""
        try:
            await self._admit()
        except (AirError, HTTPError) as refusal:
            # An answer before the end of the body ends the connection, and may be lost with it.
            if self._body_bytes > _SMALL_BODY_BYTES:
                raise
            self._upload, self._refusal = None, refusal

    async def _admit(self) -> None:
        await super().prepare()
        if self.current_user is None:
            if self.is_navigation:
                return  # to the login, by _answer
            raise HTTPError(403, "Log in to Jupyter, or send its token.")
        self._check_site()
        place = _PLACE.match(self.request.path)
        assert place is not None, "the route matched"
        self._prefix = place[0]
        self._target = Target(self.request.path[len(self._prefix) - 1 :], _without_token(self.request.query))
        self._target.check()
        self._only_asks = only_asks(self.request.method, self._target.path)
        await self._authorize("read" if self._only_asks else "write")
        self._tracking = await self._servers.at(place[1])
        self._note_activity()
        self._connection.set_max_body_size(_MOST_BODY_BYTES)
        if self._body_bytes:
            self._upload = Upload()
            self._begin(await self._tracking.ready())

    async def data_received(self, chunk: bytes) -> None:
        """Takes a piece of the body once the last one is gone, so that a slow tracking server slows the sender down."""
        if self._upload is not None:
            await self._upload.put(chunk)

    def on_connection_close(self) -> None:
        """Whoever asked has gone: the tracking server is not kept busy for nobody."""
        if self._exchange is not None and not self._exchange.cancel() and self._exchange.exception() is None:
            self._closing = asyncio.get_running_loop().create_task(self._exchange.result().aclose())
        super().on_connection_close()

    @authenticated
    async def _answer(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._upload is not None:
            await self._upload.put(b"")
        elif self.is_navigation:
            upstream = await self._tracking.ready_at_a_glance()
            if upstream is None:
                progress = self._tracking.server.progress()
                self.show_page("starting", progress.message, progress.note, self._tracking.state_address(self.base_url))
                return
            if self._target.path == "/" and not self._tracking.shows_pages_of(upstream):
                self.redirect(f"{upstream.url}/")
                return
            self._begin(upstream)
        else:
            self._begin(await self._tracking.ready())
        assert self._exchange is not None
        try:
            response = await self._exchange
        except asyncio.CancelledError:
            if self._exchange.cancelled():
                return  # by on_connection_close: there is nobody to answer
            raise
        try:
            await self._pass_on(response)
        finally:
            await response.aclose()

    get = head = post = put = patch = delete = options = _answer

    def _begin(self, upstream: Upstream) -> None:
        self._upstream = upstream
        size = self.request.headers.get("Content-Length") if self._upload else None
        headers = sent_headers(self.request.headers.get_all(), upstream, size)
        body = self._upload.pieces() if self._upload else None
        sending = self._tracking.forwarder.send(upstream, self.request.method, self._target, headers, body)
        self._exchange = asyncio.get_running_loop().create_task(sending)
        self._exchange.add_done_callback(self._on_exchanged)

    def _on_exchanged(self, exchange: asyncio.Task[httpx.Response]) -> None:
        if self._upload is not None:
            self._upload.close()
        if not exchange.cancelled():
            # Nobody may be there to be told: the sender can have gone in the middle of the body.
            exchange.exception()

    async def _pass_on(self, response: httpx.Response) -> None:
        headers = returned_headers(response, self._upstream, self._prefix)
        self.set_status(response.status_code, response.reason_phrase or None)
        self.clear_header("Content-Type")
        for name, value in headers:
            self.add_header(name, value)
        if not (is_own_page(self._target.path) and self._tracking.shows_pages_of(self._upstream)):
            self.set_header("Content-Security-Policy", f"{self.content_security_policy}; {_SANDBOX}")
        try:
            async for piece in response.aiter_raw():
                self.write(piece)
                await self.flush()
        except StreamClosedError:
            return
        except (httpx.HTTPError, httpx.StreamError) as error:
            if not self._headers_written:
                raise in_words(error, self._upstream) from error
            # The status has been sent: that the rest is missing can only be told by ending the connection.
            self.log.warning("An answer of MLflow broke off: %s", in_words(error, self._upstream).message)
            self._connection.close()
            return
        self.finish()

    def compute_etag(self) -> None:
        """The tracking server's own is passed on."""
        return None

    def _check_site(self) -> None:
        """
        Raises:
            HTTPError: another site's page asks, or for a change somebody who could be one.
        """
        site = self.request.headers.get("Sec-Fetch-Site")
        if self.request.method in ("GET", "HEAD", "OPTIONS"):
            allowed = site in (None, "same-origin", "none") or self.is_navigation
        elif site is not None:
            allowed = site == "same-origin"
        else:
            # A browser that does not tell the site tells the origin. What tells neither must know the token.
            origin = self.request.headers.get("Origin")
            allowed = self._is_own_origin(origin) if origin is not None else self.token_authenticated
        if not allowed:
            raise HTTPError(403, "MLflow may be used through Jupyter by its own pages, or with Jupyter's token.")

    def _is_own_origin(self, origin: str) -> bool:
        # A proxy that ends TLS in front of us makes the scheme another one.
        host = self.request.headers.get("Host", "")
        return origin.lower().partition("://")[2] == host.lower() != ""

    async def _authorize(self, action: str) -> None:
        authorizer, user = self.authorizer, self.current_user
        if not await ensure_async(authorizer.is_authorized(self, user, action, self.auth_resource)):
            raise HTTPError(403, f"User is not authorized to {action} on resource: {self.auth_resource}.")

    def _note_activity(self) -> None:
        # A page that a person opens, or what they change; MLflow's page itself asks for news all day.
        if self.is_navigation or not self._only_asks:
            self.settings["jupyter_air_last_activity"] = datetime.datetime.now(datetime.timezone.utc)

    @property
    def _connection(self) -> HTTP1Connection:
        return cast(HTTP1Connection, self.request.connection)

    @property
    def _body_bytes(self) -> float:
        length = self.request.headers.get("Content-Length", "0")
        return math.inf if "Transfer-Encoding" in self.request.headers or not length.isdigit() else int(length)


def _without_token(query: str) -> str:
    """The query without Jupyter's token, which is not for the tracking server."""
    return "&".join(part for part in query.split("&") if part.partition("=")[0] != "token")
