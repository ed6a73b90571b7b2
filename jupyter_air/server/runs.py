"""``GET runs/context``: where the runs of a notebook are, and the way to them through this server."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import psutil
from jupyter_server.auth.decorator import authorized
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import ensure_async
from tornado.web import authenticated

from jupyter_air.errors import InputError, MissingError, UnavailableError
from jupyter_air.runs import notebook
from jupyter_air.runs.configured import TRACKING_URI
from jupyter_air.runs.destination import PUBLIC_VARIABLE, Kind, absolute, kind_of, pages
from jupyter_air.runs.installed import installed_mlflow
from jupyter_air.runs.store import Store, file_store_choices, store_of_folder, store_of_uri
from jupyter_air.server.base import LONGEST_PATH, PolledHandler, wire_text
from jupyter_air.server.beside import TrackingServers
from jupyter_air.server.kernel_environment import KernelEnvironment, local_pid, starts_here
from jupyter_air.server.tracking import pages_address

_NOT_HERE = (
    "The kernel is started where this Jupyter server does not see its environment (on another machine, in a container, "
    "as another user), so where its runs go is not known here: look for them where it runs."
)
_BY_KIND = {
    "embedded": "The Jupyter server shows another MLflow than the embedded store, to which these runs go: leave its "
    "MLFLOW_TRACKING_URI and JupyterAir.tracking_uri empty to show them.",
    "store": "The runs go to a store that is in no folder which the Jupyter server shows: name it in "
    "JupyterAir.tracking_uri.",
    "server": "The runs go to another tracking server than the one that the Jupyter server shows: name it in "
    "JupyterAir.tracking_uri, or in the Jupyter server's MLFLOW_TRACKING_URI.",
    "databricks": "The runs go to Databricks: see them on its own pages.",
}


class Context(msgspec.Struct, kw_only=True):
    """The answer; tests/wire/README.md says what the fields mean."""

    notebook: str | None
    experiment: str
    kind: Kind | Literal["none"]
    tracking_uri: str | None = None
    rest: str | None = None
    pages: str | None = None
    message: str = ""


class _Start(NamedTuple):
    """What a kernel is started with: its environment and its working folder."""

    environ: Mapping[str, str]
    folder: Path


class NotebookRuns:
    """Answers where runs are.

    Args:
        server: has the kernels and the files.
        servers: the tracking servers that it shows.
        kernels: what kernels are given.
    """

    def __init__(self, server: ServerApp, servers: TrackingServers, kernels: KernelEnvironment) -> None:
        self._server = server
        self._servers = servers
        self._kernels = kernels

    async def context(self, kernel_id: str | None, path: str | None) -> Context:
        """Where the runs of a notebook are, or of one that would be new in the server's folder; starts nothing.

        Args:
            kernel_id: of its kernel, or ``None`` while it has none.
            path: of its file, as Jupyter's contents have it; tells of a kernel's notebook how it is called now.

        Raises:
            InputError: the path leads out of the server's folder.
            MissingError: there is no such kernel.
            UnavailableError: the kernel is just being started.
        """
        file = None if path is None else await self._file(path)
        if kernel_id is not None:
            start = await self._of_kernel(kernel_id)
        else:
            start = await self._of_new_kernel(file.parent if file is not None else Path(self._server.root_dir))
        # In a thread: a disk that hangs must not hang the server.
        return await asyncio.to_thread(self._answer, start, file)

    async def _file(self, path: str) -> Path:
        plain = path.strip("/").removeprefix("RTC:")
        contents: Any = self._server.contents_manager
        kernels: Any = self._server.kernel_manager
        is_inside = plain and "\0" not in plain and not any(part in (".", "..") for part in plain.split("/"))
        # It judges paths and links as it does for files that are opened.
        if not is_inside or (await ensure_async(contents.is_hidden(plain)) and not contents.allow_hidden):
            raise InputError(
                f"The path {path!r:.200} is no file that this Jupyter server shows.",
                "Give it as JupyterLab has it.",
            )
        # As the server tells it to kernels, whose runs have it as a tag.
        return Path(kernels.cwd_for_path(plain), plain.rpartition("/")[2])

    async def _of_kernel(self, kernel_id: str) -> _Start | None:
        """``None`` for a kernel elsewhere."""
        manager = self._server.kernel_manager
        if kernel_id not in manager:
            raise MissingError(f"This Jupyter server has no kernel {kernel_id!r:.80}.")
        folder = self._kernels.folder_of(kernel_id)
        if folder is None:
            return None
        pid = local_pid(manager.get_kernel(kernel_id))
        if pid is None:
            raise _starting()
        environ = await asyncio.to_thread(_environment, pid)
        return None if environ is None else _Start(environ, folder)

    async def _of_new_kernel(self, folder: Path) -> _Start | None:
        manager = self._server.kernel_manager
        if self._server.gateway_config.gateway_enabled or not starts_here(manager, None):
            return None
        return _Start(await asyncio.to_thread(self._kernels.planned, folder, os.environ), folder)

    def _answer(self, start: _Start | None, file: Path | None) -> Context:
        environ: Mapping[str, str] = os.environ if start is None else start.environ
        folder = start.folder if start is not None else Path(self._server.root_dir)
        known = {**environ, "JPY_SESSION_NAME": str(file)} if file is not None else environ
        found = notebook.find(known, {}, folder)
        context = Context(
            notebook=None if found.path is None else wire_text(found.path, LONGEST_PATH),
            experiment=wire_text(notebook.default_experiment(found, notebook.user(environ)), LONGEST_PATH),
            kind="none",
            message=_NOT_HERE,
        )
        return context if start is None else self._with_destination(context, start)

    def _with_destination(self, context: Context, start: _Start) -> Context:
        given = start.environ.get(TRACKING_URI)
        try:
            uri = absolute(given, start.folder) if given else store_of_folder(start.folder).uri
        except InputError as error:
            context.message = f"{error.message} {error.hint}"
            return context
        context.kind, context.tracking_uri = kind_of(uri), wire_text(uri, LONGEST_PATH)
        context.rest = self._way_to(uri, start.folder)
        store = store_of_uri(uri, start.folder)
        if context.rest is not None:
            context.message = "" if store is None else _note(store, start.environ)
        elif store is not None and not given and self._servers.key_of_folder(start.folder):
            context.message = f"The first run makes the store {wire_text(uri)}; its runs are shown from then on."
        else:
            context.message = _BY_KIND[context.kind]
        context.pages = self._pages(context, uri, start.environ)
        return context

    def _way_to(self, uri: str, folder: Path) -> str | None:
        main, base_url = self._servers.main, self._server.base_url
        if main.leads_to(uri):
            return main.address(base_url)
        key = self._servers.key_of_store(uri, folder)
        return None if key is None else f"{pages_address(base_url, key)}/"

    def _pages(self, context: Context, uri: str, environ: Mapping[str, str]) -> str | None:
        if context.kind in ("embedded", "store"):
            return context.rest
        if context.rest is not None and PUBLIC_VARIABLE not in environ and self._servers.main.shows_pages():
            return context.rest
        elsewhere = pages(uri, environ)
        return None if elsewhere is None else f"{wire_text(elsewhere.rstrip('/'), LONGEST_PATH)}/"


def _note(store: Store, environ: Mapping[str, str]) -> str:
    """What the kernel will meet in it; of a kernel of another environment, as far as MLflow is the same."""
    with contextlib.suppress(UnavailableError):
        return file_store_choices(store, installed_mlflow(), environ) or ""
    return ""


def _environment(pid: int) -> Mapping[str, str] | None:
    """What the process was started with; ``None`` when this server may not see it.

    Raises:
        UnavailableError: the process has just ended, since kernels are started again.
    """
    try:
        return psutil.Process(pid).environ()
    except psutil.NoSuchProcess:
        raise _starting() from None
    except (psutil.Error, OSError):
        return None


def _starting() -> UnavailableError:
    return UnavailableError("The kernel is being started.", "Ask again in a moment.")


class ContextHandler(PolledHandler):
    """``GET runs/context``: where a notebook's runs are."""

    def initialize(self, name: str, runs: NotebookRuns) -> None:
        super().initialize(name)
        self._runs = runs

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answers with ``Context``."""
        kernel_id, path = (self.get_query_argument(name, None, strip=False) or None for name in ("kernel", "path"))
        self.finish(msgspec.json.encode(await self._runs.context(kernel_id, path)))
