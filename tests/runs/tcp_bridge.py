"""A port of loopback that leads to a unix socket, and remembers what was asked on the way."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType


class Bridge:
    """Open as long as its block lasts.

    Args:
        port: to listen on.
        socket: where it leads to.
    """

    def __init__(self, port: int, socket: str) -> None:
        self._port = port
        self._socket = socket
        self._heard = bytearray()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def headers(self, name: str) -> set[str]:
        """All values of a header that came."""
        lines = self._heard.decode("latin-1").split("\r\n")
        return {line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name}:")}

    def __enter__(self) -> Bridge:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _open(self) -> None:
        await asyncio.start_server(self._connected, "127.0.0.1", self._port)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(self._socket)
        await asyncio.gather(self._pass(reader, there_writer, self._heard), self._pass(there_reader, writer, None))

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray | None) -> None:
        while piece := await reader.read(2**16):
            if heard is not None:
                heard += piece
            writer.write(piece)
            await writer.drain()
        writer.close()
