"""Starts a process of ours that outlives whoever starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def start_detached(
    module: str, arguments: Sequence[str], log: Path, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Starts ``python -m module`` without waiting for anything.

    Args:
        module: to run.
        arguments: of it; every user of the machine can read them.
        log: for what it prints.
        environ: of it.

    Raises:
        OSError: it cannot be started.
    """
    # A log that two starters share is written at its end by both.
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=dict(environ),
            # It outlives Jupyter and its terminal, since jobs do.
            start_new_session=True,
        )
