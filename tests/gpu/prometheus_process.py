"""A real Prometheus server for the tests; Debian's package ``prometheus`` brings it and promtool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live_server import free_port

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None and not os.environ.get("CI"),
    reason="no prometheus on this machine: apt-get install prometheus (make .build/peers does it)",
)


class Prometheus:
    """A server on a free port of loopback."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        reply = httpx.get(f"{self.url}/api/v1/query", params={"query": expression}, trust_env=False)
        found: list[dict[str, Any]] = reply.json()["data"]["result"]
        return found

    def value_within(self, expression: str, limit_s: float = 30) -> float:
        """The expression's one value, as soon as there is one."""
        end = time.monotonic() + limit_s
        while not (found := self.query(expression)):
            assert time.monotonic() < end, f"{expression} has no value"
            time.sleep(0.1)
        return float(found[0]["value"][1])


@contextmanager
def prometheus(folder: Path, targets: Sequence[str], *, token_file: Path | None = None) -> Iterator[Prometheus]:
    """Scrapes ``host:port`` targets each second.

    Args:
        folder: for its data, configuration and log.
        targets: ``host:port``.
        token_file: holds what it shows them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    job: dict[str, Any] = {"job_name": "gpus", "static_configs": [{"targets": list(targets)}]}
    if token_file is not None:
        job["authorization"] = {"credentials_file": str(token_file)}
    # JSON is YAML.
    configuration = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]}
    (folder / "prometheus.yml").write_text(json.dumps(configuration))
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    server = Prometheus(port)
    try:
        _wait_until_ready(server, process, folder)
        yield server
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(server: Prometheus, process: subprocess.Popen[bytes], folder: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, (folder / "prometheus.log").read_text()
        try:
            if httpx.get(f"{server.url}/-/ready", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("Prometheus did not start")
