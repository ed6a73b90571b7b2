"""This machine as a source: its GPUs from the NVML child process, its CPU and memory from the host."""

from __future__ import annotations

import socket

from jupyter_air.gpu.child import ChildError, NvmlChild
from jupyter_air.gpu.host import HostReader
from jupyter_air.gpu.samples import NodeSample

#: Identity of this machine among the nodes.
LOCAL = "local"


class LocalMachine:
    """A source of readings of this machine; a driver that hangs or crashes hides neither the host nor other nodes."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._child = NvmlChild()
        self._host = HostReader()

    async def sample(self, time_s: float) -> dict[str, NodeSample]:
        """One reading of every GPU and of the host, within the timeout."""
        try:
            node = await self._child.sample(self._timeout_s)
        except ChildError as error:
            node = NodeSample(
                name=socket.gethostname(), state=error.state, reason=error.message, hint=error.hint or None
            )
        node.host = self._host.read()
        return {LOCAL: node}

    def hurry(self) -> None:
        """A driver that failed is tried again at once."""
        self._child.hurry()

    async def past(self, times_s: list[float]) -> list[dict[str, NodeSample]]:
        """NVML keeps no history."""
        return []

    async def rest(self) -> None:
        """Ends the child: no process of ours holds NVML."""
        await self._child.stop()
