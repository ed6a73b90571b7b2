"""Runs through MLflow's REST: of a store on this machine through the process that serves it, or of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from jupyter_air.errors import InputError, UnavailableError
from jupyter_air.runs.configured import masked
from jupyter_air.runs.forwarder import Forwarder
from jupyter_air.runs.forwarding import Target, sent_headers
from jupyter_air.runs.managed import REASON_TAG
from jupyter_air.runs.run_store import MOST_EXPERIMENTS, NotAllowedError, RunState, Sample, children_filter
from jupyter_air.runs.system_metrics import PREFIX
from jupyter_air.runs.upstream import TrackingServer

_API = "/api/2.0/mlflow/"
_LARGEST_ANSWER_BYTES = 32 * 2**20
_ANSWER_S = 60.0
_MOST_CHILDREN = 1000
_TRY_LATER = (408, 425, 429)


class _Info(msgspec.Struct):
    status: str
    experiment_id: str
    run_id: str = ""
    start_time: int = 0
    lifecycle_stage: str = "active"


class _Metric(msgspec.Struct):
    key: str
    timestamp: int = 0
    step: int = 0


class _Data(msgspec.Struct):
    metrics: list[_Metric] = []


class _Run(msgspec.Struct):
    info: _Info
    data: _Data = msgspec.field(default_factory=_Data)


class _Got(msgspec.Struct):
    run: _Run


class _Searched(msgspec.Struct):
    runs: list[_Run] = []


class _Experiment(msgspec.Struct):
    experiment_id: str


class _Experiments(msgspec.Struct):
    experiments: list[_Experiment] = []


class _Refusal(msgspec.Struct):
    error_code: str = ""
    message: str = ""


_Answer = TypeVar("_Answer")


class RestStore:
    """A ``RunStore`` on MLflow's REST.

    Args:
        server: is started by the first call where it is ours.
        environ: for certificates, and ``MLFLOW_WORKSPACE``.
    """

    def __init__(self, server: TrackingServer, environ: Mapping[str, str]) -> None:
        self._server = server
        self._forwarder = Forwarder(environ)
        self._workspace = environ.get("MLFLOW_WORKSPACE")

    async def state(self, run_id: str) -> RunState:
        """The run as it is."""
        run = (await self._ask("GET", f"runs/get?{urlencode({'run_id': run_id})}", None, _Got)).run
        if run.info.lifecycle_stage != "active":
            raise InputError(f"The run {run_id} is deleted.")
        steps = (metric.step for metric in run.data.metrics if metric.key.startswith(PREFIX))
        times = (metric.timestamp for metric in run.data.metrics)
        last_sign_ms = max(times, default=run.info.start_time)
        return RunState(run.info.status, run.info.experiment_id, max(steps, default=-1), last_sign_ms)

    async def log(self, run_id: str, samples: Sequence[Sample]) -> None:
        """Logs the samples."""
        metrics = [
            {"key": key, "value": value, "timestamp": sample.time_ms, "step": sample.step}
            for sample in samples
            for key, value in sample.values.items()
        ]
        await self._ask("POST", "runs/log-batch", {"run_id": run_id, "metrics": metrics}, dict)

    async def end(self, run_id: str, status: str, reason: str | None, end_ms: int) -> None:
        """Ends the run."""
        if reason is not None:
            await self._ask("POST", "runs/set-tag", {"run_id": run_id, "key": REASON_TAG, "value": reason}, dict)
        await self._ask("POST", "runs/update", {"run_id": run_id, "status": status, "end_time": end_ms}, dict)

    async def children(self, run_id: str, experiment_id: str, kernel_id: str) -> list[str]:
        """Ids of its children."""
        wanted = {"max_results": MOST_EXPERIMENTS}
        found = await self._ask("POST", "experiments/search", wanted, _Experiments)
        ids = {experiment_id, *(one.experiment_id for one in found.experiments)}
        body = {
            "experiment_ids": sorted(ids),
            "filter": children_filter(run_id, kernel_id),
            "max_results": _MOST_CHILDREN,
        }
        return [run.info.run_id for run in (await self._ask("POST", "runs/search", body, _Searched)).runs]

    async def close(self) -> None:
        """Closes the connections."""
        await self._forwarder.close()

    async def _ask(self, method: str, what: str, body: Any, kind: type[_Answer]) -> _Answer:
        upstream = await self._server.ready()
        path, _, query = what.partition("?")
        sent = None if body is None else msgspec.json.encode(body)
        headers = [("Content-Type", "application/json")]
        if self._workspace:
            headers.append(("X-MLFLOW-WORKSPACE", self._workspace))
        raw = sent_headers(headers, upstream, None if sent is None else str(len(sent)))
        target = Target(_API + path, query)

        async def exchange() -> tuple[int, bytes]:
            reply = await self._forwarder.send(upstream, method, target, raw, None if sent is None else _once(sent))
            try:
                received = bytearray()
                async for piece in reply.aiter_bytes():
                    received += piece
                    if len(received) > _LARGEST_ANSWER_BYTES:
                        raise UnavailableError(f"MLflow's answer to {path} is too long.")
                return reply.status_code, bytes(received)
            finally:
                await reply.aclose()

        try:
            code, text = await asyncio.wait_for(exchange(), _ANSWER_S)
        except asyncio.TimeoutError:
            raise UnavailableError(f"MLflow has not answered within {_ANSWER_S:g} s.") from None
        return _answer(code, text, kind, path)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _answer(code: int, text: bytes, kind: type[_Answer], what: str) -> _Answer:
    if code == 200:
        try:
            # Servers write 64-bit numbers as numbers or as text.
            return msgspec.json.decode(text, type=kind, strict=False)
        except msgspec.DecodeError:
            raise UnavailableError(f"What answers {what} is no MLflow.") from None
    words = f"MLflow answers {what} with HTTP {code}{_reason(text)}."
    if code in (401, 403):
        raise NotAllowedError(words)
    if 400 <= code < 500 and code not in _TRY_LATER:
        raise InputError(words)
    raise UnavailableError(words)


def _reason(text: bytes) -> str:
    try:
        refusal = msgspec.json.decode(text, type=_Refusal)
    except msgspec.DecodeError:
        return ""
    return f" ({refusal.error_code:.60}: {masked(' '.join(refusal.message.split())):.200})"
