"""A live Jupyter server that shows a tracking server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.live_server import TOKEN, LiveServer, live_server

#: Where the extension is found, and nothing else of the tree.
_FOLDER = Path(__file__).parent


@contextmanager
def tracked_server(folder: Path, url: str, *args: str, socket: Path | None = None) -> Iterator[LiveServer]:
    """Args:
    folder: for its files.
    url: of the tracking server; ``args`` are further arguments of the Jupyter server.
    socket: on which the tracking server listens.
    """
    extensions = "--ServerApp.jpserver_extensions={'jupyter_air': False, 'tracked': True}"
    told = (f"--Tracked.upstream={url}", f"--Tracked.socket={socket or ''}")
    with live_server(folder, extensions, *told, *args, env={"PYTHONPATH": str(_FOLDER)}) as server:
        yield server


@contextmanager
def logged_in(server: LiveServer, host: str | None = None) -> Iterator[httpx.Client]:
    """A browser with Jupyter's cookie and without its token; ``host`` is the name it knows the server by."""
    headers = {"Host": host} if host else {}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=30) as browser:
        browser.get("login", params={"token": TOKEN}, follow_redirects=True)
        yield browser
