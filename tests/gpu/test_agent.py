"""``air agent`` as its own process: read by promtool, a real Prometheus and us, on a driver that breaks."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from jupyter_air.cli import air
from jupyter_air.gpu.agent import is_loopback, parse_listen
from jupyter_air.gpu.exporters import read_page
from jupyter_air.gpu.samples import NodeSample
from tests.fake_nvml import GIB, FakeNvml, key
from tests.gpu.prometheus_process import needs_prometheus, prometheus

TOKEN = "a-token-for-the-agent"


class Agent:
    """The process and its page."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def get(self, path: str = "/metrics", **headers: str) -> httpx.Response:
        return httpx.get(self.url.removesuffix("/metrics") + path, headers=headers, trust_env=False, timeout=30)

    def node(self) -> NodeSample:
        (node,) = read_page(self.get().content, "x")
        return node

    def value(self, metric: str) -> float | None:
        found = re.search(rf"^{metric}(?:{{.*}})? (\S+)$", self.get().text, re.M)
        return float(found[1]) if found else None


@contextmanager
def running(*arguments: str) -> Iterator[Agent]:
    command = [sys.executable, "-m", "jupyter_air.cli", "agent", "--listen", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("air agent: serving http://127.0.0.1:"), line
        yield Agent(process, line.split()[-1])
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def refused(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "jupyter_air.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


def test_the_page_is_this_machine(fake: FakeNvml) -> None:
    fake.update({"gpu.1.return": 15, "gpu.0.throttle": 4})
    with running() as agent:
        node = agent.node()
        assert (node.name, node.source, node.state) == (socket.gethostname(), "air-agent", "live")
        assert node.driver == "580.65.06"
        first, second = node.gpus
        assert (first.uuid, first.index, first.name) == (key(0), "0", "NVIDIA H100 80GB HBM3")
        assert (first.utilization_percent, first.temperature_c, first.power_w) == (40.0, 50.0, 200.0)
        assert (first.memory_used_bytes, first.memory_total_bytes) == (8 * GIB, 80 * GIB)
        assert (first.power_limit_w, first.sm_clock_mhz, first.memory_clock_mhz) == (700.0, 1980.0, 2619.0)
        assert (first.throttle_bits, first.pci_bus_id) == (4, "00000000:01:00.0")
        assert second.state == "lost" and second.utilization_percent is None
        assert node.host is not None and (node.host.memory_total_bytes or 0) > GIB
        assert time.time() - (node.time_s or 0) < 5
        assert agent.value("air_node_up") == 1


def test_promtool_has_nothing_to_say(fake: FakeNvml, tmp_path: Path) -> None:
    with running() as agent:
        page = agent.get().text
    for line in page.splitlines():
        assert re.match(r"# (HELP|TYPE) air_[a-z_]+ |air_[a-z_]+(\{.*\})? \S+$", line), line
    if os.environ.get("CI") or _has("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    else:
        pytest.skip("no promtool on this machine: make .build/peers installs it")


def _has(program: str) -> bool:
    return any((Path(folder) / program).exists() for folder in os.environ["PATH"].split(os.pathsep))


@needs_prometheus
def test_a_real_prometheus_scrapes_it(fake: FakeNvml, tmp_path: Path, token_file: Path) -> None:
    with running("--token-file", str(token_file)) as agent:
        address = agent.url.split("/")[2]
        with prometheus(tmp_path / "with", [address], token_file=token_file) as server:
            assert server.value_within(f'air_gpu_memory_used_bytes{{uuid="{key(1)}"}}') == 8 * GIB
            assert server.value_within('air_gpu_utilization_ratio{index="0"}') == 0.4
            assert server.value_within("up") == 1
        with prometheus(tmp_path / "without", [address]) as server:
            assert server.value_within("up") == 0


def test_a_driver_that_hangs_delays_no_scrape(fake: FakeNvml) -> None:
    with running() as agent:
        assert agent.node().state == "live"
        fake.update({"gpu.0.temperature.delay_ms": 3_600_000})
        time.sleep(0.6)
        began_s = time.monotonic()
        node = agent.node()
        assert time.monotonic() - began_s < 60, "the driver answers after an hour"
        assert (node.state, agent.value("air_node_up")) == ("stale", 0)
        assert re.fullmatch(r"NVML has not answered for \d+ s\.", node.reason or "")
        assert [gpu.utilization_percent for gpu in node.gpus] == [40.0, 40.0], "what is known, with its age"
        assert time.time() - (node.time_s or 0) > 2
        assert (agent.value("air_reading_age_seconds") or 0) > 2
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(60) == 0


def test_no_driver_is_a_page_too(fake: FakeNvml) -> None:
    fake.update({"init.return": 9})
    with running() as agent:
        while (node := agent.node()).state == "stale":
            time.sleep(0.1)  # A child that takes its time to start has not answered yet.
        assert (node.state, node.reason) == ("no-driver", "The NVIDIA driver is installed but not loaded.")
        assert agent.value("air_node_up") == 0 and node.hint
        assert node.time_s is None, "what was never read has no age"


def test_sigterm_ends_at_once_while_a_client_dawdles(fake: FakeNvml) -> None:
    with (
        running() as agent,
        socket.create_connection(("127.0.0.1", int(agent.url.split(":")[2].split("/")[0]))) as slow,
    ):
        slow.sendall(b"GET /metrics HTTP/1.1\r\n")
        agent.node()
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(60) == 0


def test_the_token(fake: FakeNvml, token_file: Path) -> None:
    with running("--token-file", str(token_file)) as agent:
        assert agent.get().status_code == 401
        assert agent.get(Authorization="Bearer wrong").status_code == 401
        assert agent.get(Authorization=f"Basic {TOKEN}").status_code == 401
        assert fake.calls("nvmlInit") == 0, "whoever has no token wakes no GPU"
        assert agent.get(Authorization=f"Bearer {TOKEN}").status_code == 200
        command = Path(f"/proc/{agent.process.pid}/cmdline").read_bytes()
        assert TOKEN.encode() not in command
        token_file.write_text("rotated")
        assert agent.get(Authorization=f"Bearer {TOKEN}").status_code == 401
        assert agent.get(Authorization="Bearer rotated").status_code == 200
        token_file.chmod(0o640)
        reply = agent.get(Authorization="Bearer rotated")
        assert (reply.status_code, "open to others" in reply.text) == (503, True)


def test_other_paths_and_gzip(fake: FakeNvml) -> None:
    with running() as agent:
        assert (agent.get("/").status_code, agent.get("/").text) == (404, "The page is at /metrics.\n")
        reply = agent.get()
        assert reply.headers["content-encoding"] == "gzip"
        assert reply.headers["content-type"].startswith("text/plain; version=")


def test_wrong_input_is_a_sentence(tmp_path: Path, token_file: Path) -> None:
    loose = tmp_path / "loose"
    loose.write_text("x")
    loose.chmod(0o644)
    cases = {
        ("--listen", "9411"): "--listen is HOST:PORT such as 127.0.0.1:9411; got '9411'.",
        ("--listen", "127.0.0.1:99999"): "--listen is HOST:PORT such as 127.0.0.1:9411",
        ("--listen", "no-such-host.invalid:9411"): "The host of --listen is not known: no-such-host.invalid.",
        ("--token-file", str(loose)): f"The secret file {loose} is open to others than its owner.",
        ("--token-file", str(tmp_path / "none")): "cannot be read: No such file or directory.",
        ("--colour",): "No such option",
    }
    for arguments, sentence in cases.items():
        code, said = refused("agent", *arguments)
        assert (code, sentence in said) == (2, True), (arguments, said)
    assert refused("agnet")[0] == 2


def test_a_port_in_use_is_a_failure(fake: FakeNvml) -> None:
    with running() as agent:
        address = agent.url.split("/")[2]
        code, said = refused("agent", "--listen", address)
    assert (code, said.strip().splitlines()[-1]) == (1, f"air: Cannot listen on {address}: Address already in use.")


def test_addresses() -> None:
    assert parse_listen("[::1]:9411") == ("::1", 9411)
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "gpu-a", "192.0.2.1"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    done = CliRunner().invoke(air, ["completion", shell])
    assert done.exit_code == 0 and "_AIR_COMPLETE" in done.output
