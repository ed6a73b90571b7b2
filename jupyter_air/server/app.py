"""The server extension: its traits, its routes, and the life of what runs behind them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp
from traitlets import Bool, Dict, Float, List, Unicode, validate
from traitlets.traitlets import TraitError

from jupyter_air import paths
from jupyter_air.errors import InputError
from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.local import LocalMachine
from jupyter_air.gpu.monitor import Monitor, Source
from jupyter_air.gpu.prometheus_answers import parse_selector
from jupyter_air.gpu.prometheus_server import PrometheusServer, base_url
from jupyter_air.gpu.scraping import Scraper
from jupyter_air.gpu.simulated import SimulatedFleet, parse_fleet
from jupyter_air.gpu.targets import Targets, parse_ray_address, parse_target
from jupyter_air.gpu.view import View
from jupyter_air.runs.choice import tracking_server
from jupyter_air.runs.configured import TRACKING_URI
from jupyter_air.runs.embedded import EmbeddedServer
from jupyter_air.runs.registering import start_for_leftovers
from jupyter_air.runs.upstream import TrackingServer
from jupyter_air.server import beside, gpu, holders, progress, proxy, runs, tracking
from jupyter_air.server.kernel_environment import (
    KernelEnvironment,
    TrackingEnvironment,
    give_to_kernels,
    give_to_terminals,
)

_LARGEST_HISTORY_ROWS = 100_000


class JupyterAir(ExtensionApp):
    """GPU resources, tracked runs and distributed training beside the notebook."""

    name = "jupyter_air"

    poll_interval_s = Float(10.0, help="Seconds between two samples of the GPUs, 1 to 3600.").tag(config=True)
    history_window_s = Float(
        7200.0, help="How many seconds of samples are kept, at least one interval, at most 100,000 intervals."
    ).tag(config=True)
    pause_after_s = Float(
        300.0, help="Seconds without a person's activity after which sampling pauses; 0 never pauses."
    ).tag(config=True)
    simulate = Unicode("", help="A simulated fleet beside this machine, NODESxGPUS such as '2x8'; empty for none.").tag(
        config=True
    )

    targets = List(
        Unicode(),
        help="Addresses of other nodes' pages, such as ['http://gpu-a:9400/metrics']: air agent, dcgm-exporter, "
        "nvidia_gpu_exporter, nvitop-exporter, Ray, AMD device-metrics-exporter or all-smi.",
    ).tag(config=True)
    target_files = List(
        Unicode(),
        help="Files that name such pages, as Prometheus' file_sd has them (JSON or YAML); read again when they change. "
        "The last part of a path may be a pattern, such as '/etc/gpus/*.json'.",
    ).tag(config=True)
    ray_address = Unicode(
        "",
        help="Ray whose nodes are shown: its dashboard, such as 'http://head:8265', or 'auto' for one that runs here.",
    ).tag(config=True)
    prometheus_url = Unicode(
        "", help="A Prometheus server that scrapes GPU nodes, such as 'http://prom:9090'; it also gives the past."
    ).tag(config=True)
    prometheus_selector = Unicode(
        "", help="Label matchers that narrow down what is read there, such as 'job=\"dcgm\"'."
    ).tag(config=True)
    bearer_token_files = Dict(
        help="Files (mode 0600) with bearer tokens, by address: {'https://gpu-*:9411': '/etc/air/token'}."
    ).tag(config=True)
    basic_auth_files = Dict(help="The same for files that hold user:password.").tag(config=True)

    tracking_uri = Unicode(
        "",
        help="The MLflow tracking server for kernels and pages, such as 'http://mlflow.lab:5000', unless the server's "
        "environment has MLFLOW_TRACKING_URI; empty for the embedded store.",
    ).tag(config=True)
    embedded_tracking = Bool(
        True, help="Whether runs that name no other tracking server go to a store of their user's on this machine."
    ).tag(config=True)
    tracking_idle_s = Float(
        900.0, help="Seconds without use after which the process that shows an MLflow store ends; it starts again."
    ).tag(config=True)
    proxy_tracking_pages = Bool(
        False,
        help="Show the pages of a configured tracking server on another machine through Jupyter, for browsers that do "
        "not reach it. Its scripts may then do all that Jupyter's own may: only for one that is trusted as Jupyter is.",
    ).tag(config=True)

    @validate("poll_interval_s")
    def _check_interval(self, proposal: dict[str, Any]) -> float:
        return _within("poll_interval_s", proposal["value"], 1.0, 3600.0)

    @validate("history_window_s")
    def _check_window(self, proposal: dict[str, Any]) -> float:
        return _within("history_window_s", proposal["value"], 1.0, 3600.0 * _LARGEST_HISTORY_ROWS)

    @validate("pause_after_s")
    def _check_pause(self, proposal: dict[str, Any]) -> float:
        value = float(proposal["value"])
        return value if value == 0 else _within("pause_after_s", value, 1.0, 604_800.0, "0 (never) or ")

    @validate("tracking_idle_s")
    def _check_tracking_idle(self, proposal: dict[str, Any]) -> float:
        return _within("tracking_idle_s", proposal["value"], 10.0, 604_800.0)

    @validate("tracking_uri")
    def _check_tracking_uri(self, proposal: dict[str, Any]) -> str:
        return _parsed(
            lambda uri: tracking_server({}, uri, folder=Path()), proposal["value"], "JupyterAir.tracking_uri: "
        )

    @validate("simulate")
    def _check_simulate(self, proposal: dict[str, Any]) -> str:
        text = str(proposal["value"])
        if text:
            try:
                parse_fleet(text)
            except InputError as error:
                raise TraitError(error.message) from None
        return text

    @validate("targets")
    def _check_targets(self, proposal: dict[str, Any]) -> list[str]:
        return [_parsed(parse_target, url, "JupyterAir.targets: ") for url in proposal["value"] if url]

    @validate("ray_address")
    def _check_ray_address(self, proposal: dict[str, Any]) -> str:
        return _parsed(parse_ray_address, proposal["value"])

    @validate("prometheus_url")
    def _check_prometheus_url(self, proposal: dict[str, Any]) -> str:
        return _parsed(base_url, proposal["value"])

    @validate("prometheus_selector")
    def _check_prometheus_selector(self, proposal: dict[str, Any]) -> str:
        return _parsed(parse_selector, proposal["value"])

    @validate("bearer_token_files", "basic_auth_files")
    def _check_secret_files(self, proposal: dict[str, Any]) -> dict[str, str]:
        for where, path in proposal["value"].items():
            if not str(where).startswith(("http://", "https://")) or not isinstance(path, str):
                raise TraitError(
                    f"JupyterAir.{proposal['trait'].name} maps addresses to files, such as "
                    f"{{'https://gpu-a:9411': '/etc/air/token'}}; got {str(where)!r:.80}."
                )
        return dict(proposal["value"])

    def _link_jupyter_server_extension(self, serverapp: ServerApp) -> None:
        """Takes over the server's configuration; a bad value ends the start, as Jupyter's own traits do."""
        try:
            super()._link_jupyter_server_extension(serverapp)
            self._check_history_rows()
        except TraitError as error:
            serverapp.log.critical("Bad config encountered during initialization: %s", error)
            serverapp.exit(1)

    def _check_history_rows(self) -> None:
        rows = self.history_window_s / self.poll_interval_s
        if not 1 <= rows <= _LARGEST_HISTORY_ROWS:
            raise TraitError(
                f"JupyterAir.history_window_s must hold 1 to {_LARGEST_HISTORY_ROWS:,} intervals of "
                f"{self.poll_interval_s:g} s; got {self.history_window_s:g} s."
            )

    def initialize_handlers(self) -> None:
        """Builds the monitor and names the routes (ExtensionApp's hook)."""
        self.monitor = Monitor(
            self._sources(),
            poll_interval_s=self.poll_interval_s,
            window_s=self.history_window_s,
            pause_after_s=self.pause_after_s,
            is_busy=self._is_a_kernel_busy,
        )
        view = View(self.monitor)
        holding = holders.Holding(self.monitor, self._server)
        self.handlers.extend(
            [
                (r"/jupyter-air/gpu", gpu.GpuHandler, {"view": view}),
                (r"/jupyter-air/gpu/activity", gpu.ActivityHandler, {"monitor": self.monitor}),
                (r"/jupyter-air/gpu/refresh", gpu.RefreshHandler, {"monitor": self.monitor}),
                (r"/jupyter-air/gpu/history\.csv", gpu.HistoryCsvHandler, {"monitor": self.monitor}),
                (r"/jupyter-air/gpu/holders", holders.HoldersHandler, {"holding": holding}),
            ]
        )
        server = self._tracking_server()
        main = tracking.Tracking(server, pages_through_jupyter=self.proxy_tracking_pages)
        self.servers = beside.TrackingServers(self._server, main, idle_s=self.tracking_idle_s)
        notebook_runs = runs.NotebookRuns(self._server, self.servers, self._give(server))
        self.handlers.extend(
            [
                (r"/jupyter-air/tracking", progress.StateHandler, {"servers": self.servers}),
                (r"/jupyter-air/tracking/start", progress.StartHandler, {"servers": self.servers}),
                (r"/jupyter-air/mlflow(?:-beside/[^/]+)?", proxy.AddSlashHandler),
                (r"/jupyter-air/mlflow(?:-beside/[^/]+)?/.*", proxy.ProxyHandler, {"servers": self.servers}),
                (r"/jupyter-air/runs/context", runs.ContextHandler, {"runs": notebook_runs}),
            ]
        )
        self._server.io_loop.add_callback(self.monitor.start)
        self._server.io_loop.add_callback(self._look_after_runs)

    async def _look_after_runs(self) -> None:
        """Runs that lost their kernel while nobody was there, such as with the machine's power, are ended."""
        uri = os.environ.get(TRACKING_URI) or self.tracking_uri or None
        # In a thread: a disk that hangs must not hang the server.
        await asyncio.to_thread(start_for_leftovers, paths.home(), uri)

    def _tracking_server(self) -> TrackingServer | None:
        """The MLflow behind the proxy, which kernels and terminals use too unless they have their own."""
        if not (self.embedded_tracking or self.tracking_uri or os.environ.get(TRACKING_URI)):
            return None
        folder = Path(self._server.root_dir)
        try:
            return tracking_server(os.environ, self.tracking_uri, folder=folder, idle_s=self.tracking_idle_s)
        except InputError as error:
            self.log.warning("%s: %s %s", TRACKING_URI, error.message, error.hint)
            return None

    def _give(self, server: TrackingServer | None) -> KernelEnvironment:
        """Tells kernels and terminals where runs go, and kernels where the pages of that store are."""
        given: EmbeddedServer | str = os.environ.get(TRACKING_URI) or self.tracking_uri
        store = None
        if isinstance(server, EmbeddedServer):
            given, store = server if server.store.embedded else server.uri, server.uri
        environment = TrackingEnvironment(given, self.log) if given else None
        kernels = KernelEnvironment(environment, store, self.servers, self._server.base_url)
        give_to_kernels(self._server, kernels)
        if environment is not None:
            # Terminals are an extension of their own, which may be loaded after this one.
            self._server.io_loop.add_callback(give_to_terminals, self._server, environment)
        return kernels

    @property
    def _server(self) -> ServerApp:
        assert self.serverapp is not None, "the extension is linked before it is initialized"
        return self.serverapp

    def _sources(self) -> list[Source]:
        sources: list[Source] = [LocalMachine(timeout_s=min(8.0, 0.8 * self.poll_interval_s))]
        if self.simulate:
            # Whoever asks for a fleet wants to see it before a machine that may have no GPU.
            sources.insert(0, SimulatedFleet(*parse_fleet(self.simulate)))
        credentials = Credentials(self.bearer_token_files, self.basic_auth_files)
        own_name = [socket.gethostname()]
        if self.targets or self.target_files or self.ray_address:
            targets = Targets(self.targets, self.target_files, self.ray_address, credentials)
            sources.append(Scraper(targets, credentials, interval_s=self.poll_interval_s, taken=own_name))
        if self.prometheus_url:
            sources.append(
                PrometheusServer(
                    self.prometheus_url,
                    self.prometheus_selector,
                    credentials,
                    interval_s=self.poll_interval_s,
                    taken=own_name,
                )
            )
        return sources

    def _is_a_kernel_busy(self) -> bool:
        manager = self._server.kernel_manager
        return any(getattr(kernel, "execution_state", None) == "busy" for kernel in manager._kernels.values())

    async def stop_extension(self) -> None:
        """Ends the sampling; the server's exit never waits for a driver."""
        await self.servers.close()
        await self.monitor.stop()


def _within(name: str, value: float, low: float, high: float, also: str = "") -> float:
    if not low <= value <= high:  # also false for NaN
        raise TraitError(f"JupyterAir.{name} must be {also}{low:g} to {high:g} seconds; got {value:g}.")
    return float(value)


def _parsed(parse: Callable[[str], object], text: str, before: str = "") -> str:
    """The text, when it can be parsed; empty is the default and means none."""
    if text:
        try:
            parse(text)
        except InputError as error:
            raise TraitError(before + error.message) from None
    return text
