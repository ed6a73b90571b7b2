"""Whose memory it is, on real processes: trees of them, processes that end, numbers that are taken over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from jupyter_air.gpu.holders import Holder, Owner, held, holders
from jupyter_air.gpu.processes import Processes
from jupyter_air.gpu.samples import GpuSample

GPU = "aaaa"

#: Starts a child that starts another, says their numbers, and waits; "end" lets the one in the middle end.
TREE = """
import os, subprocess, sys
middle = subprocess.Popen([sys.executable, "-c", '''
import os, subprocess, sys
leaf = subprocess.Popen(["sleep", "600"])
print(os.getpid(), leaf.pid, flush=True)
sys.stdin.read()
'''], stdin=subprocess.PIPE)
print(os.getpid(), flush=True)
sys.stdin.readline()
middle.stdin.close(); middle.wait()
print("ended", flush=True)
sys.stdin.read()
"""


class Tree:
    """A root, its child, and the child's child, in a session of their own as a kernel's are."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TREE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        lines = sorted((self._line(), self._line()), key=lambda line: len(line.split()))
        self.root = int(lines[0])
        self.middle, self.leaf = map(int, lines[1].split())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end_middle(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        assert self._line() == "ended"

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def tree() -> Iterator[Tree]:
    tree = Tree()
    yield tree
    tree.stop()


@pytest.fixture
def sleeper() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started = []

    def start(*command: str, **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(command or ("sleep", "600"), **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def who(
    pids: dict[int, int | None],
    owners: Sequence[Owner] = (),
    *,
    processes: Processes | None = None,
    sampled_s: float = 0,
) -> list[Holder]:
    found = holders({GPU: pids}, owners, processes or Processes(), sampled_s or time.time())[GPU]
    assert found is not None
    return found


def test_descendants_are_their_owner_s_and_add_up(tree: Tree, sleeper: Any) -> None:
    other = sleeper()
    found = who({tree.leaf: 5, tree.middle: 7, other.pid: 100, tree.root: 1}, [Owner(tree.root, "train")])
    assert [(one.owner, one.memory_bytes, one.pids) for one in found] == [
        (None, 100, [other.pid]),
        ("train", 13, [tree.middle, tree.leaf, tree.root]),
    ]
    assert (found[0].process is not None) and found[0].process.program == "sleep"


def test_the_nearest_of_several_owners_has_it(tree: Tree) -> None:
    owners = [Owner(tree.root, "terminal"), Owner(tree.middle, "kernel in it")]
    assert [one.owner for one in who({tree.leaf: 1}, owners)] == ["kernel in it"]
    assert [one.owner for one in who({tree.leaf: 1}, owners[::-1])] == ["kernel in it"]


def test_a_process_whose_parent_ended_stays_its_owner_s(tree: Tree) -> None:
    tree.end_middle()
    assert psutil.Process(tree.leaf).ppid() not in (tree.middle, tree.root)
    assert [one.owner for one in who({tree.leaf: 1}, [Owner(tree.root, "train")])] == ["train"]


def test_memory_that_is_not_told_is_unknown_not_nothing(tree: Tree, sleeper: Any) -> None:
    other = sleeper()
    found = who({tree.leaf: None, tree.middle: 7, other.pid: 1}, [Owner(tree.root, "train")])
    assert [(one.owner, one.memory_bytes) for one in found] == [(None, 1), ("train", None)]


def test_a_process_that_ended_holds_nothing(sleeper: Any) -> None:
    lives, ended, zombie = sleeper(), sleeper(), sleeper()
    processes = Processes()
    pids: dict[int, int | None] = {lives.pid: 1, ended.pid: 1, zombie.pid: 1}
    assert len(who(pids, processes=processes)) == 3
    ended.kill()
    ended.wait()
    zombie.kill()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(zombie.pid).status() == psutil.STATUS_ZOMBIE
    assert [one.pids for one in who(pids, processes=processes)] == [[lives.pid]]
    assert [one.pids for one in who(pids)] == [[lives.pid]], "also when it was never seen alive"


def test_a_number_that_was_taken_over_since_the_sample_names_nobody(sleeper: Any) -> None:
    sampled_s = time.time() - 5
    later = sleeper()
    assert [one.pids for one in who({later.pid: 1, 1: 2}, sampled_s=sampled_s)] == [[1]]
    assert len(who({later.pid: 1})) == 1


def test_what_an_owner_was_is_not_what_has_its_number_now(tree: Tree, sleeper: Any) -> None:
    """A leaf seen under one root is not given to a new owner that has the same number."""
    processes = Processes()
    assert who({tree.leaf: 1}, [Owner(tree.middle, "old")], processes=processes)[0].owner == "old"
    tree.end_middle()
    assert who({tree.leaf: 1}, [Owner(tree.middle, "new")], processes=processes)[0].owner is None
    assert who({tree.leaf: 1}, [Owner(tree.root, "root")], processes=processes)[0].owner == "root"


def test_a_program_is_named_without_its_arguments(sleeper: Any, tmp_path: Path) -> None:
    secret = sleeper(
        sys.executable,
        "-c",
        "import time; print(flush=True); time.sleep(600)",
        "--token=hunter2",
        stdout=subprocess.PIPE,
    )
    secret.stdout.readline()
    secret.stdout.close()
    hostile = tmp_path / "a<b>\x1b[31m\nnew"
    hostile.symlink_to("/bin/sleep")
    odd = sleeper(str(hostile), "600")
    while psutil.Process(odd.pid).exe() != os.path.realpath("/bin/sleep"):
        time.sleep(0.01)
    found = {one.pids[0]: one.process for one in who({secret.pid: 1, odd.pid: 1})}
    plain, strange = found[secret.pid], found[odd.pid]
    assert plain is not None and strange is not None
    assert plain.program is not None and plain.program.startswith("python") and "hunter2" not in plain.program
    assert strange.program == "a<b>\x1b[31m\nnew"
    assert plain.own and plain.user == psutil.Process().username()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_another_s_process_is_named_as_far_as_it_can_be(sleeper: Any) -> None:
    process = who({sleeper(user="nobody").pid: 1})[0].process
    assert process is not None
    assert (process.user, process.own, process.program) == ("nobody", False, "sleep")


HIDE = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"'
LOOK = """
import sys, time
from jupyter_air.gpu.processes import Processes
print(*sorted((pid, type(one).__name__) for pid, one in Processes().look(map(int, sys.argv[1:]), time.time()).items()))
"""


def _may_hide() -> bool:
    command = ["unshare", "--mount", "sh", "-c", HIDE, "sh", sys.executable, "-c", "import jupyter_air"]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _may_hide(), reason="hiding processes in a mount namespace is not allowed here")
def test_a_process_that_is_hidden_has_not_ended(sleeper: Any) -> None:
    hidden, ended = sleeper(), sleeper()
    ended.kill()
    ended.wait()
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        HIDE,
        "sh",
        sys.executable,
        "-c",
        LOOK,
        str(hidden.pid),
        str(ended.pid),
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert said == str((hidden.pid, "Hidden"))


#: In a PID namespace a number can be given again; what has "/dev/nvidia0" open is known there.
CONTAINER = 'mount -t tmpfs tmpfs /dev && : > /dev/nvidia0 && exec "$@"'
AGAIN = """
import subprocess, time
from pathlib import Path
from jupyter_air.gpu.processes import Processes
processes, gpu = Processes(), open("/dev/nvidia0", "w")
first = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=gpu)
before = processes.look([first.pid], time.time())[first.pid]
first.communicate()
time.sleep(0.02)  # a birth is told in hundredths of a second
Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
second = subprocess.Popen(["sleep", "600"], stdout=gpu)
after = processes.look([first.pid], time.time())[first.pid]
print(before.program, after.program, first.pid == second.pid)
"""
UNSHARE = ("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c", CONTAINER, "sh")


def _may_unshare() -> bool:
    return os.geteuid() == 0 and subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _may_unshare(), reason="making a PID namespace is not allowed here")
def test_a_number_that_was_given_again_is_somebody_else_s() -> None:
    said = subprocess.run([*UNSHARE, sys.executable, "-c", AGAIN], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["cat", "sleep", "True"]


def test_impossible_numbers_name_nobody() -> None:
    assert who({0: 1, -1: 1, 2**31 - 1: 1, 2**70: 1}) == []


def test_a_process_of_a_slice_is_not_its_gpu_s_too() -> None:
    whole = GpuSample(uuid="gpu", index="0", name="A100", pids={1: 10, 2: 20})
    slices = [
        GpuSample(uuid="mig-0", index="0:0", name="A100", parent_uuid="gpu", pids={1: 10}),
        GpuSample(uuid="mig-1", index="0:1", name="A100", parent_uuid="gpu", pids=None),
    ]
    assert held([whole, *slices]) == {"gpu": {2: 20}, "mig-0": {1: 10}, "mig-1": None}
    assert holders({"mig-1": None, "idle": {}}, [], Processes(), time.time()) == {"mig-1": None, "idle": []}
