"""Where and when it was measured, without a name that tells whose machine it is."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path

from tests.benchmarks.programs import PYTHON, browser, nvdashboard

_DISTRIBUTIONS = ("jupyterlab", "jupyter_server", "msgspec", "mlflow")


def described() -> str:
    """A table of what counts for the figures."""
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} of its CPUs",
        "load before": f"{os.getloadavg()[0]:.1f} (one minute)",
        "system": f"{_system()}, Linux {platform.release().split('-')[0]}",
        "Python": f"{platform.python_version()} ({', '.join(_installed(PYTHON, _DISTRIBUTIONS))})",
        "browser": _said([browser(), "--version"]),
        "peer": ", ".join(_installed(nvdashboard(), ("jupyterlab-nvdashboard", "jupyterlab"))),
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())])


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _system() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")


def _installed(python: Path, names: tuple[str, ...]) -> list[str]:
    code = "import sys, importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep='\\n')"
    return _said([str(python), "-c", code, *names]).splitlines()


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
