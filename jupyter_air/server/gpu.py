"""The routes of the GPU resources pane."""

from __future__ import annotations

import gzip
import json
import time
from typing import cast, get_args

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado.ioloop import IOLoop
from tornado.web import authenticated

from jupyter_air.errors import InputError
from jupyter_air.gpu.export import csv_rows
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.ring import Detail
from jupyter_air.gpu.view import View
from jupyter_air.server.base import AirHandler, PolledHandler

#: A smaller answer costs more to compress than to send.
_GZIP_FROM_BYTES = 512
#: From here on, compressing would be felt on the event loop; in a thread it may take the time that makes it small.
_GZIP_IN_THREAD_FROM_BYTES = 64 * 1024


class GpuHandler(PolledHandler):
    """``GET gpu``: the samples after a cursor."""

    def initialize(self, name: str, view: View) -> None:
        super().initialize(name)
        self._view = view

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answers with ``jupyter_air.gpu.view.Answer``."""
        cursor = self.get_query_argument("since", None)
        details: dict[str, Detail] = {}
        for detail in reversed(get_args(Detail)):
            details.update(dict.fromkeys(self.get_query_arguments(detail, strip=False), detail))
        whole = self.get_query_argument("whole", "") == "1"
        body = msgspec.json.encode(self._view.answer(cursor, time.time(), details, whole))
        if len(body) >= _GZIP_FROM_BYTES and "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
            self.set_header("Vary", "Accept-Encoding")
            body = await _compressed(body)
        self.finish(body)


async def _compressed(body: bytes) -> bytes:
    if len(body) < _GZIP_IN_THREAD_FROM_BYTES:
        return gzip.compress(body, 1, mtime=0)
    return await IOLoop.current().run_in_executor(None, lambda: gzip.compress(body, 6, mtime=0))


class ActivityHandler(AirHandler):
    """``POST gpu/activity``: a person is there."""

    def initialize(self, name: str, monitor: Monitor) -> None:
        super().initialize(name)
        self._monitor = monitor

    @authenticated
    @authorized
    def post(self) -> None:
        """Renews the time until the pause; takes over ``keep_while_busy`` when the body has it."""
        keep = _keep_while_busy(self.request.body)
        if keep is not None:
            self._monitor.keep_while_busy = keep
        self._monitor.activity()
        self.set_status(204)
        self.finish()


def _keep_while_busy(body: bytes) -> bool | None:
    if not body.strip():
        return None
    try:
        fields = json.loads(body)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("keep_while_busy", False), bool):
        raise InputError(
            "POST gpu/activity expects an empty body or a JSON object in which keep_while_busy is true or false.",
            'Send {"keep_while_busy": true}.',
        )
    return cast("bool | None", fields.get("keep_while_busy"))


class RefreshHandler(AirHandler):
    """``POST gpu/refresh``: a sample now; a paused monitor resumes."""

    def initialize(self, name: str, monitor: Monitor) -> None:
        super().initialize(name)
        self._monitor = monitor

    @authenticated
    @authorized
    async def post(self) -> None:
        """Answers when the sample is there, within 2 s at the latest."""
        await self._monitor.refresh()
        self.set_status(204)
        self.finish()


class HistoryCsvHandler(AirHandler):
    """``GET gpu/history.csv``: the history as a file."""

    def initialize(self, name: str, monitor: Monitor) -> None:
        super().initialize(name)
        self._monitor = monitor

    @authenticated
    @authorized
    async def get(self) -> None:
        """Streams the rows; the event loop serves others between chunks."""
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="gpu-history-{stamp}Z.csv"')
        for chunk in csv_rows(self._monitor):
            self.write(chunk)
            await self.flush()
        self.finish()
