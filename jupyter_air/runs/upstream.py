"""What a tracking server is to whoever speaks to it."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol


class Upstream(NamedTuple):
    """Where a tracking server answers.

    Attributes:
        url: base URL without credentials, such as ``http://mlflow.lab:5000``; ``http://localhost`` over a socket.
        socket: path of the unix socket it listens on, or ``None``.
        authorization: value of the Authorization header it wants, or ``None``.
    """

    url: str
    socket: str | None = None
    authorization: str | None = None


class Progress(NamedTuple):
    """How far a tracking server is.

    Attributes:
        state: of the server; ``stopped`` and ``failed`` ones start when they are needed; ``none``: there is no server.
        message: one sentence for a person.
        elapsed_s: since the start began, while it is starting.
        note: what a person who looks at the runs should know of the store, one sentence, or empty.
    """

    state: Literal["none", "stopped", "starting", "ready", "failed"]
    message: str
    elapsed_s: float | None = None
    note: str = ""


class TrackingServer(Protocol):
    """A tracking server that the proxy speaks to.

    Attributes:
        uri: its tracking URI, absolute and without credentials.
    """

    uri: str

    def progress(self) -> Progress:
        """How far it is; starts nothing."""

    async def ready(self) -> Upstream:
        """Where it answers, once it does; starts it when needed.

        Raises:
            UnavailableError: it cannot be had, and why.
        """

    def used(self) -> None:
        """Somebody used it now: puts off the idle stop."""
