"""An NVML child that crashes, answers nonsense or is attacked, and the server's end: nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_air.errors import UnavailableError
from jupyter_air.gpu.samples import GpuSample
from tests.fake_nvml import FakeNvml
from tests.gpu.child_process import ENOUGH_S, a_child, children, failure, is_alive, until


def test_a_crash_is_told_by_its_signal_and_repaired_by_the_next_sample(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            await child.sample(ENOUGH_S)
            fake.update({"gpu.1.crash": 1})
            error = await failure(child)
            assert (error.state, error.message) == ("error", "NVML's process ended unexpectedly (SIGSEGV).")
            assert isinstance(error, UnavailableError) and "dmesg" in error.hint
            fake.update(remove=["gpu.1.crash"])
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_crash_after_crash_is_slowed_down_and_stop_ends_the_wait(fake: FakeNvml) -> None:
    async def scenario() -> None:
        fake.update({"gpu.1.crash": 1})
        async with a_child() as child:
            messages = {(await failure(child)).message for _ in range(10)}
            assert messages == {"NVML's process ended unexpectedly (SIGSEGV)."}
            assert fake.calls("nvmlInit") == 2
            fake.update(remove=["gpu.1.crash"])
            await failure(child)
            await child.stop()
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_the_wait_after_crashes_has_an_end(fake: FakeNvml) -> None:
    async def scenario() -> None:
        fake.update({"gpu.1.crash": 1})
        async with a_child(retry_s=0.05) as child:
            await failure(child)
            await failure(child)
            fake.update(remove=["gpu.1.crash"])
            await asyncio.sleep(0.06)
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_a_machine_without_driver_keeps_no_child(fake: FakeNvml) -> None:
    async def scenario() -> None:
        fake.update({"init.return": 9})
        async with a_child() as child:
            nodes = [await child.sample(ENOUGH_S) for _ in range(10)]
            assert {(node.state, node.reason) for node in nodes} == {
                ("no-driver", "The NVIDIA driver is installed but not loaded.")
            }
            assert children() == [] and fake.calls("nvmlInit") == 2
            nodes[-1].gpus.append(GpuSample(uuid="a caller's", index="0", name=""))
            assert (await child.sample(ENOUGH_S)).gpus == []
            fake.update(remove=["init"])
            await child.stop()
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", ["echo garbage", "echo '{}'", "head -c 9000000 /dev/zero; sleep 60"])
def test_an_answer_that_is_no_reading_costs_the_child(
    fake: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    async def scenario() -> None:
        impostor = tmp_path / "python"
        impostor.write_text(f"#!/bin/sh\nread request\n{answer}\nread end\n")
        impostor.chmod(0o755)
        async with a_child() as child:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "executable", str(impostor))
                error = await failure(child)
            assert error.message == "NVML's process gave an answer that is no reading, and was ended."
            assert (await child.sample(ENOUGH_S)).state == "live"

    asyncio.run(scenario())


def test_a_python_that_does_not_start(fake: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(sys, "executable", "/nonexistent/python")
        async with a_child() as child:
            assert "cannot be started: No such file" in (await failure(child)).message

    asyncio.run(scenario())


def test_a_library_that_prints_does_not_break_the_answers(fake: FakeNvml, capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        fake.update({"gpu.0.temperature.print": 1})
        async with a_child() as child:
            assert (await child.sample(ENOUGH_S)).gpus[0].temperature_c == 50.0

    asyncio.run(scenario())
    assert "a library that prints" in capfd.readouterr().err


def test_ctrl_c_in_the_terminal_does_not_end_the_child(fake: FakeNvml) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            await child.sample(ENOUGH_S)
            pids = children()
            os.kill(pids[0], signal.SIGINT)
            assert (await child.sample(ENOUGH_S)).state == "live"
            assert children() == pids

    asyncio.run(scenario())


def test_a_package_in_the_working_folder_is_not_imported(
    fake: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            assert (await child.sample(ENOUGH_S)).state == "live"
            # Python 3.10 knows no PYTHONSAFEPATH: there the folder that the child works in is what keeps it safe.
            assert working_folder(children()[0]) == Path("/")

    for name in ("jupyter_air", "msgspec", "pynvml"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    asyncio.run(scenario())


def test_the_child_imports_what_the_server_does(
    fake: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with a_child() as child:
            assert "exit code 7" in (await failure(child)).message

    (tmp_path / "pynvml.py").write_text("raise SystemExit(7)")
    monkeypatch.syspath_prepend(tmp_path)
    asyncio.run(scenario())


def test_the_server_does_not_load_nvml() -> None:
    check = "import sys, jupyter_air.gpu.child; sys.exit('pynvml' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, env=with_this_path())


_SERVER = """
import asyncio
from jupyter_air.gpu.child import ChildError, NvmlChild

async def main():
    child = NvmlChild()
    await child.sample(20)
    print(child._process.pid, flush=True)
    input()
    try:
        await child.sample(0.3)
    except ChildError as error:
        print(type(error).__name__, flush=True)
    input()

asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_the_servers_end_waits_for_no_child_and_takes_it_along(fake: FakeNvml, end: str) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=with_this_path()
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        pid = int(server.stdout.readline())
        fake.update({"gpu.0.power.delay_ms": 600_000})
        server.stdin.write("hang\n")
        server.stdin.flush()
        assert server.stdout.readline() == "NotAnsweringError\n"
        start_s = time.monotonic()
        if end == "kill":
            server.kill()
        else:
            server.stdin.write("go\n")
            server.stdin.flush()
        server.wait(ENOUGH_S)
        assert time.monotonic() - start_s < 60, "the driver answers after 600"
    asyncio.run(until(lambda: not is_alive(pid)))


def working_folder(pid: int) -> Path:
    return Path(f"/proc/{pid}/cwd").readlink()


def with_this_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
