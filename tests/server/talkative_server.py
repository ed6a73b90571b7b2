"""An HTTP server that tells what it was asked, and answers in ways that no tracking server should."""

from __future__ import annotations

import hashlib
import json
import socket as socketlib
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PIECE = bytes(1 << 20)


class TalkativeServer:
    """On a free port of loopback, or on a unix socket.

    Attributes:
        asked: the requests so far, ``METHOD PATH``.
        may_read: cleared, the body of a request to ``/waits`` is not read yet.
        was_left: set once somebody left ``/endless``.
        sent_mib: how much of ``/large`` has been taken from it.
    """

    def __init__(self, socket: Path | None = None) -> None:
        self.asked: list[str] = []
        self.connections: list[socketlib.socket] = []
        self.may_read = threading.Event()
        self.was_left = threading.Event()
        self.sent_mib = 0
        handler = type("Handler", (_Handler,), {"talk": self})
        self._server = _Tcp(("127.0.0.1", 0), handler) if socket is None else _Unix(str(socket), handler)
        self.port = int(self._server.socket.getsockname()[1]) if socket is None else 0
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.may_read.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socketlib.SHUT_RDWR)


@contextmanager
def talkative_server(socket: Path | None = None) -> Iterator[TalkativeServer]:
    server = TalkativeServer(socket)
    try:
        yield server
    finally:
        server.stop()


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    talk: TalkativeServer

    def setup(self) -> None:
        super().setup()
        self.talk.connections.append(self.connection)

    def address_string(self) -> str:
        return "somebody"

    def log_message(self, *_: Any) -> None:
        pass

    def _talk(self) -> None:
        where = urlsplit(self.path)
        self.talk.asked.append(f"{self.command} {self.path}")
        name = where.path.strip("/").split("/")[0].replace("-", "_")
        with suppress(ConnectionError):
            getattr(self, f"_{name}", self._echo)(parse_qs(where.query))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _talk

    def _echo(self, _query: dict[str, list[str]]) -> None:
        digest, size = hashlib.sha256(), 0
        for piece in self._body():
            digest.update(piece)
            size += len(piece)
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        told = {
            "method": self.command,
            "path": self.path,
            "headers": headers,
            "sha256": digest.hexdigest(),
            "size": size,
        }
        self._send(200, json.dumps(told).encode(), ("Content-Type", "application/json"))

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 1 << 16))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def _health(self, _query: dict[str, list[str]]) -> None:
        self._send(200, b"OK", ("Content-Type", "text/plain"))

    def _status(self, query: dict[str, list[str]]) -> None:
        self._send(int(query["code"][0]), b'{"error_code": "SOME", "message": "in words"}', ("ETag", '"one"'))

    def _hostile(self, _query: dict[str, list[str]]) -> None:
        self._send(
            200,
            b"<script>",
            ("Content-Type", "text/html"),
            ("Set-Cookie", "_xsrf=mine; Path=/"),
            ("Access-Control-Allow-Origin", "*"),
            ("Content-Security-Policy", "default-src *"),
            ("Clear-Site-Data", '"*"'),
            ("Service-Worker-Allowed", "/"),
            ("WWW-Authenticate", "Basic"),
            ("Refresh", "0; url=http://elsewhere"),
            ("Link", "<http://elsewhere>; rel=preload"),
            ("X-Frame-Options", "DENY"),
            ("Cache-Control", "public, max-age=60"),
            ("X-MLflow-Of-Its-Own", "kept"),
            ("Content-Disposition", 'attachment; filename="f\u00fcr.html"'.encode().decode("latin-1")),
        )

    def _redirect(self, query: dict[str, list[str]]) -> None:
        self._send(302, b"", ("Location", query["to"][0].replace("OWN", self.talk.url)))

    def _large(self, query: dict[str, list[str]]) -> None:
        mebibytes = int(query["mib"][0])
        self.send_response(200)
        self.send_header("Content-Length", str(mebibytes << 20))
        self.end_headers()
        self.talk.sent_mib = 0
        for _ in range(mebibytes):
            self.wfile.write(PIECE)
            self.talk.sent_mib += 1

    def _breaks(self, _query: dict[str, list[str]]) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PIECE)))
        self.end_headers()
        self.wfile.write(PIECE[: 1 << 18])
        self.close_connection = True

    def _falters(self, query: dict[str, list[str]]) -> None:
        # As a kept connection that is closed at the moment in which it is used again.
        self.close_connection = self.talk.asked.count(self.talk.asked[-1]) % 2 == 1
        if not self.close_connection:
            self._echo(query)

    def _endless(self, _query: dict[str, list[str]]) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(PIECE)
        except ConnectionError:
            self.talk.was_left.set()

    def _waits(self, query: dict[str, list[str]]) -> None:
        self.talk.may_read.wait()
        self._echo(query)

    def _refuses(self, _query: dict[str, list[str]]) -> None:
        self._send(413, b"too much", ("Connection", "close"))
        self.connection.shutdown(socketlib.SHUT_WR)
        for _ in self._body():
            pass
