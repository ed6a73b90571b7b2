"""How the whole Jupyter server answers while one call of the driver takes 3 s."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.benchmarks import nvdashboard
from tests.benchmarks.latency import status_latencies_s, summary_ms
from tests.benchmarks.programs import GPUS, STALL, WATCH_S, Driver
from tests.benchmarks.table import Row, Section
from tests.live_server import TOKEN, LiveServer, live_server

_EACH_SECOND = ("--JupyterAir.poll_interval_s=1", "--JupyterAir.pause_after_s=0")


def measured() -> Section:
    """Ours, then the peer's."""
    driver = Driver(GPUS)
    with (
        tempfile.TemporaryDirectory(prefix="air-bench-") as folder,
        live_server(Path(folder), *_EACH_SECOND, env=driver.environment) as server,
    ):
        server.refresh()
        driver.fake.update(STALL)
        ours = summary_ms(asyncio.run(_watched(server)))
    theirs = nvdashboard.figures("stall")
    return Section(
        title="`/api/status` while NVML hangs",
        how=(
            f"One reading of one of {GPUS} GPUs takes 3 s, on the fake driver. Both are asked for readings once a "
            f"second, as by one tab, for {WATCH_S:.0f} s; `/api/status` is asked for 20 times a second, whether "
            "earlier answers have come or not."
        ),
        rows=[
            Row(what=what, ours=ours[what], unit="ms", beside=nvdashboard.NAME, theirs=theirs.get(what), most=most)
            for what, most in (("p50", None), ("p99", 0.1), ("max", 0.1))
        ],
    )


async def _watched(server: LiveServer) -> list[float]:
    tab = asyncio.create_task(_tab(server))
    try:
        return await status_latencies_s(server.url, TOKEN, WATCH_S)
    finally:
        tab.cancel()


async def _tab(server: LiveServer) -> None:
    """A pane that is open."""
    cursor = None
    while True:
        cursor = (await asyncio.to_thread(server.gpu, cursor))["cursor"]
        await asyncio.sleep(1)
