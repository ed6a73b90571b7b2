"""``GET gpu/holders``: whose memory it is, in the words of Jupyter: notebooks, consoles, terminals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_server.auth.decorator import authorized
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import ensure_async
from tornado.ioloop import IOLoop
from tornado.web import authenticated

from jupyter_air.gpu.holders import Holder, Owner, held, holders
from jupyter_air.gpu.local import LOCAL
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.processes import Processes
from jupyter_air.gpu.samples import NodeSample
from jupyter_air.server.base import LONGEST_PATH, PolledHandler, wire_text
from jupyter_air.server.kernel_environment import local_pid

_MOST_HOLDERS = 64
_MOST_PIDS = 16
_MOST_SESSIONS = 16

Kind = Literal["notebook", "console", "kernel", "terminal", "process", "host-process"]


class SessionView(msgspec.Struct):
    """What a kernel runs for; ``type`` is Jupyter's: ``notebook``, ``console`` or another's."""

    type: str
    name: str
    path: str


class HolderView(msgspec.Struct, kw_only=True):
    """One holder on the wire; tests/wire/README.md says what the fields mean."""

    kind: Kind
    memory_bytes: int | None = None
    pids: list[int] = []
    pid_count: int = 0
    kernel_id: str | None = None
    kernel_name: str | None = None
    sessions: list[SessionView] = []
    execution_state: str | None = None
    idle_since_s: float | None = None
    terminal: str | None = None
    user: str | None = None
    program: str | None = None
    own: bool = False


class GpuHolders(msgspec.Struct):
    """The holders of one GPU or slice; ``None`` where the driver does not tell them."""

    node: str
    uuid: str
    holders: list[HolderView] | None
    left_out: int


class Answer(msgspec.Struct):
    """The answer to ``GET gpu/holders``."""

    time_s: float
    gpus: list[GpuHolders]


class Holding:
    """Answers who holds this machine's GPUs, from the monitor's newest sample.

    Args:
        monitor: has the sample.
        server: has the kernels, sessions and terminals.
    """

    def __init__(self, monitor: Monitor, server: ServerApp) -> None:
        self._monitor = monitor
        self._server = server
        self._processes = Processes()
        # What is known of the processes is kept from one look to the next: two at once would spoil it.
        self._looking = asyncio.Lock()

    async def answer(self, now_s: float) -> Answer:
        """Who holds what now."""
        node = self._monitor.fleet.nodes().get(LOCAL)
        gpus = [] if node is None or node.time_s is None else await self._of_node(node, node.time_s)
        return Answer(time_s=round(now_s, 1), gpus=gpus)

    async def _of_node(self, node: NodeSample, sampled_s: float) -> list[GpuHolders]:
        gpus = held(node.gpus)
        owners = await self._owners() if any(gpus.values()) else []
        async with self._looking:
            # Names of users can come over a network.
            found = await IOLoop.current().run_in_executor(None, holders, gpus, owners, self._processes, sampled_s)
        return [_gpu(uuid, of_gpu) for uuid, of_gpu in found.items()]

    async def _owners(self) -> list[Owner]:
        """Everybody a process of this server can belong to."""
        kernels = local_kernels(self._server.kernel_manager)
        sessions = await ensure_async(self._server.session_manager.list_sessions()) if kernels else []
        return [
            *(Owner(pid, _kernel(ident, kernel, sessions)) for ident, kernel, pid in kernels),
            *terminals(self._server.web_app.settings.get("terminal_manager")),
        ]


def local_kernels(manager: Any) -> list[tuple[str, Any, int]]:
    """Identity, manager and process of each kernel that this server has started on this machine."""
    kernels = ((ident, manager.get_kernel(ident)) for ident in manager.list_kernel_ids())
    return [(ident, kernel, pid) for ident, kernel in kernels if (pid := local_pid(kernel)) is not None]


def terminals(manager: Any) -> Iterable[Owner]:
    """The shells of the terminals; none where the server has no terminals."""
    for name, terminal in dict(getattr(manager, "terminals", {})).items():
        pid = getattr(getattr(terminal, "ptyproc", None), "pid", None)
        if isinstance(pid, int):
            yield Owner(pid, HolderView(kind="terminal", terminal=wire_text(name)))


def _kernel(ident: str, kernel: Any, sessions: Sequence[dict[str, Any]]) -> HolderView:
    own = [
        SessionView(type=wire_text(one["type"]), name=wire_text(one["name"]), path=wire_text(one["path"], LONGEST_PATH))
        for one in sessions
        if one["kernel"]["id"] == ident
    ]
    state = wire_text(getattr(kernel, "execution_state", None) or "unknown")
    active = getattr(kernel, "last_activity", None)
    return HolderView(
        kind=_kind(own),
        kernel_id=ident,
        kernel_name=_display_name(kernel),
        sessions=own[:_MOST_SESSIONS],
        execution_state=state,
        idle_since_s=round(active.timestamp(), 1) if state == "idle" and active is not None else None,
    )


def _kind(sessions: Iterable[SessionView]) -> Kind:
    types = {session.type for session in sessions}
    return "notebook" if "notebook" in types else "console" if "console" in types else "kernel"


def _display_name(kernel: Any) -> str:
    try:
        return wire_text(kernel.kernel_spec.display_name or kernel.kernel_name)
    except NoSuchKernel:  # its specification was removed while it ran
        return wire_text(kernel.kernel_name)


def _gpu(uuid: str, found: list[Holder] | None) -> GpuHolders:
    if found is None:
        return GpuHolders(LOCAL, uuid, None, 0)
    return GpuHolders(LOCAL, uuid, [_holder(one) for one in found[:_MOST_HOLDERS]], len(found[_MOST_HOLDERS:]))


def _holder(one: Holder) -> HolderView:
    whose = one.owner
    if not isinstance(whose, HolderView):
        whose = HolderView(kind="host-process" if one.is_host_pid else "process")
    process = one.process
    return msgspec.structs.replace(
        whose,
        memory_bytes=one.memory_bytes,
        pids=one.pids[:_MOST_PIDS],
        pid_count=len(one.pids),
        user=process and process.user,
        program=process and process.program,
        own=process is not None and process.own,
    )


class HoldersHandler(PolledHandler):
    """``GET gpu/holders``: who holds each GPU's memory."""

    def initialize(self, name: str, holding: Holding) -> None:
        super().initialize(name)
        self._holding = holding

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answers with ``Answer``."""
        body = msgspec.json.encode(await self._holding.answer(time.time()))
        self.finish(body)
