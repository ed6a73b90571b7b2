"""A real kernel of this environment, started as Jupyter starts one, and what it says."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from jupyter_air.runs.card import MIME_TYPE
from tests.runs.mlflow_process import ENOUGH_S

_COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Reply:
    """What a cell brought.

    Attributes:
        status: ``ok`` or ``error``, as whoever runs all cells sees it.
        evalue: of an error.
        value: text of the last expression.
        stdout, stderr: printed.
        tracebacks: shown, a string each, without colours.
        cards: MIME bundles of cards displayed, first and updated.
        display_ids: of these.
    """

    status: str = ""
    evalue: str = ""
    value: str | None = None
    stdout: str = ""
    stderr: str = ""
    tracebacks: list[str] = field(default_factory=list)
    cards: list[dict[str, Any]] = field(default_factory=list)
    display_ids: list[str] = field(default_factory=list)

    def hear(self, message: Mapping[str, Any]) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            setattr(self, content["name"], getattr(self, content["name"]) + content["text"])
        elif kind == "execute_result":
            self.value = content["data"]["text/plain"]
        elif kind == "error":
            self.tracebacks.append(_COLOUR.sub("", "\n".join(content["traceback"])))
        elif kind in ("display_data", "update_display_data") and MIME_TYPE in content["data"]:
            self.cards.append(content["data"])
            self.display_ids.append(content["transient"]["display_id"])


class Kernel:
    """The kernel; ``run`` is a person who runs a cell."""

    def __init__(self, folder: Path, environ: Mapping[str, str], kernel_id: str) -> None:
        file = str(folder / f"kernel-{kernel_id}.json")
        env = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
        # A port that is found free may be another's by the time of its use. A socket's address has room for 107 bytes.
        self._sockets = tempfile.mkdtemp(prefix="air-")
        self.manager = KernelManager(
            connection_file=file, kernel_name="python3", transport="ipc", ip=f"{self._sockets}/kernel"
        )
        self.manager.start_kernel(
            cwd=str(folder),
            env={
                **env,
                "MLFLOW_DISABLE_TELEMETRY": "true",
                "IPYTHONDIR": str(folder / "ipython"),
                **environ,
            },
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=ENOUGH_S)

    def run(self, code: str, *, interrupt_at: str | None = None) -> Reply:
        """What a cell brings; interrupted once it has printed the words given."""
        reply = Reply()

        def hear(message: Mapping[str, Any]) -> None:
            reply.hear(message)
            if interrupt_at is not None and interrupt_at in reply.stdout and not interrupted.is_set():
                interrupted.set()
                self.manager.interrupt_kernel()

        interrupted = threading.Event()
        answer = self.client.execute_interactive(code, output_hook=hear, timeout=ENOUGH_S)["content"]
        reply.status, reply.evalue = answer["status"], answer.get("evalue", "")
        return reply

    def value(self, code: str) -> str:
        """The text of an expression's value."""
        reply = self.run(code)
        assert reply.status == "ok" and reply.value is not None, reply
        return reply.value

    def completions(self, code: str) -> list[str]:
        """What is offered at the end of the code, in place of the word there."""
        matches: list[str] = self.client.complete(code, reply=True, timeout=ENOUGH_S)["content"]["matches"]
        return matches

    def help(self, code: str) -> str:
        """What is told of the object at the end of the code."""
        text: str = self.client.inspect(code, reply=True, timeout=ENOUGH_S)["content"]["data"]["text/plain"]
        return text

    def begin(self, code: str) -> None:
        """Runs a cell without waiting for its end, until it has printed something."""
        self.client.execute(code)
        while self.client.get_iopub_msg(timeout=ENOUGH_S)["header"]["msg_type"] != "stream":
            pass

    def restart(self) -> None:
        """As JupyterLab restarts a kernel."""
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=ENOUGH_S)

    def start_again(self) -> None:
        """It ends in good order, if it has not yet, and a new one starts."""
        # What is sent to one that is dead reaches the next.
        if self.manager.is_alive():
            self._end()
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=ENOUGH_S)

    def end(self) -> None:
        """An orderly end, as the last one of a notebook has."""
        self._end()
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _end(self) -> None:
        self.client.shutdown()
        end_s = time.monotonic() + ENOUGH_S
        while self.manager.is_alive() and time.monotonic() < end_s:
            time.sleep(0.05)


@contextmanager
def kernel(folder: Path, environ: Mapping[str, str], kernel_id: str = "aaaa-1111") -> Iterator[Kernel]:
    one = Kernel(folder, environ, kernel_id)
    try:
        yield one
    finally:
        if one.manager.has_kernel:
            one.end()
