"""How the kernel that this process is comes to its end, as far as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from jupyter_air.runs.managed import FAILED_BEFORE, RESTARTED, SHUT_DOWN

Why = Literal["restart", "shutdown"]

_why: Why | None = None


class Outcome(NamedTuple):
    """What becomes of a run that is still open when its kernel goes.

    Attributes:
        status: MLflow's word.
        reason: one sentence, unless it ended as runs do.
    """

    status: str
    reason: str | None = None


def watch(shell: Any, tell: Callable[[Why], None]) -> None:
    """Tells when the kernel is asked to go, even while a cell runs; soon after that it may be killed.

    Args:
        shell: of the kernel.
        tell: is called in another thread than the cell's.
    """
    kernel = shell.kernel
    if hasattr(kernel, "_jupyter_air_watched") or not hasattr(kernel, "do_shutdown"):
        return
    kernel._jupyter_air_watched = True
    shut_down = kernel.do_shutdown

    def do_shutdown(restart: bool) -> Any:
        global _why
        _why = "restart" if restart else "shutdown"
        tell(_why)
        return shut_down(restart)

    kernel.do_shutdown = do_shutdown


def outcome(shell: Any | None) -> Outcome:
    """Of an orderly end, when no cell runs any more.

    Who restarts a kernel throws away what it did. A kernel that is shut down after its last cell went well is how a
    notebook ends that is run from beginning to end, in a batch or by hand.

    Args:
        shell: of the kernel; ``None`` in a process that is none.
    """
    if _why == "restart":
        return Outcome("KILLED", RESTARTED)
    result = getattr(shell, "last_execution_result", None)
    error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return Outcome("KILLED", SHUT_DOWN)
    return Outcome("FINISHED") if error is None else Outcome("FAILED", FAILED_BEFORE)
