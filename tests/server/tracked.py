"""A server extension that shows a tracking server which a test started; PYTHONPATH names its folder."""

from __future__ import annotations

import asyncio
import time

import httpx
from jupyter_server.auth import Authorizer
from traitlets import Unicode

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.upstream import Progress, Upstream
from jupyter_air.server.app import JupyterAir

_PATIENCE_S = 240.0


class StartedElsewhere:
    """A tracking server that comes up by itself: whoever needs it waits until it says that it is well.

    Args:
        upstream: where it will answer.
        waits: whether it is waited for, or taken to be there.
    """

    def __init__(self, upstream: Upstream, *, waits: bool) -> None:
        self.uri = upstream.url
        self._upstream = upstream
        self._began_s: float | None = None
        self._is_up = not waits
        self._failure = ""
        self.uses = 0

    def progress(self) -> Progress:
        if self._is_up:
            return Progress("ready", "MLflow is ready.")
        if self._failure:
            return Progress("failed", self._failure)
        if self._began_s is None:
            return Progress("stopped", "MLflow starts when it is needed.")
        return Progress("starting", "MLflow is starting.", time.monotonic() - self._began_s)

    async def ready(self) -> Upstream:
        if not self._is_up:
            self._began_s, self._failure = time.monotonic(), ""
            await self._wait(self._began_s + _PATIENCE_S)
        return self._upstream

    def used(self) -> None:
        self.uses += 1

    async def _wait(self, until_s: float) -> None:
        transport = httpx.AsyncHTTPTransport(uds=self._upstream.socket)
        async with httpx.AsyncClient(transport=transport, base_url=self._upstream.url) as client:
            while time.monotonic() < until_s:
                try:
                    if (await client.get("/health")).status_code == 200:
                        self._is_up = True
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        self._failure = "MLflow has not started."
        raise UnavailableError(self._failure, "See its log.")


class Tracked(JupyterAir):
    """Jupyter AIR with a tracking server."""

    upstream = Unicode("", help="URL of the tracking server; empty for none.").tag(config=True)
    socket = Unicode("", help="Unix socket it listens on.").tag(config=True)
    authorization = Unicode("", help="What its Authorization header shall be.").tag(config=True)

    def _tracking_server(self) -> StartedElsewhere | None:
        if not self.upstream:
            return None
        upstream = Upstream(self.upstream, self.socket or None, self.authorization or None)
        return StartedElsewhere(upstream, waits=bool(self.socket))


class OnlyReads(Authorizer):
    """Everybody may look, nobody may change anything."""

    def is_authorized(self, handler: object, user: object, action: str, resource: str) -> bool:
        return action == "read"


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    return [{"module": "tracked", "app": Tracked}]
