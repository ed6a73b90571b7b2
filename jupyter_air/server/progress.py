"""``tracking``: the routes that tell how far a tracking server is."""

from __future__ import annotations

import asyncio
import json

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from jupyter_air.server.base import AirHandler, PolledHandler
from jupyter_air.server.beside import TrackingServers


class StateHandler(PolledHandler):
    """``GET tracking``: how far the main server is, or with ``beside=KEY`` another, and where its pages are."""

    def initialize(self, name: str, servers: TrackingServers) -> None:
        super().initialize(name)
        self._servers = servers

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answers with what ``Tracking.state`` gives."""
        tracking = await self._servers.at(self.get_query_argument("beside", None))
        self.finish(json.dumps(await tracking.state(self.base_url)))


class StartHandler(AirHandler):
    """``POST tracking/start``: somebody wants to see MLflow."""

    def initialize(self, name: str, servers: TrackingServers) -> None:
        super().initialize(name)
        self._servers = servers

    # Whoever may look at runs may start what shows them: it changes none of them.
    @authenticated
    @authorized(action="read")  # type: ignore[untyped-decorator]
    async def post(self) -> None:
        """Answers at once, as ``GET tracking`` does."""
        tracking = await self._servers.at(self.get_query_argument("beside", None))
        tracking.start()
        # Once round the loop, so that the answer is that of a server which has been asked.
        await asyncio.sleep(0)
        self.finish(json.dumps(await tracking.state(self.base_url)))
