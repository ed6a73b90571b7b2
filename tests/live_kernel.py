"""A kernel of a live server: started through its REST, spoken to over its own channels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from tests.live_server import LiveServer


def session(server: LiveServer, path: str, type: str = "notebook", kernel: str | None = None) -> Any:
    """A session for the path, on a kernel that runs already when one is given."""
    on = {"name": "python3"} if kernel is None else {"id": kernel}
    reply = server.client.post("api/sessions", json={"path": path, "name": path, "type": type, "kernel": on})
    assert reply.status_code == 201, reply.text
    return reply.json()


class LiveKernel:
    """A kernel that the server has started.

    Args:
        server: has it.
        ident: of the kernel.
    """

    def __init__(self, server: LiveServer, ident: str) -> None:
        self.server = server
        self.ident = ident
        self._client = BlockingKernelClient(connection_file=str(server.runtime_folder / f"kernel-{ident}.json"))
        self._client.load_connection_file()
        # No heartbeat: on a machine with much to do a slow kernel would be taken for a dead one.
        self._client.start_channels(hb=False)
        self._client.wait_for_ready(timeout=60)

    def run(self, code: str) -> str:
        """Runs the code; gives what it printed, once the server has heard that the kernel is idle again.

        Raises:
            AssertionError: the code raised.
        """
        printed = []

        def hook(message: Any) -> None:
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = self._client.execute_interactive(code, timeout=60, output_hook=hook)
        assert reply["content"]["status"] == "ok", reply["content"]
        self._until("idle")
        return "".join(printed).strip()

    def spawn(self, *command: str, options: str = "") -> int:
        """Starts a process that ends with the kernel, such as ``cat``; gives its number.

        Args:
            command: ends when its input does.
            options: further ones of ``subprocess.Popen``, as code.
        """
        return int(
            self.run(
                "import subprocess\nspawned = globals().get('spawned', [])\n"
                f"spawned.append(subprocess.Popen({list(command)!r}, stdin=subprocess.PIPE, {options}))\n"
                "print(spawned[-1].pid)"
            )
        )

    def begin(self, code: str) -> None:
        """Runs the code without waiting for its end, until the server has heard that the kernel is busy."""
        self._client.execute(code)
        self._until("busy")

    def _until(self, state: str) -> None:
        end_s = time.monotonic() + 60
        while self.server.client.get(f"api/kernels/{self.ident}").json()["execution_state"] != state:
            assert time.monotonic() < end_s, f"the kernel is not {state}"
            time.sleep(0.02)

    def close(self) -> None:
        self._client.stop_channels()


@contextmanager
def live_kernel(
    server: LiveServer, path: str | None, type: str = "notebook", *, through: LiveServer | None = None
) -> Iterator[LiveKernel]:
    """A kernel that is gone after the test.

    Args:
        server: has it.
        path: of the notebook, or of whatever else it is for; ``None`` for a kernel without a session.
        type: of the session.
        through: the server that asks for it, when the one that has it is a gateway.
    """
    if path is None:
        ident = server.client.post("api/kernels", json={"name": "python3"}).json()["id"]
    else:
        ident = session(through or server, path, type)["kernel"]["id"]
    kernel = LiveKernel(server, ident)
    try:
        yield kernel
    finally:
        kernel.close()
        server.client.delete(f"api/kernels/{ident}")
