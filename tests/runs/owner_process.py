"""``python -m tests.runs.owner_process``: has a run, as a kernel has, until a line comes on stdin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from jupyter_air.runs.registering import register


class Owner:
    """A kernel, as far as the companion goes: in half a second instead of five.

    Args:
        home: for state.
        uri: tracking URI.
        run_id: of a run there.
        environ: of it.
        fork: it has a child that holds what it has, and outlives it.
    """

    def __init__(self, home: Path, uri: str, run_id: str, environ: Mapping[str, str], *, fork: bool = False) -> None:
        told = [uri, run_id, *(["fork"] if fork else [])]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runs.owner_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=home,
            # The URI may have a password, which is not for arguments.
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1",
                "JUPYTER_AIR_HOME": str(home),
                "OWNER": "\n".join(told),
                **environ,
            },
        )

    def wait_until_it_has_it(self) -> int:
        """The process id of its child, or 0."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def end(self) -> None:
        """It ends the run."""
        self.process.communicate("end\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def main() -> None:
    """Prints the process id of the child once the run is written down."""
    uri, run_id, *fork = os.environ["OWNER"].split("\n")
    registration = register(run_id, uri, is_ours=True, system_metrics=None, kernel_id="owner", environ=os.environ)
    assert registration is not None
    child = os.fork() if fork else 0
    if fork and child == 0:
        os.close(1)
        signal.pause()
    print(child, flush=True)
    sys.stdin.readline()
    registration.end()


if __name__ == "__main__":
    main()
