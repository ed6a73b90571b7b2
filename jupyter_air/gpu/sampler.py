"""The child process that owns NVML: each line on stdin asks for a line of JSON on stdout, a ``NodeSample``.

It ends when stdin does, and dies with its parent. ``child.NvmlChild`` runs it as ``python -m jupyter_air.gpu.sampler``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import BinaryIO

import msgspec

from jupyter_air.gpu.nvml import NvmlReader

_PR_SET_PDEATHSIG = 1


def serve(requests: BinaryIO, answers: BinaryIO, reader: NvmlReader) -> None:
    """Answer requests until they end.

    Args:
        requests: a line for each; what it says does not matter.
        answers: gets one line of JSON for each request.
        reader: takes the readings.

    Raises:
        BrokenPipeError: nobody takes the answers any more.
    """
    encoder = msgspec.json.Encoder()
    for _ in requests:
        answers.write(encoder.encode(reader.read()) + b"\n")
        answers.flush()


def main() -> None:
    """Serve stdin and stdout."""
    # A terminal's Ctrl-C goes to the whole process group; the server ends this process by closing its stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    reader = NvmlReader()
    # A pipe that breaks is a parent that died: the same as the end of stdin.
    with contextlib.suppress(BrokenPipeError), _claim_stdout() as answers:
        serve(sys.stdin.buffer, answers, reader)
    reader.close()


def _die_with_parent() -> None:
    # A process that hangs in the driver does not see the end of stdin; this signal reaches it, if any does. It comes
    # when the thread that started the process ends: a server starts it on its main thread.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _claim_stdout() -> BinaryIO:
    """The real stdout; whatever a native library prints goes to stderr from now on."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


if __name__ == "__main__":
    main()
