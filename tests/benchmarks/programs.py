"""The programs that are measured and measure: this environment's Python, the browser, and the peer's environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.fake_nvml import FakeNvml, State, healthy, library_folder

#: How many GPUs the servers have, how often and how long they are asked, and a driver of which one call takes 3 s.
GPUS = 8
POLLS = 300
WATCH_S = 20.0
STALL: State = {"gpu.0.utilization.delay_ms": 3000}

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.executable)
_PEER = ROOT / ".venvs" / "bench-nvdashboard"


def browser() -> str:
    """The Chromium that the UI tests use.

    Raises:
        FileNotFoundError: there is none.
    """
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    raise FileNotFoundError("no Chromium; `make bench` installs one")


@cache
def nvdashboard() -> Path:
    """The Python of an environment of its own that has jupyterlab-nvdashboard; made at the first call.

    Raises:
        subprocess.CalledProcessError: it could not be installed.
    """
    python = _PEER / "bin" / "python"
    uv = [str(PYTHON.with_name("uv"))]
    if not python.exists():
        subprocess.run([*uv, "venv", "-q", "-p", str(PYTHON), str(_PEER)], check=True)
    packages = ["jupyterlab>=4.6,<5", "jupyterlab-nvdashboard==0.15.0"]
    subprocess.run([*uv, "pip", "install", "-q", "-p", str(python), *packages], check=True)
    return python


@cache
def driver_folder(source: str) -> Path:
    """The folder with a ``libnvidia-ml.so.1``, built now.

    Args:
        source: ``nvml_links``, the fake driver, or ``nvml_instant``, which costs its caller next to nothing.
    """
    folder = library_folder().with_name(f"bench_{source}")
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1"]
    built = [str(folder / "libnvidia-ml.so.1"), str(Path(__file__).with_name(f"{source}.c"))]
    subprocess.run([shutil.which("cc") or "gcc", *flags, "-o", *built], check=True)
    return folder


def instant_driver() -> dict[str, str]:
    """The environment for whoever shall see a driver of 8 GPUs that answers at once."""
    return {"LD_LIBRARY_PATH": str(driver_folder("nvml_instant"))}


class Driver:
    """A driver with so many GPUs that are well, and the environment for whoever shall see it.

    Args:
        gpus: how many.
    """

    def __init__(self, gpus: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="air-bench-")
        self.fake = FakeNvml(Path(self._folder.name))
        self.fake.write(healthy(gpus))

    @property
    def environment(self) -> dict[str, str]:
        """Without the log of calls."""
        return {"LD_LIBRARY_PATH": str(driver_folder("nvml_links")), "FAKE_NVML_STATE": str(self.fake.path)}

    @property
    def logging_environment(self) -> dict[str, str]:
        """With it, to count them."""
        return {**self.environment, "FAKE_NVML_LOG": str(self.fake.log)}

    def calls(self) -> int:
        """How many calls the log has."""
        return len(self.fake.log.read_text().splitlines())
