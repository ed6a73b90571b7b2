"""``python -m tests.benchmarks.nvdashboard_server cpu|stall``, run by the Python that has jupyterlab-nvdashboard.

Prints the figures of its server as JSON, with its "GPU Resources" dashboard open: 8 GPUs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.benchmarks.cpu import family_cpu_s
from tests.benchmarks.latency import status_latencies_s, summary_ms
from tests.benchmarks.programs import GPUS, POLLS, STALL, WATCH_S, Driver, instant_driver
from tests.live_server import TOKEN, LiveServer, live_server

#: One poll after the other, and the cadence of ours at its quickest.
_AT_ONCE_MS = 2
_EACH_SECOND_MS = 1000


@asynccontextmanager
async def _dashboard(server: LiveServer, every_ms: int) -> AsyncIterator[WebSocketClientConnection]:
    """The connection that an open dashboard holds."""
    url = server.url.replace("http", "ws", 1) + "nvdashboard/gpu_resource"
    connection = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"}))
    await connection.read_message()
    await connection.write_message(json.dumps({"updateFrequency": every_ms, "isPaused": False}))
    try:
        yield connection
    finally:
        connection.close()


async def _cpu(server: LiveServer) -> dict[str, float]:
    """CPU and bytes of a poll, one after the other."""
    async with _dashboard(server, _AT_ONCE_MS) as connection:
        await connection.read_message()
        before_s = family_cpu_s(server.process.pid)
        sizes = [len(await connection.read_message() or "") for _ in range(POLLS)]
        spent_s = family_cpu_s(server.process.pid) - before_s
    return {"poll_ms": 1000 * spent_s / POLLS, "poll_bytes": sum(sizes) / POLLS}


async def _calls(server: LiveServer, driver: Driver) -> dict[str, float]:
    """Calls of the driver a poll."""
    async with _dashboard(server, _AT_ONCE_MS) as connection:
        await connection.read_message()
        driver.fake.forget_calls()
        polls = 20
        for _ in range(polls):
            await connection.read_message()
        return {"poll_calls": driver.calls() / polls}


async def _stall(server: LiveServer, driver: Driver) -> dict[str, float]:
    """Latency of ``/api/status`` while one call of the driver takes 3 s."""
    async with _dashboard(server, _EACH_SECOND_MS) as connection:
        await connection.read_message()
        driver.fake.update(STALL)
        return summary_ms(await status_latencies_s(server.url, TOKEN, WATCH_S))


def main() -> None:
    """Measures what the first argument names."""
    driver = Driver(GPUS)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="air-bench-") as folder:
        if sys.argv[1] == "stall":
            with live_server(Path(folder), env=driver.environment) as server:
                figures |= asyncio.run(_stall(server, driver))
        else:
            with live_server(Path(folder), env=instant_driver()) as server:
                figures |= asyncio.run(_cpu(server))
            with live_server(Path(folder), env=driver.logging_environment) as server:
                figures |= asyncio.run(_calls(server, driver))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
