"""Tokens and passwords: read from files that only their owner can read, never from a command line."""

from __future__ import annotations

import base64
import fnmatch
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from jupyter_air.errors import InputError

_LARGEST_SECRET_BYTES = 16 * 1024


def read_secret(path: Path) -> str:
    """The one line of a file that holds a secret.

    Raises:
        InputError: it cannot be read, others may read it too, or it is not one line of ASCII.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise InputError(f"The secret file {path} is open to others than its owner.", f"Run chmod 600 {path}.")
            content = file.read(_LARGEST_SECRET_BYTES + 1)
    except OSError as error:
        raise InputError(f"The secret file {path} cannot be read: {error.strerror or error}.") from None
    secret = content.decode("ascii", "replace").strip()
    if not secret or len(content) > _LARGEST_SECRET_BYTES or not all("!" <= c <= "~" or c == " " for c in secret):
        raise InputError(f"The secret file {path} must hold one line of printable ASCII.")
    return secret


def origin(url: str) -> str:
    """``scheme://host:port`` of an address, without what else it has."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Credentials:
    """Which address gets which secret; files are read again at each use, so that a rotated token counts at once.

    Args:
        bearer_token_files: file by ``scheme://host:port``, which may have ``*`` in it; the file holds the token.
        basic_auth_files: the same; the file holds ``user:password``.
    """

    def __init__(
        self, bearer_token_files: Mapping[str, str] | None = None, basic_auth_files: Mapping[str, str] | None = None
    ) -> None:
        self._bearer = dict(bearer_token_files or {})
        self._basic = dict(basic_auth_files or {})

    def authorization(self, url: str) -> str | None:
        """The value of the Authorization header for an address, or ``None``.

        Raises:
            InputError: the file for it is not as it must be.
        """
        path = _file_for(self._bearer, url)
        if path is not None:
            return f"Bearer {read_secret(path)}"
        path = _file_for(self._basic, url)
        if path is None:
            return None
        pair = read_secret(path)
        if ":" not in pair:
            raise InputError(f"The secret file {path} must hold user:password.")
        return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _file_for(files: Mapping[str, str], url: str) -> Path | None:
    where = origin(url)
    return next((Path(path) for pattern, path in files.items() if fnmatch.fnmatchcase(where, pattern)), None)
