"""What can go wrong, and how each door says it.

Each kind knows its HTTP status and its exit code, so that the server and the command line need no table of their own.
"""

from __future__ import annotations


class AirError(Exception):
    """A failure that a person can act on.

    Args:
        message: one sentence: what, where, what was expected.
        hint: one sentence: what to do about it, or empty.
    """

    code = "error"
    http_status = 500
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(AirError):
    """What the person gave cannot be used."""

    code = "bad-input"
    http_status = 400
    exit_code = 2


class MissingError(InputError):
    """What the person named does not exist."""

    code = "not-found"
    http_status = 404


class UnavailableError(AirError):
    """Something outside (a driver, a node, a server) does not answer."""

    code = "unavailable"
    http_status = 503
