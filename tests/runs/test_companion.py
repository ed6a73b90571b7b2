"""System metrics of managed runs, from NVML's C interface to MLflow's store, and the end of runs whose kernel died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jupyter_air.runs.managed import REASON_TAG, ManagedRuns, folder_of
from tests.fake_nvml import GIB, FakeNvml, healthy
from tests.runs.conftest import Embedded
from tests.runs.kernel import kernel
from tests.runs.mlflow_process import companions, wait_until
from tests.runs.tracked import Tracked, environment

_NODE = "node-a"


class Watched(NamedTuple):
    """A kernel whose runs have a companion.

    Attributes:
        tracked: the kernel and its store.
        runs: what its companion looks after.
        home: for state.
    """

    tracked: Tracked
    runs: ManagedRuns
    home: Path

    def metrics(self, run_id: str) -> dict[str, float]:
        """The latest system metrics, without what all keys begin with."""
        found: dict[str, float] = self.tracked.client.get_run(run_id).data.metrics
        return {key.removeprefix(f"system/{_NODE}/"): value for key, value in found.items()}

    def history(self, run_id: str, key: str = "disk_usage_percentage") -> list[Any]:
        """All values of a key, by step."""
        found = self.tracked.client.get_metric_history(run_id, f"system/{_NODE}/{key}")
        return sorted(found, key=lambda one: one.step)

    def wait_until_done(self) -> None:
        """Returns when the companion has nothing left to do."""
        wait_until(lambda: not self.runs)

    def ending(self, run_id: str) -> tuple[str, str | None]:
        """How a run has ended, and why."""
        run = self.tracked.client.get_run(run_id)
        return run.info.status, run.data.tags.get(REASON_TAG)


@pytest.fixture(scope="module")
def watched_kernel(embedded: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A kernel on a machine with three GPUs, of which it has the second, which does not tell its power."""
    folder = tmp_path_factory.mktemp("watched")
    driver = FakeNvml(folder / "nvml")
    driver.write(healthy(3))
    driver.update(remove=["gpu.1.power_mw"])
    uri = embedded.server.store.uri
    environ = {
        **environment(embedded.home, folder, uri, system_metrics=True),
        **driver.environment,
        "CUDA_VISIBLE_DEVICES": "1",
        "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1",
        "MLFLOW_SYSTEM_METRICS_NODE_ID": _NODE,
    }
    with kernel(folder, environ) as one:
        yield Watched(Tracked(one, uri), ManagedRuns(folder_of(uri, embedded.home)), embedded.home)


@pytest.fixture
def watched(watched_kernel: Watched) -> Watched:
    """The same, with no run active."""
    watched_kernel.tracked.tidy()
    watched_kernel.wait_until_done()
    return watched_kernel


def _keys_of_mlflow() -> set[str]:
    """What MLflow's own monitor logs of a machine without a GPU."""
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
    from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

    keys: set[str] = set()
    for monitor in (CPUMonitor(), DiskMonitor(), NetworkMonitor()):
        monitor.collect_metrics()
        keys |= set(monitor.metrics)
    return keys


def test_a_run_has_its_machine_and_its_own_gpus_and_goes_on(watched: Watched) -> None:
    tracked = watched.tracked
    tracked.ok("%air_run steady")
    run_id = tracked.newest("steady").info.run_id
    wait_until(lambda: len(watched.history(run_id)) >= 4)
    # What a person ended there is measured no more; what is gone on with goes on.
    tracked.ok("%air_run --end")
    watched.wait_until_done()
    found = watched.metrics(run_id)
    gpu = {"memory_usage_percentage", "memory_usage_megabytes", "utilization_percentage", "temperature_celsius"}
    assert set(found) == _keys_of_mlflow() | {f"gpu_1_{key}" for key in gpu}, "MLflow's own keys have no node"
    assert (found["gpu_1_utilization_percentage"], found["gpu_1_temperature_celsius"]) == (40, 50)
    assert found["gpu_1_memory_usage_megabytes"] == round(8 * GIB / 1e6, 1)
    assert found["gpu_1_memory_usage_percentage"] == 10
    assert 0 <= found["cpu_utilization_percentage"] <= 100 and 0 < found["system_memory_usage_percentage"] < 100
    values = watched.history(run_id, "cpu_utilization_percentage")
    assert [one.step for one in values] == list(range(len(values))), "one value a step, from the first on"
    times = [one.timestamp for one in values]
    assert times == sorted(times) and times[0] >= tracked.client.get_run(run_id).info.start_time

    tracked.ok(f"%air_run --run-id {run_id}")
    tracked.ok("%air_run --end")
    watched.wait_until_done()
    steps = [one.step for one in watched.history(run_id)]
    assert steps == list(range(len(steps))) and len(steps) >= len(values) + 2, "resumed, it goes on after the last step"


def test_a_short_run_has_a_first_and_a_last_value_and_one_without_has_none(watched: Watched) -> None:
    tracked = watched.tracked
    tracked.ok("%%air_run short\n1")
    tracked.ok("%%air_run without --no-system-metrics\n1")
    watched.wait_until_done()
    assert [one.step for one in watched.history(tracked.newest("short").info.run_id)] == [0, 1]
    assert watched.metrics(tracked.newest("without").info.run_id) == {}
    wait_until(lambda: not companions(watched.home))


def test_a_run_that_is_open_when_its_kernel_goes_ends_as_it_went(watched: Watched) -> None:
    tracked = watched.tracked
    ids = []
    for name in ("stubborn", "restarted", "failed"):
        tracked.ok(f"%air_run {name}")
        ids.append(tracked.newest(name).info.run_id)
        assert tracked.run("1/0").status == "error"
        if name == "stubborn":
            # Neither the interrupt that comes first nor the request ends it: it is killed.
            tracked.kernel.begin(
                "import time\nprint('began')\nwhile True:\n    try: time.sleep(600)\n    except BaseException: pass"
            )
        tracked.kernel.start_again() if name == "failed" else tracked.kernel.restart()
    watched.wait_until_done()
    assert [watched.ending(run_id) for run_id in ids] == [
        ("KILLED", "The kernel was restarted."),
        ("KILLED", "The kernel was restarted."),
        ("FAILED", "The kernel was shut down after a cell had failed."),
    ]
    tracked.ok(f"%air_run --run-id {ids[0]}")
    assert watched.ending(ids[0]) == ("RUNNING", None), "gone on with, it has not ended"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_kernel_that_is_killed_leaves_nothing_running_but_what_is_of_others(
    watched: Watched, number: signal.Signals
) -> None:
    tracked = watched.tracked
    name = number.name.lower()
    others = tracked.made("of another", status="RUNNING")
    tracked.ok(f"%air_run --run-id {others}")
    tracked.ok(f"%air_run --nested {name}")
    tracked.ok(f"import mlflow; mlflow.start_run(nested=True, run_name='in {name}', log_system_metrics=False);")
    tracked.ok(f"mlflow.start_run(nested=True, run_name='within {name}', log_system_metrics=False);")
    ids = [tracked.newest(one).info.run_id for one in (name, f"in {name}", f"within {name}")]
    # Somebody else's is measured too, as long as it is logged to from here.
    wait_until(lambda: watched.metrics(others))
    os.kill(int(tracked.kernel.value("__import__('os').getpid()")), number)
    watched.wait_until_done()
    tracked.kernel.start_again()
    assert [watched.ending(run_id) for run_id in ids] == [("KILLED", "The kernel died.")] * 3
    assert watched.ending(others) == ("RUNNING", None)
    wait_until(lambda: not companions(watched.home))
