"""A driver that tests can change while a real server runs; README.md beside this has the state file's format."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Value = str | int
State = dict[str, Value]

_HERE = Path(__file__).resolve().parent
_SOURCES = (_HERE / "nvml.c", _HERE / "fields.h")
_BUILD = _HERE.parents[1] / ".build" / "fake_nvml"

GIB = 2**30


def library_folder() -> Path:
    """The folder with ``libnvidia-ml.so.1``, built when it is missing or older than its source.

    Raises:
        RuntimeError: there is no C compiler.
        subprocess.CalledProcessError: the compiler refuses the source.
    """
    library = _BUILD / "libnvidia-ml.so.1"
    if library.exists() and library.stat().st_mtime >= max(source.stat().st_mtime for source in _SOURCES):
        return _BUILD
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("The fake NVML needs a C compiler: install gcc, or set CC.")
    _BUILD.mkdir(parents=True, exist_ok=True)
    # Two test runs may build at once: each builds a file of its own, and the rename decides.
    with tempfile.TemporaryDirectory(dir=_BUILD) as folder:
        built = Path(folder) / library.name
        flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Wl,-soname,libnvidia-ml.so.1"]
        subprocess.run([compiler, *flags, "-o", str(built), str(_SOURCES[0])], check=True)
        built.replace(library)
    return _BUILD


def healthy_gpu(index: int, **changes: Value) -> State:
    """The lines of one GPU that is well: 80 GiB, 40 % busy, 50 degrees C, 200 W.

    Args:
        index: its NVML index; the UUID is made from it.
        changes: other values, with ``__`` for a dot (``memory__used=0``).
    """
    gpu: State = {
        "uuid": uuid(index),
        "name": "NVIDIA H100 80GB HBM3",
        "pci": f"00000000:{index + 1:02X}:00.0",
        "utilization": 40,
        "temperature": 50,
        "memory.total": 80 * GIB,
        "memory.used": 8 * GIB,
        "memory.reserved": 1 * GIB,
        "power_mw": 200_000,
        "power_limit_mw": 700_000,
        "energy_mj": 123_456_789,
        "clock.sm": 1980,
        "clock.memory": 2619,
        "throttle": 0,
        "processes.compute": "",
        "processes.graphics": "",
    }
    gpu |= {name.replace("__", "."): value for name, value in changes.items()}
    return {f"gpu.{index}.{name}": value for name, value in gpu.items()}


def uuid(index: int) -> str:
    """The UUID of ``healthy_gpu(index)``, as NVML spells it."""
    return f"GPU-0000000{index}-AAAA-BBBB-CCCC-DDDDDDDDDDDD"


def key(index: int) -> str:
    """The same UUID as Jupyter AIR keeps it."""
    return uuid(index).removeprefix("GPU-").lower()


def healthy(gpus: int) -> State:
    """The lines of a driver with so many GPUs that are well."""
    state: State = {"driver.version": "580.65.06", "count": gpus}
    for index in range(gpus):
        state |= healthy_gpu(index)
    return state


class FakeNvml:
    """A state file, its log, and the environment for a process that shall see this driver.

    Args:
        folder: where ``state`` and ``log`` lie. A state already there is taken up.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state"
        self.log = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the process's environment."""
        paths = [str(library_folder()), os.environ.get("LD_LIBRARY_PATH", "")]
        return {
            "LD_LIBRARY_PATH": os.pathsep.join(path for path in paths if path),
            "FAKE_NVML_STATE": str(self.path),
            "FAKE_NVML_LOG": str(self.log),
        }

    def write(self, state: Mapping[str, Value]) -> None:
        """Replace the whole state, at once for whoever reads it."""
        text = "".join(f"{key} = {value}\n" for key, value in state.items())
        handle, name = tempfile.mkstemp(dir=self.path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(self.path)

    def read(self) -> State:
        """The state as it is; empty before the first write."""
        if not self.path.exists():
            return {}
        lines = (line.partition(" = ") for line in self.path.read_text(encoding="utf-8").splitlines())
        return {key: value for key, _, value in lines}

    def update(self, changes: Mapping[str, Value] | None = None, *, remove: Iterable[str] = ()) -> None:
        """Change some lines, and take away the removed keys with everything below them."""
        gone = tuple(remove)
        state = {
            key: value
            for key, value in self.read().items()
            if not any(key == name or key.startswith(f"{name}.") for name in gone)
        }
        self.write(state | dict(changes or {}))

    def calls(self, function: str, path: str = "") -> int:
        """How often a function of NVML was called, for paths that begin so (``gpu.0``)."""
        return sum(1 for name, where, *_ in self._log() if name == function and where.startswith(path))

    def users(self) -> int:
        """Successful inits that were not shut down, at the last call."""
        lines = self._log()
        return int(lines[-1][-1].partition("=")[2]) if lines else 0

    def forget_calls(self) -> None:
        """Begin counting again."""
        self.log.unlink(missing_ok=True)

    def _log(self) -> list[list[str]]:
        return [line.split(" ") for line in self.log.read_text().splitlines()] if self.log.exists() else []
