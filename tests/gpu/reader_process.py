"""``NvmlReader`` in a process of its own: the library is loaded through ctypes as in life, and may crash."""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType

import msgspec

from jupyter_air.gpu.samples import GpuSample, NodeSample

_SERVE = """
import sys
from jupyter_air.gpu.nvml import NvmlReader
from jupyter_air.gpu.sampler import serve
reader = NvmlReader(retry_s=float(sys.argv[1]))
serve(sys.stdin.buffer, sys.stdout.buffer, reader)
reader.close()
"""


class ReaderProcess:
    """Readings on demand.

    Args:
        retry_s: the reader's.
        environment: added to this process's.
    """

    def __init__(self, retry_s: float = 10.0, environment: dict[str, str] | None = None) -> None:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **(environment or {})}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(retry_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )

    def read(self) -> NodeSample:
        """One reading."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b"sample\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=NodeSample)

    def gpu(self, index: int = 0) -> GpuSample:
        """One row of a new reading."""
        return self.read().gpus[index]

    def close(self) -> None:
        """Closes the reader and ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()

    def __enter__(self) -> ReaderProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.close()
