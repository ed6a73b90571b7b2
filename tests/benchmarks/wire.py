"""Bytes on the wire, counted where they arrive: status line, headers and body."""

from __future__ import annotations

import gzip
import json
import math
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.nvdashboard import NAME
from tests.benchmarks.programs import GPUS, instant_driver
from tests.benchmarks.table import Row, Section
from tests.live_server import LiveServer, live_server

_POLL_LIMIT = 1000
_HISTORY_LIMIT = 20_000
#: A frame of a web socket has a head of so many bytes at the lengths that come here.
_FRAME_HEAD = 4
#: Seconds for which both are compared at their defaults: one poll of ours, a hundred of theirs.
_SPAN_S = 10.0
_PEER_EVERY_S = 0.1


def measured(peer: dict[str, float]) -> Section:
    """Ours measured here.

    Args:
        peer: what ``nvdashboard.figures("cpu")`` gave.
    """
    poll, history = _poll_bytes(), _history_bytes()
    frame = peer.get("poll_bytes")
    theirs = None if frame is None else (frame + _FRAME_HEAD) * _SPAN_S / _PEER_EVERY_S
    return Section(
        title="Bytes on the wire",
        how=(
            f"{GPUS} GPUs, six readings each: what the server sends, headers and all, to a browser that is logged in. "
            "The history is that of a simulated fleet, whose readings are never still, and of the host beside it."
        ),
        rows=[
            Row(what="a poll of one new sample", ours=poll, unit="B", beside="limit", theirs=_POLL_LIMIT, most=1),
            Row(what="two hours of history", ours=history, unit="B", beside="limit", theirs=_HISTORY_LIMIT, most=1),
            Row(
                what=f"{_SPAN_S:.0f} s at defaults, one tab",
                ours=poll,
                unit="B",
                beside=f"{NAME}, one dashboard",
                theirs=theirs,
                most=1,
            ),
        ],
    )


def _poll_bytes() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="air-bench-") as folder,
        live_server(Path(folder), env=instant_driver()) as server,
    ):
        server.refresh()
        cursor = server.gpu()["cursor"]
        server.refresh()
        answer = _answer(server, f"jupyter-air/gpu?since={cursor}")
    assert len(_body(answer)["times_s"]) == 1, "a poll brings one sample"
    return len(answer)


def _history_bytes() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="air-bench-") as folder,
        live_server(Path(folder), f"--JupyterAir.simulate=1x{GPUS}") as server,
    ):
        until_s = time.monotonic() + 30
        # A server answers before the fleet has told of its past.
        while len(server.gpu()["times_s"]) < 718:
            assert time.monotonic() < until_s, "the history is not full"
            time.sleep(0.1)
        return len(_answer(server, "jupyter-air/gpu"))


def _body(answer: bytes) -> Any:
    """What an answer says."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return json.loads(gzip.decompress(body) if b"content-encoding: gzip" in head.lower() else body)


def _answer(server: LiveServer, path: str) -> bytes:
    """All that the server sends back for a GET of a browser that is logged in."""
    url = urlsplit(server.url + path)
    target = f"{url.path}?{url.query}" if url.query else url.path
    cookies = "; ".join(f"{name}={value}" for name, value in server.client.cookies.items())
    head = [f"GET {target} HTTP/1.1", f"Host: {url.netloc}", f"Cookie: {cookies}", "Accept-Encoding: gzip", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall("\r\n".join(head).encode())
        answer = b""
        while len(answer) < _length(answer):
            answer += connection.recv(65536)
    return answer


def _length(answer: bytes) -> float:
    """How long an answer will be, as far as it has come."""
    head, blank, _ = answer.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)content-length: (\d+)", head)
    return len(head) + len(blank) + int(found[1]) if blank and found else math.inf
