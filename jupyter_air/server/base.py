"""What every route shares: who may ask, and how an error is told."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado.web import HTTPError

from jupyter_air.errors import AirError

#: What an authorizer is asked about; ``action`` is ``read``, ``write`` or ``execute`` as for Jupyter's own resources.
AUTH_RESOURCE = "jupyter-air"


#: Linux' own limit: a path that is cut cannot be opened.
LONGEST_PATH = 4096


def wire_text(value: object, longest: int = 300) -> str:
    """A name as text that fits on the wire: bounded, and without what UTF-8 cannot say."""
    return str(value)[:longest].encode("utf-8", "replace").decode()


class ErrorsInWords(ExtensionHandlerMixin, JupyterHandler):
    """A route whose errors leave as ``{"code", "message", "hint"}``."""

    auth_resource = AUTH_RESOURCE

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Tells the error in the words of its kind; an unforeseen one keeps its details for the server's log."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, AirError):
            self.set_status(error.http_status)
            self.tell(error.code, error.message, error.hint)
        elif isinstance(error, HTTPError):
            self.tell(f"http-{status_code}", error.log_message or error.reason or self._reason, "")
        else:
            self.tell("internal", "Jupyter AIR met an unexpected error.", "The Jupyter server's log has the details.")

    def tell(self, code: str, message: str, hint: str) -> None:
        """Ends the answer with these words; its status is set."""
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"code": code, "message": message, "hint": hint}))

    def log_exception(self, *args: Any) -> None:
        """A refusal is an answer, not a crash: no traceback for it in the log."""
        if not isinstance(args[1], AirError):
            super().log_exception(*args)


class AirHandler(ErrorsInWords, APIHandler):
    """A JSON route."""


class PolledHandler(AirHandler):
    """A route that a page asks again and again: it does not keep an idle server from being culled."""

    _track_activity = False

    def set_default_headers(self) -> None:
        """What is so now is kept nowhere."""
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    def compute_etag(self) -> None:
        """No two answers are alike: a digest of each would be wasted."""
        return None
