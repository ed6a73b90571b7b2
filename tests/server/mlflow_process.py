"""A real ``mlflow server`` as its own process, with a store and artifacts of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

#: One worker, no job runner: a fourth of the memory and of the start.
_LEAN = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


class MlflowProcess:
    """Starts at once; ``wait_until_up`` takes half a minute on a slow machine.

    Args:
        folder: for its database, artifacts and log.
        port: of loopback; without one it listens on ``socket``.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.socket = None if port else folder / "m.sock"
        self.url = f"http://127.0.0.1:{port}" if port else "http://localhost"
        self._log = folder / "mlflow.log"
        where = ["--port", str(port)] if port else ["--uvicorn-opts", f"--uds {self.socket}"]
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", *where]
        command += [
            "--backend-store-uri",
            f"sqlite:///{folder}/mlflow.db",
            "--artifacts-destination",
            f"{folder}/artifacts",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **_LEAN}, start_new_session=True
            )

    def client(self) -> httpx.Client:
        """Speaks to it directly."""
        transport = httpx.HTTPTransport(uds=str(self.socket) if self.socket else None)
        return httpx.Client(transport=transport, base_url=self.url, timeout=120)

    def wait_until_up(self) -> None:
        with self.client() as client:
            for _ in range(1800):
                if self._process.poll() is not None:
                    raise RuntimeError(f"mlflow ended:\n{self._log.read_text(errors='replace')}")
                try:
                    if client.get("health").status_code == 200:
                        return
                except httpx.TransportError:
                    time.sleep(0.1)
        raise RuntimeError(f"mlflow did not come up:\n{self._log.read_text(errors='replace')}")

    def stop(self) -> None:
        """With all its children: a killed ``mlflow`` leaves its server running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
