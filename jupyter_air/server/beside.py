"""The stores beside notebooks: which folders have one that is shown, and at which address.

The address is made of the folder's path alone, so that a saved card's link is right after the server has started again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

from jupyter_core.paths import is_hidden
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import ApiPath, ensure_async, to_os_path

from jupyter_air.errors import InputError, MissingError
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.store import Store, is_made, store_beside, store_of_uri
from jupyter_air.server.base import LONGEST_PATH
from jupyter_air.server.tracking import Tracking

#: Their connections are closed beyond that, those of the longest unused first; the processes end when they are idle.
_MOST_OPEN = 8
_LONGEST_KEY = 2 * LONGEST_PATH


def key_of(path: str) -> str:
    """The part of an address that stands for a folder; no proxy on the way reads anything into its letters.

    Args:
        path: of the folder, as Jupyter's contents have it: without a slash at either end, empty for the root.
    """
    return base64.urlsafe_b64encode(f"/{path}".encode()).decode().rstrip("=")


def path_of(key: str) -> str:
    """The folder's path that ``key_of`` was given.

    Raises:
        InputError: it never gives such a key.
    """
    try:
        absolute = base64.urlsafe_b64decode(key[:_LONGEST_KEY] + "=" * (-len(key) % 4)).decode()
    except ValueError:
        absolute = ""
    path = absolute[1:]
    # One key a folder: what decodes to the same, or leads to the same, is not the same.
    is_plain = "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/") if path)
    if not is_plain or key_of(path) != key:
        raise InputError(
            "This address of MLflow names no folder.", "Open MLflow from a notebook in that folder, or from its card."
        )
    return path


class TrackingServers:
    """The tracking servers that routes lead to: the main one, and those of stores beside notebooks.

    Args:
        server: whose folder the notebooks are in.
        main: where runs go that have no store beside them.
        idle_s: without use, after which the process that serves a store ends.
    """

    def __init__(self, server: ServerApp, main: Tracking, *, idle_s: float) -> None:
        self.main = main
        self._server = server
        self._idle_s = idle_s
        self._open: OrderedDict[str, Tracking] = OrderedDict()

    async def at(self, key: str | None) -> Tracking:
        """The server that a key in an address stands for; ``None`` for the main one. Starts nothing.

        Raises:
            InputError: it is no key.
            MissingError: its folder has no store, or is not shown.
        """
        if key is None:
            return self.main
        path = path_of(key)
        if not await self._is_shown(path):
            raise MissingError(f"The folder {path!r:.200} is none that this Jupyter server shows.")
        # In a thread: a disk that hangs must not hang the server.
        store = await asyncio.to_thread(_store_in, Path(to_os_path(ApiPath(path), self._server.root_dir)))
        if store is None:
            raise MissingError(
                f"The folder {path or '/'!r:.200} has no MLflow store (mlflow.db or mlruns).",
                "It was moved, or the first run there has yet to make it.",
            )
        return await self._opened(key, store)

    def key_of_folder(self, folder: Path) -> str | None:
        """The key of a folder on disk, whether or not it has a store; ``None`` for one that is not shown."""
        root = Path(os.path.normpath(self._server.root_dir))
        contents: Any = self._server.contents_manager
        for below, above in ((folder, root), (folder.resolve(), root.resolve())):
            if below.is_relative_to(above):
                path = below.relative_to(above).as_posix()
                if contents.allow_hidden or not is_hidden(below, above):
                    # A name that is no UTF-8 is none to Jupyter either.
                    with contextlib.suppress(UnicodeEncodeError):
                        return key_of("" if path == "." else path)
        return None

    def key_of_store(self, uri: str, folder: Path) -> str | None:
        """The key of a store that is there; ``None`` for one that is not shown, or that no run has made yet.

        Args:
            uri: tracking URI, absolute.
            folder: where it is, as far as is known: the way there that a person knows, through links.
        """
        store = store_of_uri(uri, folder)
        places = [] if store is None else [folder, (store.database or store.folder).parent]
        for place in places:
            found = _store_in(place)
            if found is not None and found.uri == uri:
                return self.key_of_folder(place)
        return None

    async def close(self) -> None:
        """Closes all connections; the processes live on."""
        for tracking in (self.main, *self._open.values()):
            await tracking.close()

    async def _is_shown(self, path: str) -> bool:
        # Jupyter's contents judge links and hidden folders as for files that are opened.
        contents: Any = self._server.contents_manager
        if not await ensure_async(contents.dir_exists(path)):
            return False
        return bool(contents.allow_hidden or not await ensure_async(contents.is_hidden(path)))

    async def _opened(self, key: str, store: Store) -> Tracking:
        tracking, left = self._open.pop(key, None), []
        if tracking is None or not tracking.leads_to(store.uri):
            # The folder may have another store now: one of plain files whose runs were moved to a database.
            left += [tracking] if tracking is not None else []
            tracking = Tracking(EmbeddedServer(store, idle_s=self._idle_s), key=key)
        self._open[key] = tracking
        while len(self._open) > _MOST_OPEN:
            left.append(self._open.popitem(last=False)[1])
        for one in left:
            await one.close()
        return tracking


def _store_in(folder: Path) -> Store | None:
    try:
        store = store_beside(folder)
        return store if store is not None and is_made(store) else None
    except OSError:
        return None  # Nobody but its owner may look into the folder: for us it has none.
