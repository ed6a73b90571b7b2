"""A door: ``python -m jupyter_air.companion FOLDER``, the process that looks after managed runs.

It joins what reads this machine (``gpu``) with what knows of runs (``runs.companion``). The tracking URI, which may
have credentials, comes in ``MLFLOW_TRACKING_URI``, since arguments are everybody's to read.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jupyter_air.gpu.child import ChildError, NvmlChild
from jupyter_air.gpu.host import HostReader
from jupyter_air.gpu.samples import GpuSample
from jupyter_air.runs.companion import Companion
from jupyter_air.runs.configured import TRACKING_URI
from jupyter_air.runs.managed import ManagedRuns
from jupyter_air.runs.stores import run_store

_log = logging.getLogger(__name__)

_GPU_S = 8.0
_OTHERS_LOOK_S = 2.0
_LARGEST_LOG_BYTES = 2**20


class _ThisMachine:
    """Readings by the same rules as the pane's."""

    def __init__(self) -> None:
        self._child = NvmlChild()
        self._trouble = ""

    def host(self, pid: int) -> HostReader:
        return HostReader(pid=pid)

    async def gpus(self) -> Sequence[GpuSample]:
        try:
            gpus = (await self._child.sample(_GPU_S)).gpus
            trouble = ""
        except ChildError as error:
            gpus, trouble = [], error.message
        if trouble and not self._trouble:
            _log.warning("No GPU metrics for now: %s", trouble)
        self._trouble = trouble
        return gpus

    async def close(self) -> None:
        await self._child.stop()


def main() -> None:
    """Looks after the runs of a folder, unless another process does; ends when there are none any more."""
    runs = ManagedRuns(Path(sys.argv[1]))
    if runs.log.exists() and runs.log.stat().st_size > _LARGEST_LOG_BYTES:
        os.truncate(runs.log, 0)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("jupyter_air").setLevel(logging.INFO)
    is_done = True
    # A run that was written down while this one was on its way out saw its lock held: it is not left alone.
    while is_done and runs:
        with runs.lock.held(_OTHERS_LOOK_S) as held:
            if not held:
                return
            store = run_store(os.environ[TRACKING_URI], os.environ)
            is_done = asyncio.run(Companion(runs, _ThisMachine(), store).run())


if __name__ == "__main__":
    main()
