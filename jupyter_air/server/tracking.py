"""A tracking server as the routes have it; ``proxy.py`` is the way to it."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_server.utils import url_path_join

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.forwarder import Forwarder
from jupyter_air.runs.forwarding import is_on_this_machine
from jupyter_air.runs.upstream import Progress, TrackingServer, Upstream

#: Proxies in front of Jupyter give up after a minute or two; whoever asks again is served then.
_WAIT_S = 90.0
#: An answer that takes longer than this is worth a page that tells how far it is.
_GLANCE_S = 1.0


class Tracking:
    """A tracking server, its connections, and where its pages are.

    Args:
        server: that is shown; ``None`` when the tracking URI names nothing that can be.
        pages_through_jupyter: the pages of a server elsewhere are shown through Jupyter too.
        key: what stands for it in addresses; ``None`` for the main one.
    """

    def __init__(
        self, server: TrackingServer | None, *, pages_through_jupyter: bool = False, key: str | None = None
    ) -> None:
        self._key = key
        self.forwarder = Forwarder()
        self._server = server
        self._pages_through_jupyter = pages_through_jupyter
        self._upstream: Upstream | None = None
        self._starts: set[asyncio.Task[Upstream | UnavailableError]] = set()

    @property
    def server(self) -> TrackingServer:
        """The server.

        Raises:
            UnavailableError: there is none.
        """
        if self._server is None:
            raise UnavailableError(
                "Runs go to no MLflow server that can be shown here.",
                "JupyterAir.tracking_uri and JupyterAir.embedded_tracking say where they go.",
            )
        return self._server

    async def ready(self) -> Upstream:
        """Where the server answers, once it does; starts it.

        Raises:
            UnavailableError: it cannot be had, or takes long.
        """
        try:
            upstream = await asyncio.wait_for(self.server.ready(), _WAIT_S)
        except asyncio.TimeoutError:
            raise UnavailableError("MLflow is still starting.", "Ask again in a minute.") from None
        self.server.used()
        self._upstream = upstream
        return upstream

    async def ready_at_a_glance(self) -> Upstream | None:
        """The same for a person, who would rather see how far it is than wait: ``None`` while it starts.

        Raises:
            UnavailableError: it cannot be had.
        """
        begun = self.start()
        done, _ = await asyncio.wait({begun}, timeout=_GLANCE_S)
        if not done:
            return None
        result = begun.result()
        if isinstance(result, UnavailableError):
            raise result
        self._upstream = result
        return result

    def start(self) -> asyncio.Task[Upstream | UnavailableError]:
        """Begins to start the server; nobody needs to wait for it.

        Raises:
            UnavailableError: there is none.
        """
        task = asyncio.get_running_loop().create_task(_outcome(self.server))
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)
        return task

    def shows_pages_of(self, upstream: Upstream) -> bool:
        """Whether its pages are shown through Jupyter, where their scripts may do all that Jupyter's own may.

        So it is for servers of this machine, which a browser may not reach; others' pages are opened where they are.
        """
        return self._pages_through_jupyter or is_on_this_machine(upstream)

    def leads_to(self, uri: str) -> bool:
        """Whether the server is the one of this tracking URI, which is absolute and without credentials."""
        return self._server is not None and self._server.uri == uri

    def shows_pages(self) -> bool:
        """``shows_pages_of`` the server, wherever it will answer."""
        # What is no address is served by a process of ours.
        is_remote = self.server.uri.startswith(("http://", "https://"))
        return not is_remote or self.shows_pages_of(Upstream(self.server.uri))

    def address(self, base_url: str) -> str:
        """Where the server is reached through Jupyter, root-relative and with a slash at its end."""
        return f"{pages_address(base_url, self._key)}/"

    def state_address(self, base_url: str) -> str:
        """Of ``GET tracking`` for it, root-relative."""
        return url_path_join(base_url, "jupyter-air/tracking") + (f"?beside={self._key}" if self._key else "")

    async def state(self, base_url: str) -> dict[str, Any]:
        """What a browser is told; starts nothing.

        Args:
            base_url: of the Jupyter server.

        Returns:
            ``Progress``, and ``page``: ``None``, or its ``url`` and whether that is ``outside`` of Jupyter.
        """
        if self._server is None:
            return _without_page(Progress("none", ""))
        progress = self._server.progress()
        page = None
        if progress.state == "ready":
            # One that is known is not asked: to look is not to use.
            result = self._upstream or await _outcome(self._server)
            if isinstance(result, UnavailableError):
                return _without_page(Progress("failed", _words(result)))
            inside = self.shows_pages_of(result)
            url = self.address(base_url) if inside else f"{result.url}/"
            page = {"url": url, "outside": not inside}
        return {**progress._asdict(), "page": page}

    async def close(self) -> None:
        """Closes the connections; the server lives on."""
        for task in self._starts:
            task.cancel()
        await self.forwarder.close()


def pages_address(base_url: str, key: str | None) -> str:
    """Where the proxy to a tracking server is, root-relative and without a slash at its end.

    Args:
        base_url: of the Jupyter server.
        key: of the folder that the store is in; ``None`` for the main server.
    """
    return url_path_join(base_url, "jupyter-air", "mlflow" if key is None else f"mlflow-beside/{key}")


def _without_page(progress: Progress) -> dict[str, Any]:
    return {**progress._asdict(), "page": None}


async def _outcome(server: TrackingServer) -> Upstream | UnavailableError:
    try:
        return await server.ready()
    except UnavailableError as error:
        return error


def _words(error: UnavailableError) -> str:
    return f"{error.message} {error.hint}".strip()
