"""Drivers and GPUs that are absent, broken, reloaded, lost or gone, through the real ctypes path."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_nvml import FakeNvml, healthy, healthy_gpu, key, uuid
from tests.gpu.reader_process import ReaderProcess


@pytest.mark.parametrize(
    ("code", "reason", "hint"),
    [
        (9, "not loaded", "modprobe"),
        (18, "Driver/library version mismatch", "Reload the driver or reboot this machine."),
        (4, "Insufficient Permissions", "/dev/nvidiactl"),
        (999, "Unknown Error", "restart it"),
        (23, "NVML error 23", "nvidia-smi"),
    ],
)
def test_no_driver_says_why_and_what_to_do(
    fake: FakeNvml, reader: ReaderProcess, code: int, reason: str, hint: str
) -> None:
    fake.update({"init.return": code})
    node = reader.read()
    assert (node.state, node.gpus, node.time_s) == ("no-driver", [], None)
    assert reason in (node.reason or "") and hint in (node.hint or "")


def test_no_library(fake: FakeNvml) -> None:
    with ReaderProcess(environment={"LD_LIBRARY_PATH": ""}) as reader:
        node = reader.read()
    assert node.state == "no-driver"
    assert node.reason == "There is no NVIDIA driver here: libnvidia-ml.so.1 is not found."


def test_a_driver_that_comes_is_found_by_a_slow_retry(fake: FakeNvml) -> None:
    fake.update({"init.return": 9})
    with ReaderProcess(retry_s=0.2) as reader:
        assert [reader.read().state for _ in range(20)] == ["no-driver"] * 20
        assert fake.calls("nvmlInit") < 3
        fake.update(remove=["init"])
        end = time.monotonic() + 10
        while reader.read().state == "no-driver" and time.monotonic() < end:
            time.sleep(0.02)
        assert [gpu.state for gpu in reader.read().gpus] == ["ok", "ok"]


def test_no_gpu(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.write({"driver.version": "580.65.06", "count": 0})
    node = reader.read()
    assert (node.state, node.reason) == ("no-gpu", "The NVIDIA driver is loaded but finds no GPU.")


def test_no_gpu_told_by_init(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"init.return": 6})
    assert reader.read().state == "no-gpu"


def test_gpus_that_cannot_be_counted(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"count.return": 17})
    node = reader.read()
    assert (node.state, node.gpus) == ("error", [])
    assert "NVML error 17" in (node.reason or "")


@pytest.mark.parametrize("code", [1, 15, 999])
def test_a_reload_of_the_driver_is_survived_within_the_reading(
    fake: FakeNvml, reader: ReaderProcess, code: int
) -> None:
    fake.update({"gpu.*.temperature.v.return": 13})
    reader.read()
    fake.update({"driver.reload": 1, "driver.reload.return": code, "driver.version": "590.10"}, remove=["gpu.*"])
    fake.forget_calls()
    node = reader.read()
    assert (node.driver, [gpu.temperature_c for gpu in node.gpus]) == ("590.10", [50.0, 50.0])
    assert (fake.calls("nvmlShutdown"), fake.calls("nvmlInit"), fake.users()) == (1, 1, 1)
    # What the old driver lacked is tried again with the new one.
    assert fake.calls("nvmlDeviceGetTemperatureV") == 2


def test_an_only_gpu_that_stays_lost_is_not_initialised_at_every_reading(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.write(healthy(1))
    reader.read()
    fake.update({"gpu.0.return": 15})
    rows = [reader.gpu() for _ in range(10)]
    assert {(row.uuid, row.state) for row in rows} == {(key(0), "lost")}
    assert fake.calls("nvmlInit") == 2


def test_a_lost_gpu_hides_no_other_and_is_left_alone(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.0.temperature.return": 15})
    gpu, other = reader.read().gpus
    assert (gpu.state, gpu.uuid, gpu.name) == ("lost", key(0), "NVIDIA H100 80GB HBM3")
    assert "fallen off the bus" in (gpu.reason or "")
    assert (gpu.utilization_percent, gpu.memory_used_bytes, gpu.pids) == (None, None, None)
    assert (other.state, other.temperature_c) == ("ok", 50.0)
    assert fake.calls("nvmlDeviceGetPowerUsage", "gpu.0") == 0
    assert fake.calls("nvmlInit") == 1


def test_a_gpu_lost_down_to_its_handle_keeps_its_name(fake: FakeNvml, reader: ReaderProcess) -> None:
    reader.read()
    fake.update({"gpu.1.handle.return": 15})
    other, gpu = reader.read().gpus
    assert other.state == "ok"
    assert (gpu.uuid, gpu.index, gpu.state, gpu.name) == (key(1), "1", "lost", "NVIDIA H100 80GB HBM3")


def test_a_gpu_that_needs_a_reset_is_no_reload(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.*.temperature.return": 16})
    gpu = reader.gpu()
    assert (gpu.state, fake.calls("nvmlInit")) == ("error", 1)
    assert "needs a reset" in (gpu.reason or "")


def test_a_gpu_that_vanishes_shifts_nobody(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.write(healthy(3) | {"gpu.2.temperature": 72})
    reader.read()
    two_left = {"count": 2, **healthy_gpu(0), **healthy_gpu(1, uuid=uuid(2), temperature=73)}
    fake.write(two_left)
    first, shifted = reader.read().gpus
    assert (first.uuid, first.state) == (key(0), "ok")
    assert (shifted.uuid, shifted.index, shifted.temperature_c) == (key(2), "1", 73.0)
    fake.write(healthy(3))
    assert [(gpu.uuid, gpu.state) for gpu in reader.read().gpus] == [(key(index), "ok") for index in range(3)]


def test_the_old_pynvml_package_in_the_way(fake: FakeNvml, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "pynvml.py").write_text(
        "import importlib.util, sys\n"
        "path = next(p for p in map(lambda d: d + '/pynvml.py', sys.path[2:]) if __import__('os').path.exists(p))\n"
        "exec(compile(open(path).read(), path, 'exec'))\n"
        "del nvmlDeviceGetTemperatureV\n"
        "nvmlDeviceGetName = lambda handle, get=nvmlDeviceGetName: get(handle).encode() + b'\\xff'\n"
        "nvmlDeviceGetUUID = lambda handle, get=nvmlDeviceGetUUID: get(handle).encode()\n"
    )
    paths = os.pathsep.join([str(shadow), *(path for path in sys.path if path)])
    with ReaderProcess(environment={"PYTHONPATH": paths}) as reader:
        gpu = reader.gpu()
    assert (gpu.uuid, gpu.name, gpu.temperature_c) == (key(0), "NVIDIA H100 80GB HBM3\ufffd", 50.0)


def test_nvml_is_initialised_once_and_shut_down(fake: FakeNvml, reader: ReaderProcess) -> None:
    for _ in range(5):
        reader.read()
    assert (fake.calls("nvmlInit"), fake.users()) == (1, 1)
    reader.close()
    assert (fake.calls("nvmlShutdown"), fake.users()) == (1, 0)


def test_importing_initialises_nothing(fake: FakeNvml) -> None:
    subprocess.run(
        [sys.executable, "-c", "from jupyter_air.gpu.nvml import NvmlReader; NvmlReader()"],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert not fake.log.exists()


def test_rows_follow_nvmls_index_whatever_cuda_shows(fake: FakeNvml) -> None:
    with ReaderProcess(environment={"CUDA_VISIBLE_DEVICES": "1"}) as reader:
        assert [(gpu.index, gpu.uuid) for gpu in reader.read().gpus] == [("0", key(0)), ("1", key(1))]


def test_a_gpu_without_uuid_is_known_by_its_index(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.0.uuid.return": 3})
    assert [gpu.uuid for gpu in reader.read().gpus] == ["0", key(1)]
