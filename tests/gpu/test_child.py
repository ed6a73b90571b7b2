"""The server's side of the NVML child: it answers in time whatever the driver does."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time

import pytest

from jupyter_air.gpu.child import ChildError, NotAnsweringError, NvmlChild
from tests.fake_nvml import FakeNvml
from tests.gpu.child_process import ENOUGH_S, a_child, children, failure, until


def test_one_child_one_init_and_no_thread(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            first = await child.sample(ENOUGH_S)
            pids = children()
            fake.update({"gpu.0.temperature": 66})
            second = await child.sample(ENOUGH_S)
            assert [node.gpus[0].temperature_c for node in (first, second)] == [50.0, 66.0]
            assert children() == pids and len(pids) == 1
            assert fake.calls("nvmlInit") == 1
            assert threading.active_count() == threads
        assert children() == []

    threads = threading.active_count()
    asyncio.run(scenario())


def test_stop_lets_go_of_nvml_and_sampling_goes_on_after_it(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            await child.sample(ENOUGH_S)
            await child.stop()
            assert (children(), fake.calls("nvmlShutdown"), fake.users()) == ([], 1, 0)
            await child.stop()
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_side_by_side_calls_share_one_request(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            nodes = await asyncio.gather(*(child.sample(ENOUGH_S) for _ in range(5)))
            assert len({node.time_s for node in nodes}) == 1
            assert fake.calls("nvmlDeviceGetCount") == 1

    asyncio.run(scenario())


def test_a_hang_is_told_with_its_length_and_its_late_answer_is_used(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            await child.sample(ENOUGH_S)
            fake.update({"gpu.1.memory.delay_ms": 60_000})
            asked_s = time.time()
            first = await failure(child, 0.1)
            second = await failure(child, 0.2)
            assert isinstance(first, NotAnsweringError) and isinstance(second, NotAnsweringError)
            assert 0.1 <= first.waiting_s < second.waiting_s and second.waiting_s >= 0.3
            assert (first.state, first.message) == ("stale", "NVML has not answered for 0 s.")
            fake.update(remove=["gpu.1.memory.delay_ms"])
            answered_s = time.time()
            node = await child.sample(ENOUGH_S)
            assert node.time_s is not None and asked_s <= node.time_s < answered_s
            assert fake.calls("nvmlDeviceGetCount") == 2

    asyncio.run(scenario())


def test_the_event_loop_never_waits_for_nvml(fake: FakeNvml) -> None:
    async def scenario() -> None:
        gaps = []

        async def tick() -> None:
            last = time.monotonic()
            while True:
                await asyncio.sleep(0.005)
                now = time.monotonic()
                gaps.append(now - last)
                last = now

        fake.update({"init.delay_ms": 60_000})
        async with a_child() as child:
            ticking = asyncio.create_task(tick())
            await failure(child, 1.0)
            await child.stop()
            ticking.cancel()
        assert max(gaps) < 0.4

    asyncio.run(scenario())


def test_a_hang_beyond_the_limit_is_ended_and_a_new_child_started(fake: FakeNvml) -> None:
    async def scenario() -> None:
        fake.update({"gpu.0.power.delay_ms": 60_000})
        async with a_child(hang_limit_s=2.0) as child:
            error = await failure(child)
            assert error.message == "NVML did not answer for 2 s; its process was ended."
            assert children() == []
            fake.update(remove=["gpu.0.power.delay_ms"])
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_a_child_that_cannot_be_killed_is_never_joined_by_a_second(
    fake: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        fake.update({"gpu.0.power.delay_ms": 600_000})
        # No test can put a process into the kernel's D state: one that signals do not reach is as near as it gets.
        monkeypatch.setattr(subprocess.Popen, "kill", lambda process: None)
        async with a_child(hang_limit_s=2.0) as child:
            await failure(child)
            (pid,) = children()
            error = await failure(child)
            assert (error.state, error.message) == (
                "error",
                f"NVML's process {pid} hangs in the NVIDIA driver and cannot be ended.",
            )
            start_s = time.monotonic()
            await child.stop()
            assert time.monotonic() - start_s < 30, "the driver answers after 600"
            assert f"process {pid} hangs" in (await failure(child)).message
            assert children() == [pid] and fake.calls("nvmlInit") == 1
            os.kill(pid, signal.SIGKILL)
            fake.update(remove=["gpu.0.power.delay_ms"])
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_stop_does_not_wait_for_an_nvml_that_hangs(fake: FakeNvml) -> None:
    async def scenario() -> None:
        fake.update({"gpu.0.power.delay_ms": 60_000})
        async with a_child() as child:
            await until_asked(child)
            waiting = asyncio.create_task(child.sample(ENOUGH_S))
            await asyncio.sleep(0)
            start_s = time.monotonic()
            await child.stop()
            assert time.monotonic() - start_s < 30, "the driver answers after 60"
            assert children() == []
            with pytest.raises(ChildError, match="was stopped"):
                await waiting
            await failure(child, 0.05)
            await child.stop()
            fake.update(remove=["gpu.0.power.delay_ms"])
            assert (await child.sample(ENOUGH_S)).state == "live"

    async def until_asked(child: NvmlChild) -> None:
        await failure(child, 0.05)
        await until(lambda: fake.calls("nvmlDeviceGetTemperatureV") > 0)

    asyncio.run(scenario())
