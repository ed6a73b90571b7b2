"""Real HTTP servers on loopback that behave as a test tells them: one thread, raw sockets, every fault a function."""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType

Behaviour = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]

PAGES = Path(__file__).parent / "pages"


def page(name: str) -> bytes:
    return (PAGES / f"{name}.txt").read_bytes()


def answer(body: bytes, status: str = "200 OK", *headers: str) -> Behaviour:
    """A well-behaved answer on a connection that stays open."""

    async def behave(request: bytes, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: text/plain", *headers]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    return behave


def zipped(body: bytes) -> Behaviour:
    return answer(gzip.compress(body), "200 OK", "Content-Encoding: gzip")


def bomb(size: int) -> Behaviour:
    """So many zeros, as a gzip that is a thousandth of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = bytes(2**20)
    body = b"".join(packer.compress(chunk) for _ in range(size // 2**20)) + packer.flush()
    return answer(body, "200 OK", "Content-Encoding: gzip")


async def hang(request: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def trickle(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"#")
        await writer.drain()
        await asyncio.sleep(0.02)


async def zeros(request: bytes, writer: asyncio.StreamWriter) -> None:
    """One gigabyte, as fast as it is taken."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(1024):
        writer.write(bytes(2**20))
        await writer.drain()


async def cut_off(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + page("dcgm")[:700])
    await writer.drain()
    writer.close()


async def slam(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def nonsense(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail ready\r\n\r\n")
    await writer.drain()
    writer.close()


class ExporterServer:
    """A server on an address of loopback; ``behaviour`` may be changed at any time.

    Args:
        behaviour: what it does with a request.
        host: an address of 127.0.0.0/8.
        port: 0 for a free one.
    """

    def __init__(self, behaviour: Behaviour, host: str = "127.0.0.1", port: int = 0) -> None:
        self.behaviour = behaviour
        self.requests: list[bytes] = []
        self.connections = 0
        self.open_connections = 0
        self.host = host
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/metrics"

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, self.host, self.port))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(request)
                await self.behaviour(request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    def __enter__(self) -> ExporterServer:
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
