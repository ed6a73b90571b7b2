"""This machine as Prometheus text: ``air agent``.

The driver is read when somebody asks, in the same child process as the server's (``local.py``), and let go when nobody
has asked for a while. The main thread owns the readings; each request is a thread that waits for them only so long.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hmac
import ipaddress
import signal
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import msgspec
from prometheus_client.exposition import make_wsgi_app

from jupyter_air.errors import AirError, InputError, UnavailableError
from jupyter_air.gpu.agent_page import Told, registry
from jupyter_air.gpu.credentials import read_secret
from jupyter_air.gpu.local import LOCAL, LocalMachine
from jupyter_air.gpu.samples import NodeSample

#: How long a scrape waits for the driver before it is told what was known.
READ_WAIT_S = 2.0
#: Scrapes that come closer share one reading.
_SHARED_S = 0.5
#: Without a scrape for so long the driver is let go.
_IDLE_S = 300.0
_REQUEST_TIMEOUT_S = 5.0
_MOST_REQUESTS = 32

StartResponse = Callable[..., Any]
Environ = dict[str, Any]


def parse_listen(text: str) -> tuple[str, int]:
    """Host and port of ``127.0.0.1:9411`` or ``[::1]:9411``.

    Raises:
        InputError: it is something else.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise InputError(f"--listen is HOST:PORT such as 127.0.0.1:9411; got {text[:80]!r}.")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Reader:
    """The newest reading, for one event loop; ``tell`` may be called by any thread.

    Args:
        machine: is read.
        loop: on which it is read.
        wait_s: how long a caller waits for a reading.
    """

    def __init__(self, machine: LocalMachine, loop: asyncio.AbstractEventLoop, wait_s: float = READ_WAIT_S) -> None:
        self._machine = machine
        self._loop = loop
        self._wait_s = wait_s
        self._told = Told(
            NodeSample(name=socket.gethostname()[:128], state="stale", reason="Nothing was read yet."), None, False
        )
        self._known: NodeSample | None = None
        self._read_at_s = -_IDLE_S
        self._reading: asyncio.Task[None] | None = None

    def tell(self) -> Told:
        """What is known now, after a new reading where one comes in time; blocks no longer than that."""
        # A loop that is busy ending gives no reading; what was known is still true, with its age.
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError, RuntimeError):
            asyncio.run_coroutine_threadsafe(self._fresh(), self._loop).result(self._wait_s + 1.0)
        told = self._told
        read_s = self._known.time_s if self._known is not None else None
        return told._replace(age_s=None if read_s is None else max(0.0, time.time() - read_s))

    async def _fresh(self) -> None:
        if time.monotonic() - self._read_at_s < _SHARED_S:
            return
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="air-agent-reading")
        await asyncio.shield(self._reading)

    async def _read(self) -> None:
        node = (await self._machine.sample(time.time()))[LOCAL]
        self._read_at_s = time.monotonic()
        up = node.state in ("live", "no-gpu")
        if node.time_s is not None or up:
            self._known = node
        elif self._known is not None:
            # What was read before is told with its age: the state and the reason are this moment's.
            node = msgspec.structs.replace(node, gpus=self._known.gpus, driver=self._known.driver)
        self._told = Told(node, None, up)

    async def rest_when_idle(self) -> None:
        """Lets go of the driver whenever nobody has asked for a while; runs until it is cancelled."""
        while True:
            await asyncio.sleep(_IDLE_S / 10)
            if time.monotonic() - self._read_at_s > _IDLE_S:
                await self._machine.rest()


class _App:
    """The page, for whoever has the token."""

    def __init__(self, reader: Reader, token_file: Path | None, version: str) -> None:
        self._page = make_wsgi_app(registry(reader.tell, version))
        self._token_file = token_file

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/metrics":
            return _say(start_response, "404 Not Found", "The page is at /metrics.")
        try:
            allowed = self._is_allowed(environ.get("HTTP_AUTHORIZATION", ""))
        except AirError as error:
            return _say(start_response, "503 Service Unavailable", error.message)
        if not allowed:
            return _say(start_response, "401 Unauthorized", "A bearer token is needed.", ("WWW-Authenticate", "Bearer"))
        page: Iterable[bytes] = self._page(environ, start_response)
        return page

    def _is_allowed(self, authorization: str) -> bool:
        if self._token_file is None:
            return True
        # Read at each request: a rotated token counts at once.
        expected = f"Bearer {read_secret(self._token_file)}"
        return hmac.compare_digest(authorization.encode("utf-8", "replace"), expected.encode())


def _say(start_response: StartResponse, status: str, text: str, *headers: tuple[str, str]) -> list[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), *headers])
    return [f"{text}\n".encode()]


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_TIMEOUT_S
    server_version = "air-agent"
    sys_version = ""

    def log_message(self, format: str, *args: Any) -> None:
        """A line a scrape would say nothing."""


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    # A thread a connection: more than these at once are somebody's mistake, or worse.
    request_queue_size = _MOST_REQUESTS

    def __init__(self, host: str, port: int, app: _App) -> None:
        self._free = threading.BoundedSemaphore(_MOST_REQUESTS)
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        except (OSError, UnicodeError):
            raise InputError(f"The host of --listen is not known: {host[:80]}.") from None
        self.address_family = family
        try:
            super().__init__(address[:2], _Handler)  # type: ignore[arg-type]
        except OSError as error:
            raise UnavailableError(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from None
        self.set_app(app)

    def server_bind(self) -> None:
        # HTTPServer asks the DNS for this machine's name here, which may take half a minute.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[0], self.server_address[1]  # type: ignore[assignment]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours."""


async def serve(host: str, port: int, token_file: Path | None, *, version: str, ready: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT, and ends at once then, whatever the driver does.

    Args:
        host: to listen on.
        port: to listen on; 0 for a free one.
        token_file: holds the bearer token; ``None`` for no token.
        version: of this package.
        ready: is told the page's address.

    Raises:
        InputError: the token file or the host is not as it must be.
        UnavailableError: the address cannot be listened on.
    """
    if token_file is not None:
        read_secret(token_file)
    loop = asyncio.get_running_loop()
    machine = LocalMachine(timeout_s=READ_WAIT_S)
    reader = Reader(machine, loop)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = _Server(host, port, _App(reader, token_file, version))
    threading.Thread(target=server.serve_forever, name="air-agent-http", daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{server.server_port}/metrics")
    idle = asyncio.create_task(reader.rest_when_idle())
    await stop.wait()
    idle.cancel()
    server.socket.close()
    await machine.rest()
