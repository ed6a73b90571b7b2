"""The companion of managed runs: logs their system metrics, and ends those whose kernel died.

One process for each tracking URI, user and node. Kernels write their runs down (``managed``); it looks there, so that
it needs no kernel and no kernel needs it. It loads no MLflow unless nothing else understands the tracking URI.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from jupyter_air.backoff import Backoff
from jupyter_air.errors import InputError, UnavailableError
from jupyter_air.runs.managed import Found, ManagedRun, ManagedRuns
from jupyter_air.runs.run_store import RUNNING, NotAllowedError, RunStore
from jupyter_air.runs.sampled import Machine, Over, SampledRun

_log = logging.getLogger(__name__)

_LOOK_S = 0.5
#: Between two cells with a run each.
_LINGER_S = 3.0


class Companion:
    """Looks after the runs of a folder until there are none.

    Args:
        runs: the folder; its lock is held.
        machine: gives readings.
        store: has the runs.
        give_up_s: how long a store that does not answer is tried when no kernel is left that lives.
    """

    def __init__(self, runs: ManagedRuns, machine: Machine, store: RunStore, *, give_up_s: float = 600.0) -> None:
        self._runs = runs
        self._machine = machine
        self._store = store
        self._give_up_s = give_up_s
        self._sampled: dict[str, SampledRun] = {}
        self._sending: asyncio.Task[None] | None = None
        self._backoff = Backoff(1.0, 30.0)
        self._failing_since_s: float | None = None
        self._is_refused = False

    async def run(self) -> bool:
        """Returns when there are no runs any more, or when the store has been away for too long.

        Returns:
            Whether all is done: if not, the runs stay written down for the next one.
        """
        idle_since_s = time.monotonic()
        try:
            while time.monotonic() - idle_since_s < _LINGER_S:
                self._look()
                await self._sample()
                self._send()
                if self._is_hopeless():
                    _log.warning("Gives up; %d runs are left to the next start.", len(self._sampled))
                    return False
                if self._sampled:
                    idle_since_s = time.monotonic()
                await asyncio.sleep(_LOOK_S)
            return True
        finally:
            if self._sending is not None:
                self._sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._sending
            await self._machine.close()
            await self._store.close()

    def _look(self) -> None:
        by_id: dict[str, list[Found]] = {}
        for found in self._runs.read():
            by_id.setdefault(found.run.run_id, []).append(found)
        for run_id, all_of_it in by_id.items():
            if run_id in self._sampled:
                self._sampled[run_id].update(all_of_it)
            else:
                self._sampled[run_id] = SampledRun(all_of_it, self._machine)
        for run_id in self._sampled.keys() - by_id.keys():
            # Whoever removed the folder wants nothing of it.
            del self._sampled[run_id]

    async def _sample(self) -> None:
        due = [run for run in self._sampled.values() if run.is_due()]
        if due:
            time_s = time.time()
            gpus = await self._machine.gpus()
            for run in due:
                run.take(gpus, time_s)

    def _send(self) -> None:
        """In a task, since a store may take its time; no second one beside it."""
        if self._sending is not None and self._sending.done():
            self._sending.result()
            self._sending = None
        if self._sending is None and not self._backoff.remaining_s and any(map(_has_work, self._sampled.values())):
            self._sending = asyncio.create_task(self._send_all(), name="jupyter-air-companion-sends")

    async def _send_all(self) -> None:
        for run in [run for run in self._sampled.values() if _has_work(run)]:
            try:
                await self._send_one(run)
            except InputError as error:
                _log.warning("The run %.80s is left alone: %s", run.run_id, error.message)
                run.refuse()
                self._finish(run)
            except UnavailableError as error:
                if self._failing_since_s is None:
                    self._failing_since_s = time.monotonic()
                    _log.warning("%s %s It is tried again.", error.message, error.hint)
                self._is_refused = isinstance(error, NotAllowedError)
                self._backoff.failed()
                # The last one next time: what is wrong may be with this run alone.
                self._sampled[run.run_id] = self._sampled.pop(run.run_id)
                return
        if self._failing_since_s is not None:
            _log.warning("It goes on.")
        self._failing_since_s = None
        self._backoff.reset()

    async def _send_one(self, run: SampledRun) -> None:
        over = run.over
        if run.is_check_due():
            run.checked(await self._store.state(run.run_id))
        while run.has_samples():
            batch = run.batch()
            await self._store.log(run.run_id, batch)
            run.sent(batch)
        # What it was before the samples went: it may have begun again meanwhile.
        if over is not None and run.over is over and run.is_settled():
            if over.status is not None and over.whose is not None:
                await self._end(over.status, over, over.whose)
            self._finish(run)

    async def _end(self, status: str, over: Over, whose: ManagedRun) -> None:
        state = await self._store.state(whose.run_id)
        if state.status not in RUNNING:
            return
        ended_ms = state.last_sign_ms if over.ended_s is None else over.ended_s * 1000
        end_ms = round(max(ended_ms, whose.began_s * 1000))
        # Inner ones first, each once: nothing keeps parents from being in a circle.
        ids = [whose.run_id]
        if whose.kernel_id is not None:
            for parent in ids:
                children = await self._store.children(parent, state.experiment_id, whose.kernel_id)
                ids += [one for one in children if one not in self._sampled and one not in ids]
        for run_id in reversed(ids):
            await self._store.end(run_id, status, over.reason, end_ms)
            _log.info("Ended the run %.80s as %s. %s", run_id, status, over.reason or "")

    def _finish(self, run: SampledRun) -> None:
        if run.over is not None and run.is_settled():
            run.remove()
            self._sampled.pop(run.run_id, None)

    def _is_hopeless(self) -> bool:
        if self._failing_since_s is None or time.monotonic() - self._failing_since_s < self._give_up_s:
            return False
        # A kernel that lives may see the server come back; other credentials come with another kernel.
        return self._is_refused or all(run.over is not None for run in self._sampled.values())


def _has_work(run: SampledRun) -> bool:
    return run.has_samples() or run.is_check_due() or run.is_settled()
