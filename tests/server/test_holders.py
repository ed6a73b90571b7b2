"""Whose memory it is, on a running server: real kernels, terminals and processes, whose numbers the driver names."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tests.fake_nvml import GIB, FakeNvml, healthy, key
from tests.live_kernel import live_kernel, session
from tests.live_server import TOKEN, LiveServer, live_server
from tests.server.test_gpu_routes import WIRE, check

ARGS = ("--JupyterAir.poll_interval_s=60", "--JupyterAir.pause_after_s=0")


class Machine(NamedTuple):
    """A server and the driver it sees."""

    server: LiveServer
    driver: FakeNvml

    def holders(self, *held: str, gpu: int = 0) -> list[dict[str, Any]]:
        """Who holds a GPU once the driver names these processes (``PID:BYTES``)."""
        self.driver.update({f"gpu.{gpu}.processes.compute": " ".join(held)})
        self.server.refresh()
        reply = self.server.client.get("jupyter-air/gpu/holders")
        assert reply.status_code == 200, reply.text
        answer = reply.json()
        check(answer, "Holders")
        found: list[dict[str, Any]] = next(one for one in answer["gpus"] if one["uuid"] == key(gpu))["holders"]
        return found


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("holders")
    driver = FakeNvml(folder / "driver")
    driver.write(healthy(2))
    with live_server(folder, *ARGS, env=driver.environment) as server:
        yield Machine(server, driver)
        assert not server.has_traceback


def test_a_notebook_and_its_ranks_are_one_holder(machine: Machine) -> None:
    with live_kernel(machine.server, "deep/train.ipynb") as kernel:
        pid, rank = int(kernel.run("import os; print(os.getpid())")), kernel.spawn("cat")
        before_s = time.time()
        kernel.run("1 + 1")
        [holder] = machine.holders(f"{pid}:{GIB}", f"{rank}:{2 * GIB}")
        assert (holder["kind"], holder["memory_bytes"], holder["pids"]) == ("notebook", 3 * GIB, [rank, pid])
        assert holder["sessions"] == [{"type": "notebook", "name": "deep/train.ipynb", "path": "deep/train.ipynb"}]
        assert (holder["kernel_id"], holder["kernel_name"]) == (kernel.ident, "Python 3 (ipykernel)")
        assert (holder["own"], holder["user"]) == (True, psutil.Process().username())
        assert holder["execution_state"] == "idle"
        assert before_s - 1 < holder["idle_since_s"] < time.time() + 0.1, "in tenths of a second"
        kernel.begin("import time; time.sleep(600)")
        [holder] = machine.holders(f"{pid}:{GIB}")
        assert (holder["execution_state"], holder["idle_since_s"]) == ("busy", None)


def test_one_kernel_of_two_notebooks_and_a_console_has_three_names(machine: Machine) -> None:
    with live_kernel(machine.server, "a.ipynb") as kernel:
        session(machine.server, "b.ipynb", kernel=kernel.ident)
        session(machine.server, "console-1-x", "console", kernel=kernel.ident)
        [holder] = machine.holders(f"{kernel.spawn('cat')}:na")
        assert (holder["kind"], holder["memory_bytes"]) == ("notebook", None)
        assert [(one["type"], one["path"]) for one in holder["sessions"]] == [
            ("notebook", "a.ipynb"),
            ("notebook", "b.ipynb"),
            ("console", "console-1-x"),
        ]


def test_a_console(machine: Machine) -> None:
    with live_kernel(machine.server, "console-2-y", "console") as kernel:
        [holder] = machine.holders(f"{kernel.spawn('cat')}:1")
        assert (holder["kind"], holder["sessions"][0]["path"]) == ("console", "console-2-y")


def test_a_kernel_without_a_session_until_it_ends(machine: Machine) -> None:
    with live_kernel(machine.server, None) as kernel:
        rank = kernel.spawn("cat")
        [holder] = machine.holders(f"{rank}:1")
        assert (holder["kind"], holder["kernel_id"], holder["sessions"]) == ("kernel", kernel.ident, [])
    psutil.wait_procs([psutil.Process(rank)] if psutil.pid_exists(rank) else [], timeout=20)
    assert machine.holders(f"{rank}:1") == []


def test_a_terminal(machine: Machine) -> None:
    name = machine.server.client.post("api/terminals").json()["name"]
    shell = next(one for one in psutil.Process(machine.server.process.pid).children() if one.terminal())
    [holder] = machine.holders(f"{shell.pid}:5")
    assert (holder["kind"], holder["terminal"], holder["kernel_id"]) == ("terminal", name, None)
    assert machine.server.client.delete(f"api/terminals/{name}").status_code == 204


def test_processes_of_nobody_here_the_most_first_and_bounded(machine: Machine) -> None:
    started = [subprocess.Popen(["sleep", "600"]) for _ in range(70)]
    try:
        found = machine.holders(*(f"{one.pid}:{at}" for at, one in enumerate(started)))
        assert len(found) == 64
        assert [one["memory_bytes"] for one in found] == list(range(69, 5, -1))
        assert {(one["kind"], one["program"], one["own"]) for one in found} == {("process", "sleep", True)}
        answer = machine.server.client.get("jupyter-air/gpu/holders").json()
        assert next(one for one in answer["gpus"] if one["uuid"] == key(0))["left_out"] == 6
    finally:
        for one in started:
            one.kill()
            one.wait()


def test_many_processes_of_one_notebook_are_counted_and_few_are_named(machine: Machine) -> None:
    with live_kernel(machine.server, "many.ipynb") as kernel:
        ranks = [kernel.spawn("cat") for _ in range(20)]
        [holder] = machine.holders(*(f"{pid}:1" for pid in ranks))
        assert (holder["memory_bytes"], holder["pid_count"], len(holder["pids"])) == (20, 20, 16)


def test_a_gpu_whose_processes_are_not_told_is_not_free(machine: Machine) -> None:
    machine.driver.update({f"gpu.1.processes.{kind}.return": 3 for kind in ("compute", "graphics", "mps")})
    assert machine.holders(gpu=1) is None
    machine.driver.update(remove=[f"gpu.1.processes.{kind}.return" for kind in ("compute", "graphics", "mps")])
    assert machine.holders(gpu=1) == []


def test_asking_who_holds_what_is_no_activity(machine: Machine) -> None:
    before = machine.server.client.get("api/status").json()["last_activity"]
    machine.server.client.get("jupyter-air/gpu/holders")
    assert machine.server.client.get("api/status").json()["last_activity"] == before


def test_a_kernel_behind_a_gateway_is_not_guessed_at(machine: Machine, tmp_path: Path) -> None:
    """The other server is the gateway; that it runs on this machine too nobody can know."""
    driver = FakeNvml(tmp_path / "driver")
    driver.write(healthy(1))
    gateway = f"--GatewayClient.url={machine.server.url}"
    token = f"--GatewayClient.auth_token={TOKEN}"
    with (
        live_server(tmp_path, *ARGS, gateway, token, env=driver.environment) as server,
        live_kernel(machine.server, "far.ipynb", through=server) as kernel,
    ):
        pid = kernel.spawn("cat")
        [there] = machine.holders(f"{pid}:1")
        assert (there["kind"], there["kernel_id"]) == ("kernel", kernel.ident)
        [here] = Machine(server, driver).holders(f"{pid}:1")
        assert (here["kind"], here["kernel_id"], here["sessions"]) == ("process", None, [])


UNSHARE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
#: A /dev of our own with an NVIDIA device that is a mere file: what has it open has "/dev/nvidia0" open.
DEVICES = """
mount -t tmpfs tmpfs "$1"
for name in null zero full random urandom tty; do : > "$1/$name"; mount --bind "/dev/$name" "$1/$name"; done
mkdir "$1/pts" "$1/shm"
mount --bind /dev/pts "$1/pts"; ln -s pts/ptmx "$1/ptmx"; ln -s /proc/self/fd "$1/fd"
: > "$1/nvidia0"
mount --move "$1" /dev
shift; exec "$@"
"""


def _may_unshare() -> bool:
    return shutil.which("unshare") is not None and subprocess.run([*UNSHARE, "true"], check=False).returncode == 0


needs_unshare = pytest.mark.skipif(not _may_unshare(), reason="making a PID namespace is not allowed here")


@needs_unshare
def test_a_rank_in_a_container_is_its_notebook_s(machine: Machine) -> None:
    with live_kernel(machine.server, "contained.ipynb") as kernel:
        outer = kernel.spawn(*UNSHARE, "cat")
        while not (inside := psutil.Process(outer).children()):
            time.sleep(0.01)
        [holder] = machine.holders(f"{inside[0].pid}:9")
        assert (holder["kind"], holder["sessions"][0]["path"]) == ("notebook", "contained.ipynb")


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("container")
    driver = FakeNvml(folder / "driver")
    driver.write(healthy(1))
    (folder / "dev").mkdir()
    inside = (*UNSHARE, "sh", "-eu", "-c", DEVICES, "sh", str(folder / "dev"))
    with live_server(folder, *ARGS, env=driver.environment, inside=inside) as server:
        yield Machine(server, driver)
        assert not server.has_traceback


@needs_unshare
def test_in_a_container_a_number_is_trusted_only_when_its_process_proves_it(container: Machine) -> None:
    with live_kernel(container.server, "inside.ipynb") as kernel:
        inner = int(kernel.run("import os; print(os.getpid())"))
        [host] = container.holders(f"{inner}:3")
        assert (host["kind"], host["pids"]) == ("host-process", [inner]), "it is here, and has no GPU open"
        assert {host[name] for name in ("program", "user", "kernel_id", "terminal", "execution_state")} == {None}
        kernel.run("gpu = open('/dev/nvidia0')")
        [holder] = container.holders(f"{inner}:3")
        assert (holder["kind"], holder["sessions"][0]["path"]) == ("notebook", "inside.ipynb")

        outer = _outer(container.server, inner)
        [host] = container.holders(f"{outer}:3")
        assert (host["kind"], host["pids"]) == ("host-process", [outer])
        found = container.holders(f"{outer}:3", f"{inner}:2")
        assert [one["kind"] for one in found] == ["host-process"] * 2, "one number of the host's, and none is trusted"


@needs_unshare
def test_in_a_container_a_process_that_ended_is_not_the_host_s(container: Machine) -> None:
    with live_kernel(container.server, "inside.ipynb") as kernel:
        first, second = (kernel.spawn("cat", options="stdout=open('/dev/nvidia0')") for _ in range(2))
        [holder] = container.holders(f"{first}:1", f"{second}:1")
        assert holder["pids"] == [first, second]
        kernel.run("spawned[-1].kill(); spawned[-1].wait()")
        for _ in range(2):  # also when the same sample is looked at again, as while it is paused
            [holder] = container.holders(f"{first}:1", f"{second}:1")
            assert (holder["kind"], holder["pids"]) == ("notebook", [first])


def _outer(server: LiveServer, inner: int) -> int:
    """The number that the host gives a process of the container."""
    for process in psutil.Process(server.process.pid).children(recursive=True):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        numbers = next(line.split() for line in lines if line.startswith("NSpid:"))
        if int(numbers[-1]) == inner:
            assert not Path(f"/proc/{server.process.pid}/root/proc/{process.pid}").exists()
            return process.pid
    raise AssertionError(f"no process of the container has the number {inner}")


def test_the_fixture_of_the_browser_is_what_a_server_may_say() -> None:
    check(json.loads((WIRE / "holders.json").read_text()), "Holders")
