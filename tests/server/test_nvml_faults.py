"""What breaks monitors, on a running server: nvidia-ml-py in the real child, on a driver that misbehaves.

What trips monitors of GPUs, one by one, as a browser is told of it: each shows its reason, hides nothing else, and goes
when its cause goes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tests.fake_nvml import GIB, FakeNvml, State, healthy, healthy_gpu, uuid
from tests.live_server import LiveServer, live_server

pytestmark = pytest.mark.slow


class Machine(NamedTuple):
    """A server and the driver it sees."""

    server: LiveServer
    driver: FakeNvml

    def node(self) -> dict[str, Any]:
        """This machine's layout after a fresh sample, with the newest readings of each GPU put in."""
        asked_s = time.time()
        self.server.refresh()
        answer = self.server.gpu()
        # Times are rounded to 0.1 s: a sample that was under way when we asked is not taken for a newer one.
        while answer["times_s"][-1] < asked_s + 0.05:
            time.sleep(0.05)
            self.server.refresh()
            answer = self.server.gpu()
        at = next(n for n, node in enumerate(answer["layout"]["nodes"]) if node["local"])
        node: dict[str, Any] = answer["layout"]["nodes"][at]
        columns = answer["columns"][at]
        node["age_s"] = answer["ages_s"][at]
        node["cpu"], node["memory"] = (column[-1] for column in columns["host"])
        for gpu, values in zip(node["gpus"], columns["gpus"], strict=True):
            gpu["now"] = [column[-1] for column in values]
        return node

    def until(self, holds: Callable[[dict[str, Any]], bool], within_s: float = 20) -> dict[str, Any]:
        end_s = time.monotonic() + within_s
        while True:
            node = self.node()
            if holds(node):
                return node
            assert time.monotonic() < end_s, node
            time.sleep(0.1)

    def children(self) -> list[psutil.Process]:
        """The processes of ours that could hold NVML."""
        found = psutil.Process(self.server.process.pid).children(recursive=True)
        return [process for process in found if _is_sampler(process)]

    def answers(self) -> bool:
        """Whether it does while NVML hangs for minutes: the client waits for half a minute."""
        return self.server.client.get("api/status").status_code == 200


def _is_sampler(process: psutil.Process) -> bool:
    try:
        return "jupyter_air.gpu.sampler" in process.cmdline()
    except psutil.Error:  # it ended while we looked
        return False


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("faults")
    driver = FakeNvml(folder / "driver")
    driver.write(healthy(3))
    args = ("--JupyterAir.poll_interval_s=2", "--JupyterAir.history_window_s=600", "--JupyterAir.pause_after_s=0")
    with live_server(folder, *args, env=driver.environment) as server:
        yield Machine(server, driver)


@pytest.fixture
def machine(started: Machine) -> Iterator[Machine]:
    """A machine that is well before the test, and that must become well again by itself after it."""
    yield started
    started.driver.write(healthy(3))
    started.until(
        lambda n: n["state"] == "live" and [g["state"] for g in n["gpus"] if g["state"] != "missing"] == ["ok"] * 3
    )
    assert not started.server.has_traceback


def well(gpu: dict[str, Any]) -> bool:
    return gpu["state"] == "ok" and gpu["now"][0] is not None


def test_readings_from_the_library_to_the_wire(machine: Machine) -> None:
    machine.driver.update(
        healthy_gpu(
            1,
            utilization=87,
            memory__used=61 * GIB,
            temperature=71,
            power_mw=412_345,
            clock__sm=1755,
            throttle=0x4,
        )
    )
    node = machine.node()
    assert (node["state"], node["driver"], node["source"], node["simulated"]) == ("live", "580.65.06", "nvml", False)
    gpu = node["gpus"][1]
    assert gpu["uuid"] == uuid(1).lower().removeprefix("gpu-")
    assert (gpu["index"], gpu["name"], gpu["memory_total_bytes"]) == ("1", "NVIDIA H100 80GB HBM3", 80 * GIB)
    assert gpu["power_limit_w"] == 700
    assert gpu["now"] == [87, 61 * GIB // gpu["memory_step_bytes"], 71, 412, 1755, 4]
    assert node["host"]["memory_total_bytes"] == psutil.virtual_memory().total
    assert node["memory"] > 0


NO_DRIVER = {
    "library not found": ({"init.return": 12}, "no-driver", "libnvidia-ml.so.1"),
    "driver not loaded": ({"init.return": 9}, "no-driver", "not loaded"),
    "version mismatch": ({"init.return": 18}, "no-driver", "version mismatch"),
    "no permission": ({"init.return": 4}, "no-driver", "may not talk"),
    "an error nobody named": ({"init.return": 77}, "no-driver", "NVML error 77"),
}


@pytest.mark.parametrize("fault", NO_DRIVER)
def test_a_driver_that_does_not_initialise(tmp_path: Path, fault: str) -> None:
    state, expected, words = NO_DRIVER[fault]
    driver = FakeNvml(tmp_path / "driver")
    driver.write(healthy(2) | state)
    with live_server(tmp_path, "--JupyterAir.poll_interval_s=1", env=driver.environment) as server:
        node = Machine(server, driver).until(lambda n: n["state"] == expected)
        assert words in node["reason"] and node["hint"]
        assert node["memory"] > 0, "the host is shown all the same"
        if fault == "driver not loaded":
            driver.update(remove=["init"])
            Machine(server, driver).until(lambda n: n["state"] == "live" and len(n["gpus"]) == 2)


def test_no_gpu(machine: Machine) -> None:
    machine.driver.write(healthy(0))
    node = machine.node()
    assert [gpu["state"] for gpu in node["gpus"]] == ["missing"] * 3
    assert node["state"] == "no-gpu" and "no GPU" in node["reason"]


@pytest.mark.parametrize(
    ("code", "state", "words"),
    [(15, "lost", "fallen off the bus"), (16, "error", "reset"), (999, "error", "Unknown Error")],
)
def test_one_bad_gpu_of_three_hides_none(machine: Machine, code: int, state: str, words: str) -> None:
    machine.node()
    machine.driver.update({"gpu.1.return": code})
    gpus = machine.node()["gpus"]
    assert [gpu["index"] for gpu in gpus] == ["0", "1", "2"]
    assert gpus[1]["uuid"] == uuid(1).lower().removeprefix("gpu-"), (
        "it keeps its identity, so its history stays its own"
    )
    assert gpus[1]["state"] == state and words in gpus[1]["reason"]
    assert gpus[1]["now"][:4] == [None] * 4
    assert well(gpus[0]) and well(gpus[2])


def test_a_gpu_that_vanishes_stays_listed_and_shifts_no_other(machine: Machine) -> None:
    machine.driver.update({"gpu.2.utilization": 77})
    machine.node()
    two = machine.driver.read()
    state = {key: value for key, value in two.items() if not key.startswith(("gpu.1.", "gpu.2."))}
    state |= {key.replace("gpu.2.", "gpu.1."): value for key, value in two.items() if key.startswith("gpu.2.")}
    machine.driver.write(state | {"count": 2})
    gpus = {gpu["uuid"][:8]: gpu for gpu in machine.node()["gpus"]}
    assert gpus["00000001"]["state"] == "missing" and gpus["00000001"]["reason"]
    assert gpus["00000002"]["now"][0] == 77
    assert gpus["00000001"]["now"][0] is None


def test_a_reloaded_driver_is_picked_up(machine: Machine) -> None:
    machine.node()
    for reload, code in enumerate((15, 1, 999), 1):
        machine.driver.update({"driver.reload": reload, "driver.reload.return": code, "gpu.0.utilization": 10 + reload})
        expected = 10 + reload
        machine.until(lambda n: len(n["gpus"]) == 3 and n["gpus"][0]["now"][0] == expected)  # noqa: B023 - called at once
    assert machine.driver.users() == 1, "each old initialisation was shut down"


@pytest.mark.parametrize(
    ("field", "column"),
    [("utilization", 0), ("memory", 1), ("temperature", 2), ("power", 3), ("clock", 4), ("throttle", 5)],
)
def test_a_field_that_is_not_supported_costs_itself_only(machine: Machine, field: str, column: int) -> None:
    for code in (3, 999):
        machine.driver.update({f"gpu.1.{field}.return": code})
        gpus = machine.node()["gpus"]
        assert gpus[1]["state"] == "ok"
        assert [n for n, value in enumerate(gpus[1]["now"]) if value is None] == [column]
        assert well(gpus[0]) and None not in gpus[0]["now"]


def test_memory_without_what_the_driver_reserves(machine: Machine) -> None:
    machine.driver.update({"gpu.0.memory.used": 5 * GIB, "gpu.0.memory.reserved": GIB})
    gpu = machine.node()["gpus"][0]
    assert gpu["now"][1] * gpu["memory_step_bytes"] == 5 * GIB


def test_unified_memory_says_so(machine: Machine) -> None:
    machine.driver.update({"gpu.0.memory.return": 3})
    gpu = machine.node()["gpus"][0]
    assert gpu["memory_note"] == "shared with system memory"
    assert (gpu["memory_total_bytes"], gpu["now"][1]) == (None, None)


def test_mig_with_holes_and_a_parent_that_refuses(machine: Machine) -> None:
    slices: State = {
        "gpu.0.utilization.return": 3,
        "gpu.0.memory.return": 4,
        "gpu.0.mig.max": 7,
        "gpu.0.mig.0.uuid": "MIG-aaaa0000-0000-0000-0000-000000000000",
        "gpu.0.mig.0.name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "gpu.0.mig.0.memory.total": 10 * GIB,
        "gpu.0.mig.0.memory.used": 3 * GIB,
        "gpu.0.mig.4.uuid": "MIG-BBBB0000-0000-0000-0000-000000000000",
        "gpu.0.mig.4.name": "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "gpu.0.mig.4.memory.total": 40 * GIB,
        "gpu.0.mig.4.memory.used": 1 * GIB,
    }
    machine.driver.update(slices)
    gpus = machine.node()["gpus"]
    assert [gpu["index"] for gpu in gpus] == ["0", "0:0", "0:4", "1", "2"]
    assert [gpu["mig_profile"] for gpu in gpus[:3]] == [None, "1g.10gb", "3g.40gb"]
    assert [gpu["parent_uuid"] for gpu in gpus[1:3]] == [gpus[0]["uuid"]] * 2
    assert gpus[2]["uuid"] == "bbbb0000-0000-0000-0000-000000000000"
    assert gpus[0]["state"] == "ok" and gpus[0]["now"][:4] == [None, None, 50, 200]
    used = [gpu["now"][1] * gpu["memory_step_bytes"] for gpu in gpus[1:3]]
    assert used == [3 * GIB, GIB]
    assert all(gpu["now"][0] is None for gpu in gpus[1:3]), "NVML tells no utilization of a slice"


def test_names_that_are_not_utf8_or_hostile(machine: Machine) -> None:
    machine.driver.update(
        {"gpu.0.name": "hex:4e56ff49", "gpu.1.name": "<img src=x onerror=alert(1)>" + "A" * 90, "gpu.2.name": "x" * 90}
    )
    names = [gpu["name"] for gpu in machine.node()["gpus"]]
    assert names[0] == "NV\ufffdI"
    assert names[1].startswith("<img src=x onerror=alert(1)>") and len(names[1]) <= 128


def test_impossible_values_are_unknown(machine: Machine) -> None:
    machine.driver.update(
        {
            "gpu.0.utilization": 4294967295,
            "gpu.0.temperature": 510,
            "gpu.0.power_mw": 4294967295,
            "gpu.0.memory.used": 2**63,
            "gpu.0.clock.sm": 4294967295,
            "gpu.0.throttle": 2**63,
        }
    )
    gpus = machine.node()["gpus"]
    assert gpus[0]["now"] == [None] * 6
    assert gpus[0]["state"] == "ok" and well(gpus[1])


def test_throttle_reasons_beyond_the_known_ones_do_not_set_others(machine: Machine) -> None:
    machine.driver.update({"gpu.0.throttle": 0x40000008})
    assert machine.node()["gpus"][0]["now"][5] == 8


def test_nvml_order_is_shown_whatever_cuda_says(tmp_path: Path) -> None:
    driver = FakeNvml(tmp_path / "driver")
    driver.write(healthy(3))
    env = {**driver.environment, "CUDA_VISIBLE_DEVICES": "2,0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    with live_server(tmp_path, env=env) as server:
        node = Machine(server, driver).until(lambda n: n["state"] == "live")
        assert [gpu["index"] for gpu in node["gpus"]] == ["0", "1", "2"]


def test_a_call_that_hangs_shows_its_age_and_the_server_goes_on(machine: Machine) -> None:
    machine.driver.update({"gpu.1.utilization.delay_ms": 600_000})
    node = machine.until(lambda n: n["state"] == "stale")
    assert "not answered" in node["reason"]
    assert [gpu["state"] for gpu in node["gpus"]] == ["ok"] * 3, "what was known stays"
    assert node["memory"] is not None and node["gpus"][0]["now"][0] is None
    assert machine.answers()
    assert len(machine.children()) == 1, "never a second child into a stuck driver"
    assert machine.until(lambda n: (n["age_s"] or 0) > 2)["state"] == "stale"


def test_a_child_that_crashes_is_started_again(machine: Machine) -> None:
    machine.driver.update({"gpu.1.temperature.crash": 1})
    node = machine.until(lambda n: n["state"] == "error")
    assert "SIGSEGV" in node["reason"]
    assert machine.answers()
    assert node["memory"] is not None


def test_a_child_that_is_killed_is_started_again(machine: Machine) -> None:
    machine.node()
    (child,) = machine.children()
    os.kill(child.pid, signal.SIGKILL)
    machine.until(lambda n: n["state"] == "live" and well(n["gpus"][0]))
    assert [other.pid for other in machine.children()] != [child.pid]


def test_nvml_is_initialised_once_however_often_it_is_read(machine: Machine) -> None:
    machine.node()
    machine.driver.forget_calls()
    for _ in range(5):
        machine.node()
    assert machine.driver.calls("nvmlInit_v2") == 0
    assert machine.driver.calls("nvmlDeviceGetUtilizationRates", "gpu.0") >= 5


def test_while_paused_no_process_of_ours_holds_nvml(tmp_path: Path) -> None:
    driver = FakeNvml(tmp_path / "driver")
    driver.write(healthy(1))
    args = ("--JupyterAir.poll_interval_s=1", "--JupyterAir.pause_after_s=2")
    with live_server(tmp_path, *args, env=driver.environment) as server:
        machine = Machine(server, driver)
        machine.until(lambda n: n["state"] == "live")
        assert driver.users() == 1 and len(machine.children()) == 1
        end_s = time.monotonic() + 15
        while server.gpu()["monitor"]["state"] != "paused" or machine.children():
            assert time.monotonic() < end_s
            time.sleep(0.1)
        assert driver.users() == 0, "the child shut NVML down before it ended"
        machine.until(lambda n: n["state"] == "live")


@pytest.mark.parametrize("where", ["init", "gpu.0.utilization"])
def test_the_server_exits_at_once_while_nvml_hangs(tmp_path: Path, where: str) -> None:
    driver = FakeNvml(tmp_path / "driver")
    driver.write(healthy(2) | {f"{where}.delay_ms": 600_000})
    server = LiveServer(tmp_path, "--JupyterAir.poll_interval_s=1", env=driver.environment)
    try:
        server.wait_until_up()
        machine = Machine(server, driver)
        node = machine.until(lambda n: n["state"] == "stale")
        assert "not answered" in node["reason"] and node["memory"] > 0
        (child,) = machine.children()
        assert server.stop() < 50, "the driver answers after 600"
        child.wait(60)
        assert not server.has_traceback
    finally:
        server.stop()
