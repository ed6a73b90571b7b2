"""What NVML says, through the real ctypes path: every pitfall that a monitor was seen to fall into."""

from __future__ import annotations

import os

import pytest

from jupyter_air.gpu.nvml_device import text
from jupyter_air.gpu.samples import GpuSample
from tests.fake_nvml import GIB, FakeNvml, State, healthy, key
from tests.gpu.reader_process import ReaderProcess

MIG_PARENT: State = {
    "gpu.0.name": "NVIDIA A100-SXM4-40GB",
    "gpu.0.utilization.return": 3,
    "gpu.0.memory.return": 4,
    "gpu.0.mig.max": 7,
    "gpu.0.mig.1.uuid": "MIG-11111111-AAAA-BBBB-CCCC-DDDDDDDDDDDD",
    "gpu.0.mig.1.name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "gpu.0.mig.1.memory.total": 5 * GIB,
    "gpu.0.mig.1.memory.used": 2 * GIB,
    "gpu.0.mig.1.processes.compute": "77:1073741824",
    "gpu.0.mig.5.uuid": "MIG-GPU-00000000-AAAA-BBBB-CCCC-DDDDDDDDDDDD/3/0",
    "gpu.0.mig.5.name": "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    "gpu.0.mig.5.memory.total": 20 * GIB,
    "gpu.0.mig.5.memory.used": 0,
}


def test_a_healthy_gpu_in_percent_bytes_degrees_and_watts(fake: FakeNvml, reader: ReaderProcess) -> None:
    node = reader.read()
    assert (node.state, node.driver, node.source, node.name) == ("live", "580.65.06", "nvml", os.uname().nodename)
    assert node.time_s is not None
    assert node.gpus[1] == GpuSample(
        uuid="00000001-aaaa-bbbb-cccc-dddddddddddd",
        index="1",
        name="NVIDIA H100 80GB HBM3",
        pci_bus_id="00000000:02:00.0",
        utilization_percent=40.0,
        memory_used_bytes=8 * GIB,
        memory_total_bytes=80 * GIB,
        temperature_c=50.0,
        power_w=200.0,
        power_limit_w=700.0,
        sm_clock_mhz=1980.0,
        memory_clock_mhz=2619.0,
        throttle_bits=0,
        pids={},
    )


@pytest.mark.parametrize("code", [3, 4, 999])
def test_a_field_that_fails_is_unknown_and_costs_no_other(fake: FakeNvml, reader: ReaderProcess, code: int) -> None:
    well = reader.gpu()
    fields = {
        "utilization": {"utilization_percent"},
        "temperature": {"temperature_c"},
        "power": {"power_w"},
        "power_limit": {"power_limit_w"},
        "memory": {"memory_used_bytes", "memory_total_bytes"},
        "clock.sm": {"sm_clock_mhz"},
        "clock.memory": {"memory_clock_mhz"},
        "throttle": {"throttle_bits"},
        "processes": {"pids"},
        "pci": {"pci_bus_id"},
    }
    for field, unknown in fields.items():
        fake.update({f"gpu.0.{field}.return": code})
        gpu = reader.gpu()
        fake.update(remove=[f"gpu.0.{field}.return"])
        changed = {name for name in gpu.__struct_fields__ if getattr(gpu, name) != getattr(well, name)}
        assert changed - {"memory_note"} == unknown, field
        assert all(getattr(gpu, name) is None for name in unknown), field


def test_mig_slices_follow_their_gpu_past_holes(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update(MIG_PARENT)
    gpu, small, large, other = reader.read().gpus
    assert (gpu.state, gpu.temperature_c, gpu.power_w) == ("ok", 50.0, 200.0)
    assert (gpu.utilization_percent, gpu.memory_total_bytes, gpu.memory_note) == (None, None, None)
    assert small == GpuSample(
        uuid="11111111-aaaa-bbbb-cccc-dddddddddddd",
        index="0:1",
        name="NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        parent_uuid=gpu.uuid,
        mig_profile="1g.5gb",
        pci_bus_id=gpu.pci_bus_id,
        memory_used_bytes=2 * GIB,
        memory_total_bytes=5 * GIB,
        pids={77: GIB},
    )
    assert (large.uuid, large.index, large.mig_profile) == (
        "00000000-aaaa-bbbb-cccc-dddddddddddd/3/0",
        "0:5",
        "3g.20gb",
    )
    assert (large.memory_used_bytes, large.memory_total_bytes) == (0, 20 * GIB)
    assert (other.uuid, other.parent_uuid) == (key(1), None)


def test_mig_slices_are_found_where_the_parent_refuses_everything(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update(MIG_PARENT)
    refused = ("temperature", "power", "power_limit", "clock", "throttle", "processes")
    fake.update({f"gpu.0.{field}.return": 4 for field in refused})
    parent, *slices, _ = reader.read().gpus
    assert (parent.state, parent.reason) == ("error", "This user or container may not read this GPU.")
    assert [(row.state, row.memory_total_bytes) for row in slices] == [("ok", 5 * GIB), ("ok", 20 * GIB)]


def test_a_slice_that_is_destroyed_is_no_fault(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update(MIG_PARENT)
    reader.read()
    fake.update(remove=["gpu.0.mig.1"])
    assert [row.index for row in reader.read().gpus] == ["0", "0:5", "1"]


def test_shared_memory_is_not_given_as_the_gpus(fake: FakeNvml, reader: ReaderProcess) -> None:
    host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for change in ({"gpu.0.memory.return": 3}, {"gpu.0.memory.total": host}, {"gpu.0.memory.total": 0}):
        fake.write(healthy(2) | dict(change))
        gpu, other = reader.read().gpus
        assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (None, None)
        assert (gpu.state, gpu.memory_note) == ("ok", "shared with system memory")
        assert (other.memory_total_bytes, other.memory_note) == (80 * GIB, None)


def test_memory_refused_is_not_said_to_be_shared(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.0.memory.return": 4})
    assert reader.gpu().memory_note is None
    fake.update(MIG_PARENT | {"gpu.0.memory.return": 3})
    assert reader.gpu().memory_note is None


def test_wsl2_unknown_utilization_and_names_that_are_not_utf8(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.*.utilization.return": 999, "gpu.0.name": "hex:4e5649444941ff20525458", "gpu.0.pci": "hex:30ff"})
    gpu, other = reader.read().gpus
    assert (gpu.name, gpu.pci_bus_id, gpu.utilization_percent) == ("NVIDIA\ufffd RTX", "0\ufffd", None)
    assert (gpu.state, gpu.temperature_c, other.temperature_c) == ("ok", 50.0, 50.0)
    assert fake.calls("nvmlInit") == 1


def test_memory_that_the_driver_reserves_is_not_in_use(fake: FakeNvml, reader: ReaderProcess) -> None:
    assert reader.gpu().memory_used_bytes == 8 * GIB
    assert fake.calls("nvmlDeviceGetMemoryInfo") == 0


@pytest.mark.parametrize("code", [13, 25])
def test_memory_of_a_driver_without_version_2(fake: FakeNvml, reader: ReaderProcess, code: int) -> None:
    fake.update({"gpu.*.memory.v2.return": code})
    for _ in range(3):
        assert reader.gpu().memory_used_bytes == 9 * GIB
    assert fake.calls("nvmlDeviceGetMemoryInfo_v2") == 1


def test_the_temperature_call_that_this_driver_has_is_remembered(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.*.temperature.v.return": 13})
    for _ in range(3):
        assert reader.gpu().temperature_c == 50.0
    assert fake.calls("nvmlDeviceGetTemperatureV") == 1
    assert fake.calls("nvmlDeviceGetTemperature") == 6


def test_the_temperature_after_the_old_call_has_gone(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.*.temperature.old.return": 13})
    assert reader.gpu().temperature_c == 50.0


def test_one_gpu_without_the_new_call_takes_it_from_no_other(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update({"gpu.0.temperature.v.return": 3, "gpu.1.temperature.old.return": 13})
    assert [gpu.temperature_c for gpu in reader.read().gpus] == [50.0, 50.0]


def test_processes_as_nvml_numbers_them(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update(
        {
            "gpu.0.processes.compute": "4001:1073741824 4002:na",
            "gpu.0.processes.graphics": "4001:na 4003:4096",
            "gpu.0.processes.mps": "4002:2048",
        }
    )
    assert reader.gpu().pids == {4001: GIB, 4002: 2048, 4003: 4096}
    fake.update(
        {"gpu.*.processes.compute.v3.return": 13, "gpu.0.processes.compute": "4002:na"}, remove=["gpu.0.processes.mps"]
    )
    assert reader.gpu().pids == {4001: None, 4002: None, 4003: 4096}


def test_impossible_values_are_unknown(fake: FakeNvml, reader: ReaderProcess) -> None:
    fake.update(
        {
            "gpu.0.utilization": 101,
            "gpu.0.temperature": 510,
            "gpu.0.power_mw": 2**32 - 1,
            "gpu.0.power_limit_mw": 0,
            "gpu.0.memory.total": 2**63,
            "gpu.0.clock.sm": 2**32 - 1,
            "gpu.0.clock.memory": 2**32 - 1,
            "gpu.0.throttle": 2**63,
            "gpu.0.processes.compute": f"9:{2**63}",
        }
    )
    gpu = reader.gpu()
    assert gpu == GpuSample(uuid=gpu.uuid, index="0", name=gpu.name, pci_bus_id=gpu.pci_bus_id, pids={9: None})
    fake.write(healthy(1) | {"gpu.0.memory.used": 81 * GIB, "gpu.0.temperature": -60, "gpu.0.utilization": 100})
    gpu = reader.gpu()
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (None, 80 * GIB)
    assert (gpu.temperature_c, gpu.utilization_percent) == (None, 100.0)


@pytest.mark.parametrize("lacking", ["event", "old"])
def test_throttle_reasons_by_their_new_and_their_old_name(fake: FakeNvml, reader: ReaderProcess, lacking: str) -> None:
    fake.update({f"gpu.*.throttle.{lacking}.return": 13, "gpu.0.throttle": 0x44})
    assert reader.gpu().throttle_bits == 0x44


def test_names_are_bounded() -> None:
    assert text("x" * 500) == text(b"x" * 500) == "x" * 128
