"""Where state lives. Every path is named here; folders are made for their owner alone."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from jupyter_air.errors import UnavailableError

#: Names the folder for state instead of Jupyter's data folder.
HOME_VARIABLE = "JUPYTER_AIR_HOME"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for all state: ``JUPYTER_AIR_HOME``, else ``air`` in Jupyter's data folder."""
    named = environ.get(HOME_VARIABLE, "")
    return Path(named).expanduser().absolute() if named else Path(jupyter_data_dir()).absolute() / "air"


def tracking_folder(home: Path, host: str | None = None) -> Path:
    """Where the embedded store's database and artifacts are.

    Args:
        home: as ``home()`` gives it.
        host: name of this machine, where several see the same folder.
    """
    return (home / "hosts" / _file_name(host) if host else home) / "tracking"


def serving_folder(home: Path, uri: str, host: str | None = None) -> Path:
    """Where the process that serves a store keeps its lock, state and log: never beside a person's own data."""
    key = hashlib.sha256(uri.encode()).hexdigest()[:16]
    return (home / "hosts" / _file_name(host) if host else home) / "serving" / key


def companions_folder(home: Path, host: str | None = None) -> Path:
    """Where the companions of managed runs keep their folders, one for each tracking URI and node."""
    return (home / "hosts" / _file_name(host) if host else home) / "companions"


def private_folder(folder: Path) -> Path:
    """The folder, with mode 0700; it and its missing parents are made so.

    Raises:
        UnavailableError: it cannot be made, is no folder, or belongs to somebody else.
    """
    try:
        for missing in reversed([parent for parent in (folder, *folder.parents) if not parent.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid():
            raise UnavailableError(
                f"The folder {folder} belongs to another user.", f"Set {HOME_VARIABLE} to a folder of your own."
            )
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            folder.chmod(0o700)
    except OSError as error:
        raise UnavailableError(
            f"The folder {folder} cannot be made: {error.strerror or error}.",
            f"Set {HOME_VARIABLE} to a folder that you can write.",
        ) from None
    return folder


def _file_name(host: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in host).lstrip(".") or "host"
