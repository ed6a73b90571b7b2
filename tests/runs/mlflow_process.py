"""MLflow at work in processes of its own, and those that serve stores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import psutil

from jupyter_air.runs.upstream import Upstream

#: A start takes some 10 s on an idle machine; a loaded one may take much longer.
ENOUGH_S = 300.0


def mlflow(code: str, folder: Path, environ: Mapping[str, str] | None = None) -> str:
    """What Python code prints that uses MLflow, in a working folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    env |= {"MLFLOW_DISABLE_TELEMETRY": "true", **(environ or {})}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, timeout=ENOUGH_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def daemons(home: Path) -> list[psutil.Process]:
    """The living processes that serve stores of a home."""
    return _living("jupyter_air.runs.daemon", home)


def companions(home: Path) -> list[psutil.Process]:
    """The living processes that look after runs of a home."""
    return _living("jupyter_air.companion", home)


def _living(module: str, home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
            if module in line and any(str(home) in part for part in line):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return [process for process in found if not has_ended(process)]


def has_ended(process: psutil.Process) -> bool:
    """Whether it does nothing any more; whoever started it may not have noticed."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def end_all(home: Path) -> None:
    """Kills them."""
    for process in (*companions(home), *daemons(home)):
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def wait_until(condition: Callable[[], object]) -> None:
    """Returns when it holds."""
    end_s = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < end_s, "it never came to be"
        time.sleep(0.05)


def client(upstream: Upstream) -> httpx.Client:
    """Speaks to a server as the proxy does."""
    assert upstream.socket is not None
    return httpx.Client(transport=httpx.HTTPTransport(uds=upstream.socket), base_url=upstream.url, timeout=60)


def experiments(upstream: Upstream) -> dict[str, str]:
    """Names of its experiments, and where each keeps artifacts."""
    with client(upstream) as speaker:
        reply = speaker.post("/api/2.0/mlflow/experiments/search", json={"max_results": 100})
    assert reply.status_code == 200, reply.text
    return {one["name"]: one["artifact_location"] for one in reply.json()["experiments"]}
