"""The server's side of the NVML child process: it asks, waits only as long as told, and replaces a child that fails.

A call into the driver can crash the process or hang it for minutes, in the kernel even beyond SIGKILL (go-nvml#152,
gpud#117). So the server talks to a process, on the event loop and without threads: a thread would delay its exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time

import msgspec

from jupyter_air.backoff import Backoff
from jupyter_air.child_environment import child_environment
from jupyter_air.errors import UnavailableError
from jupyter_air.gpu.samples import NodeSample, NodeState

#: A fleet of 64 GPUs with thousands of processes stays far below this.
_LONGEST_LINE_BYTES = 4 * 2**20

#: How long a child may take to end by itself, and then to die of SIGKILL: together what ``stop`` waits at most.
_GRACE_S = 0.5
_KILL_S = 0.5
_DEATH_POLL_S = 0.01

_SEE_DMESG = "It is started again; if this repeats, see dmesg for Xid errors of a GPU."


class ChildError(UnavailableError):
    """The child process has no reading to give.

    Args:
        message: one sentence: what happened.
        hint: one sentence: what to do about it.
        state: of the node, as far as its GPUs go.
    """

    def __init__(self, message: str, hint: str = "", state: NodeState = "error") -> None:
        super().__init__(message, hint)
        self.state: NodeState = state


class NotAnsweringError(ChildError):
    """NVML has been asked and has not answered yet; the request stays open.

    Args:
        waiting_s: since when.
    """

    def __init__(self, waiting_s: float) -> None:
        super().__init__(
            f"NVML has not answered for {waiting_s:.0f} s.",
            "Readings go on when it does; if it stays so, see dmesg for Xid errors of a GPU.",
            "stale",
        )
        self.waiting_s = waiting_s


class _Process:
    """One child process, from its start to its death; the first request connects its stdout to the event loop."""

    def __init__(self) -> None:
        self.leaving = False
        self._killed = False
        self._answers: asyncio.StreamReader | None = None
        self._transport: asyncio.ReadTransport | None = None
        # The working folder of a server is where people put files: neither import from it nor keep it busy.
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "jupyter_air.gpu.sampler"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env=child_environment(),
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_words(self) -> str:
        """How it ended, for a sentence."""
        code = self._popen.returncode
        if code is None:
            return "it does not end"
        if code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    async def ask(self, limit_s: float) -> bytes:
        """One request and its answer.

        Raises:
            asyncio.TimeoutError: no answer within the limit.
            EOFError: the process ended instead.
            ValueError: the answer is longer than any can be.
        """
        if self._answers is None:
            self._answers = await self._connect()
        assert self._popen.stdin is not None
        # A process that ended is told by the end of its answers.
        with contextlib.suppress(BrokenPipeError):
            self._popen.stdin.write(b"sample\n")
        line = await asyncio.wait_for(self._answers.readline(), limit_s)
        if not line.endswith(b"\n"):
            raise EOFError
        return line

    async def end(self) -> None:
        """End it, by the end of its stdin or else by SIGKILL; one that does not die is left behind."""
        self.leaving = True
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._popen.stdin.close()
        if not self._killed and not await self.dies_within(_GRACE_S):
            self._killed = True
            self._popen.kill()
            await self.dies_within(_KILL_S)
        if self._transport is not None:
            self._transport.close()
        else:
            self._popen.stdout.close()

    async def dies_within(self, wait_s: float) -> bool:
        """Whether it is dead, waiting that long for it."""
        end = time.monotonic() + wait_s
        while self._popen.poll() is None:
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(_DEATH_POLL_S)
        return True

    async def _connect(self) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=_LONGEST_LINE_BYTES)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._popen.stdout
        )
        return reader


class NvmlChild:
    """Samples of this machine's GPUs from a child process, started at the first need; for one event loop.

    A machine without a driver keeps no child: now and then a new one asks again, which also loads a library that was
    upgraded meanwhile. ``hurry`` ends that wait.

    Args:
        hang_limit_s: a child that takes longer to answer is killed.
        retry_s: the wait after the second failure in a row, doubled with each that follows.
        retry_bound_s: the longest such wait.
    """

    def __init__(self, *, hang_limit_s: float = 60.0, retry_s: float = 5.0, retry_bound_s: float = 300.0) -> None:
        self._hang_limit_s = hang_limit_s
        self._retry = Backoff(retry_s, retry_bound_s, free=1)
        self._process: _Process | None = None
        self._exchange: asyncio.Task[NodeSample] | None = None
        self._asked_s = 0.0
        self._failure: ChildError | NodeSample | None = None

    async def sample(self, timeout_s: float) -> NodeSample:
        """The newest reading: the answer to the request that is open, or to a new one.

        Args:
            timeout_s: how long to wait for it. A later call gets an answer that comes later; ``time_s`` tells its age.

        Raises:
            NotAnsweringError: it did not come in time.
            ChildError: the child failed, or was stopped meanwhile.
        """
        if self._exchange is None:
            if self._failure is not None and self._retry.remaining_s:
                return self._repeat(self._failure)
            self._asked_s = time.monotonic()
            self._exchange = asyncio.create_task(self._ask(), name="jupyter-air-nvml")
            self._exchange.add_done_callback(_notice)
        exchange = self._exchange
        done, _ = await asyncio.wait({exchange}, timeout=timeout_s)
        if not done:
            raise NotAnsweringError(time.monotonic() - self._asked_s)
        if self._exchange is exchange:
            self._exchange = None
        if exchange.cancelled():
            raise ChildError("Sampling of the GPUs was stopped.")
        return exchange.result()

    def hurry(self) -> None:
        """Try again at the next ``sample``, whatever failed before: a person may have mended it."""
        self._retry.reset()

    async def stop(self) -> None:
        """End the child, within a second whatever the driver does; the next ``sample`` starts a new one."""
        if self._exchange is not None:
            self._exchange.cancel()
            self._exchange = None
        if self._process is not None:
            await self._process.end()
        self._retry.reset()

    async def _ask(self) -> NodeSample:
        process = await self._running()
        try:
            sample = _DECODER.decode(await process.ask(self._hang_limit_s))
        except asyncio.TimeoutError:
            await process.end()
            raise self._failed(f"NVML did not answer for {self._hang_limit_s:g} s; its process was ended.") from None
        except EOFError:
            await process.end()
            raise self._failed(f"NVML's process ended unexpectedly ({process.exit_words}).") from None
        # The second is a ValueError only in newer msgspec.
        except (ValueError, msgspec.DecodeError) as error:
            await process.end()
            raise self._failed("NVML's process gave an answer that is no reading, and was ended.") from error
        if sample.state == "no-driver":
            await process.end()
            self._retry.failed()
            self._failure = sample
            return self._repeat(sample)
        self._retry.reset()
        return sample

    async def _running(self) -> _Process:
        process = self._process
        if process is not None and process.leaving:
            if not await process.dies_within(_KILL_S):
                raise ChildError(
                    f"NVML's process {process.pid} hangs in the NVIDIA driver and cannot be ended.",
                    "Readings go on when it ends; see dmesg for Xid errors of a GPU; a reboot may be needed.",
                )
            process = None
        if process is None:
            try:
                process = self._process = _Process()
            except OSError as error:
                raise self._failed(f"NVML's process cannot be started: {error.strerror or error}.") from error
        return process

    def _failed(self, message: str) -> ChildError:
        self._retry.failed()
        self._failure = ChildError(message, _SEE_DMESG)
        return self._failure

    def _repeat(self, failure: ChildError | NodeSample) -> NodeSample:
        # A new object each time: callers add to a sample, and a traceback grows with every raise.
        if isinstance(failure, ChildError):
            raise ChildError(failure.message, failure.hint, failure.state)
        return msgspec.structs.replace(failure, gpus=list(failure.gpus))


_DECODER = msgspec.json.Decoder(NodeSample)


def _notice(exchange: asyncio.Task[NodeSample]) -> None:
    # An answer that nobody waits for any more must not be logged as a forgotten exception.
    if not exchange.cancelled():
        exchange.exception()
