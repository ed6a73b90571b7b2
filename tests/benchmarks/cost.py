"""CPU of the server: a sample of 8 GPUs, an answer to a browser, and what the driver's library is asked."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil

from jupyter_air.gpu.local import LocalMachine
from jupyter_air.gpu.monitor import Monitor
from tests.benchmarks.cpu import cpu_s
from tests.benchmarks.nvdashboard import NAME
from tests.benchmarks.programs import GPUS, POLLS, Driver, instant_driver
from tests.benchmarks.table import Row, Section
from tests.live_server import live_server

_SAMPLES = 100
#: How often each asks unless a person changes it.
_EVERY_S = 10.0
_PEER_EVERY_S = 0.1


def measured(peer: dict[str, float]) -> Section:
    """Ours measured here.

    Args:
        peer: what ``nvdashboard.figures("cpu")`` gave.
    """
    server_ms, child_ms = asyncio.run(_sample_ms())
    calls = asyncio.run(_sample_calls())
    poll_ms = _poll_ms()
    ours_ms = server_ms + child_ms + poll_ms
    theirs_ms, their_calls = peer.get("poll_ms"), peer.get("poll_calls")
    rows = [
        ("a sample, in the server's process", server_ms, "ms", theirs_ms, None),
        ("a sample, in the child", child_ms, "ms", theirs_ms, None),
        ("a poll over HTTP, in the server's process", poll_ms, "ms", theirs_ms, None),
        ("sample and poll together", ours_ms, "ms", theirs_ms, None),
        ("each second at defaults, one tab", ours_ms / _EVERY_S, "ms", _each_second(theirs_ms), 1),
        ("calls of the driver, a sample", calls, "calls", their_calls, None),
        ("calls of the driver each second at defaults", calls / _EVERY_S, "calls", _each_second(their_calls), 1),
    ]
    return Section(
        title="CPU of the server",
        how=(
            f"{GPUS} GPUs of a driver that answers at once; {_SAMPLES} samples, {POLLS} polls. Beside one poll of "
            f'{NAME}\'s "GPU Resources", which reads utilization and memory, on the event loop of the server and for '
            f"each open dashboard; ours reads all there is, in a child. Its default is {1 / _PEER_EVERY_S:.0f} polls a "
            f"second, ours a sample and a poll each {_EVERY_S:.0f} s."
        ),
        rows=[
            Row(what=what, ours=ours, unit=unit, beside=f"{NAME}, a poll", theirs=theirs, most=most)
            for what, ours, unit, theirs, most in rows
        ],
    )


def _each_second(a_poll: float | None) -> float | None:
    return None if a_poll is None else a_poll / _PEER_EVERY_S


@contextmanager
def _monitor(environment: dict[str, str]) -> Iterator[Monitor]:
    """A monitor of this machine with that driver, which samples when it is told to."""
    with patch.dict(os.environ, environment):
        yield Monitor(
            [LocalMachine(timeout_s=8.0)],
            poll_interval_s=_EVERY_S,
            window_s=7200.0,
            pause_after_s=0.0,
            is_busy=lambda: False,
        )


async def _sample_ms() -> tuple[float, float]:
    with _monitor(instant_driver()) as monitor:
        await monitor.refresh()
        (child,) = psutil.Process().children()
        before_s, child_before_s = time.process_time(), cpu_s(child.pid)
        for _ in range(_SAMPLES):
            await monitor.refresh()
        spent_s, child_spent_s = time.process_time() - before_s, cpu_s(child.pid) - child_before_s
        await monitor.stop()
    return 1000 * spent_s / _SAMPLES, 1000 * child_spent_s / _SAMPLES


async def _sample_calls() -> float:
    driver = Driver(GPUS)
    with _monitor(driver.logging_environment) as monitor:
        await monitor.refresh()
        driver.fake.forget_calls()
        await monitor.refresh()
        await monitor.stop()
    return driver.calls()


def _poll_ms() -> float:
    with (
        tempfile.TemporaryDirectory(prefix="air-bench-") as folder,
        live_server(Path(folder), env=instant_driver()) as server,
    ):
        server.refresh()
        cursor = server.gpu()["cursor"]
        before_s = cpu_s(server.process.pid)
        for _ in range(POLLS):
            server.gpu(since=cursor)
        return 1000 * (cpu_s(server.process.pid) - before_s) / POLLS
