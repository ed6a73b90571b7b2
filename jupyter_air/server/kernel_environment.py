"""MLFLOW_TRACKING_URI for the kernels and terminals that have none; where its pages are, and whose the kernels are.

It goes into the environment of each kernel as it starts, not into the server's: that would reach every child of the
server, and a kernel whose folder has a store of its own must have none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Callable, Collection, Mapping
from logging import Logger
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_server.auth.identity import IdentityProvider
from jupyter_server.base.call_context import CallContext
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import ensure_async

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.configured import TRACKING_URI, client_environment
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.installed import InstalledMlflow, installed_mlflow
from jupyter_air.runs.links import PAGES_VARIABLE, STORE_VARIABLE
from jupyter_air.runs.notebook import USER_VARIABLE
from jupyter_air.runs.store import check_place, store_beside, store_of_folder
from jupyter_air.server.beside import TrackingServers
from jupyter_air.server.tracking import pages_address


class TrackingEnvironment:
    """What is added to the environment of what starts in a folder.

    Args:
        tracking: the embedded store's server, or the URI that the configuration or the server's environment names.
        log: for what keeps the embedded store from being used, told once.
    """

    def __init__(self, tracking: EmbeddedServer | str, log: Logger) -> None:
        self._tracking = tracking
        self._log = log
        self._told: set[str] = set()
        # Without it in JupyterLab's environment nobody would see the runs. A look for it costs: none once it is found.
        self._mlflow: InstalledMlflow | None = None

    def of(self, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """The additions: none where the folder has a store that MLflow would use; a set URI loses its password."""
        try:
            more = self.planned(folder, environ)
            if isinstance(self._tracking, EmbeddedServer) and more.get(TRACKING_URI) == self._tracking.uri:
                self._tracking.create_ahead()
        except UnavailableError as error:
            return self._none(f"{error.message} {error.hint}")
        except OSError as error:
            # A kernel starts whatever a disk does.
            return self._none(str(error))
        return more

    def planned(self, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """The same, while nothing starts there: makes nothing.

        Raises:
            UnavailableError: the embedded store cannot be used.
        """
        uri = environ.get(TRACKING_URI) or (self._tracking if isinstance(self._tracking, str) else "")
        if isinstance(self._tracking, str) or uri:
            wanted = client_environment(uri)
            return {name: value for name, value in wanted.items() if environ.get(name) != value}
        if store_beside(folder) is not None:
            return {}
        self._mlflow = self._mlflow or installed_mlflow()
        check_place(self._tracking.store)
        return {TRACKING_URI: self._tracking.uri}

    def _none(self, reason: str) -> dict[str, str]:
        if reason not in self._told:
            self._told.add(reason)
            self._log.info("Kernels do not log to Jupyter AIR's embedded MLflow store: %s", reason)
        return {}


class KernelEnvironment:
    """What is added to the environment of a kernel.

    Args:
        tracking: which store; ``None`` when it is left to MLflow.
        store: tracking URI of the store that the main server shows; ``None`` when it shows none.
        servers: the main one, and those of stores beside notebooks.
        base_url: of the Jupyter server.
    """

    def __init__(
        self, tracking: TrackingEnvironment | None, store: str | None, servers: TrackingServers, base_url: str
    ) -> None:
        self._tracking = tracking
        self._store = store
        self._servers = servers
        self._base_url = base_url
        self._folders: dict[str, Path] = {}

    def of(self, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """The additions; links to pages only where they are of the store that the kernel uses."""
        more = {} if self._tracking is None else self._tracking.of(folder, environ)
        uri = more.get(TRACKING_URI) or environ.get(TRACKING_URI)
        if not uri:
            with contextlib.suppress(OSError):  # A kernel starts whatever a disk does.
                more |= self._pages_beside(folder)
        elif uri == self._store:
            more |= {PAGES_VARIABLE: pages_address(self._base_url, None), STORE_VARIABLE: uri}
        return more

    def _pages_beside(self, folder: Path) -> dict[str, str]:
        # Of the store that the first run has yet to make, too.
        key = self._servers.key_of_folder(folder)
        if key is None:
            return {}
        return {PAGES_VARIABLE: pages_address(self._base_url, key), STORE_VARIABLE: store_of_folder(folder).uri}

    def planned(self, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of a kernel that would be started there now; starts and makes nothing."""
        try:
            more = {} if self._tracking is None else self._tracking.planned(folder, environ)
        except (UnavailableError, OSError):
            more = {}  # TrackingEnvironment.of logs why, once a kernel is started.
        who = _who_asks()
        return {**environ, **more, **({USER_VARIABLE: who} if who is not None else {})}

    def remember(self, kernel_id: str, folder: Path, living: Collection[str]) -> None:
        """Where a kernel was started; a code cell may go elsewhere later.

        Args:
            kernel_id: of it.
            folder: its working folder.
            living: the ids of all kernels.
        """
        self._folders = {ident: at for ident, at in self._folders.items() if ident in living}
        self._folders.setdefault(kernel_id, folder)

    def folder_of(self, kernel_id: str) -> Path | None:
        """Where the kernel was started; ``None`` when it is not on this machine."""
        return self._folders.get(kernel_id)


def give_to_kernels(server: ServerApp, environment: KernelEnvironment) -> None:
    """Adds it at each start of a kernel on this machine; a kernel elsewhere could not open our store."""
    manager: Any = server.kernel_manager
    if server.gateway_config.gateway_enabled:
        return
    start = manager.start_kernel

    async def start_kernel(**arguments: Any) -> Any:
        environ = arguments.get("env") or os.environ
        path = arguments.get("path")
        folder = Path(manager.cwd_for_path(path) if path is not None else arguments.get("cwd") or Path.cwd())
        is_local = starts_here(manager, arguments.get("kernel_name"))
        if is_local:
            # In a thread: a disk that hangs must not hang the server.
            more = await asyncio.to_thread(environment.of, folder, environ)
            who = _who_asks()
            if who is not None:
                more[USER_VARIABLE] = who
            if more:
                arguments["env"] = {**environ, **more}
        kernel_id = await ensure_async(start(**arguments))
        if is_local:
            environment.remember(kernel_id, folder, manager.list_kernel_ids())
        return kernel_id

    manager.start_kernel = start_kernel


def give_to_terminals(server: ServerApp, environment: TrackingEnvironment) -> None:
    """Adds it to each terminal that is opened; nothing where the server has no terminals."""
    manager = server.web_app.settings.get("terminal_manager")
    if manager is None:
        return
    make: Callable[..., dict[str, str]] = manager.make_term_env

    def make_term_env(*sizes: Any, **options: Any) -> dict[str, str]:
        environ = make(*sizes, **options)
        return {**environ, **environment.of(Path(options.get("cwd") or server.root_dir), environ)}

    manager.make_term_env = make_term_env


def _who_asks() -> str | None:
    """The name of the person whose request this is; ``None`` where the server knows no persons."""
    handler = CallContext.get(CallContext.JUPYTER_HANDLER)
    user = getattr(handler, "current_user", None)
    # Jupyter's own providers invent a person for each browser.
    if handler is None or type(handler.identity_provider).__module__ == IdentityProvider.__module__:
        return None
    return getattr(user, "username", None) or None


def starts_here(manager: Any, kernel_name: str | None) -> bool:
    """Whether a kernel of that name, or the default one, is a process of this machine."""
    try:
        spec = manager.kernel_spec_manager.get_kernel_spec(kernel_name or manager.default_kernel_name)
    except KeyError:
        return False  # The start itself says that there is no such kernel.
    provisioner = spec.metadata.get("kernel_provisioner", {})
    return bool(provisioner.get("provisioner_name", "local-provisioner") == "local-provisioner")


def local_pid(kernel: Any) -> int | None:
    """The process of a kernel that this server has started on this machine, while it lives.

    What another provisioner or a gateway has started is somewhere else, and a number of it means nothing here.
    """
    provisioner = getattr(kernel, "provisioner", None)
    process = provisioner.process if isinstance(provisioner, LocalProvisioner) else None
    # Until it is waited for, nobody else gets its number.
    return process.pid if isinstance(process, subprocess.Popen) and process.returncode is None else None
