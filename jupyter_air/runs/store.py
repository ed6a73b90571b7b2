"""MLflow's stores on this machine's disks: the embedded one, and those that people have; whether they can be used."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from jupyter_air import paths
from jupyter_air.errors import UnavailableError
from jupyter_air.runs.file_systems import MOUNTS, is_seen_by_many, is_share, type_of
from jupyter_air.runs.installed import InstalledMlflow, installed_mlflow, schema_revisions

_LEAST_FREE_BYTES = 16 * 2**20
_BUSY_S = 2.0
_ELSEWHERE = f"Set {paths.HOME_VARIABLE} to a folder on a local disk, or MLFLOW_TRACKING_URI to a tracking server."


class Store(NamedTuple):
    """A store that MLflow opens as files.

    Attributes:
        uri: its tracking URI, absolute.
        folder: which holds it.
        database: of a sqlite store; ``None`` for a store of plain files (``mlruns``).
        artifact_root: where new experiments keep their artifacts, absolute.
        embedded: whether it is ours, which is made when it is missing.
    """

    uri: str
    folder: Path
    database: Path | None
    artifact_root: Path
    embedded: bool = False


def embedded_store(home: Path | None = None, mounts: Path = MOUNTS) -> Store:
    """The store for runs that name no other: one per user and host.

    Args:
        home: for state; ``paths.home()`` unless given.
        mounts: lines as of ``/proc/self/mounts``.
    """
    home = home or paths.home()
    folder = paths.tracking_folder(home, host_name(home, mounts))
    return _sqlite(folder / "mlflow.db", folder / "artifacts", embedded=True)


def host_name(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """This machine's name where other hosts may see the folder too; a local disk needs none to be one host's.

    A container's name is new at each start: on a local disk it would lose the runs of the one before.
    """
    return socket.gethostname() if is_seen_by_many(type_of(folder, mounts)) else None


def store_beside(folder: Path) -> Store | None:
    """The store that MLflow itself would use in this working folder, or ``None`` when it would make a new one."""
    if _has_experiments(folder / "mlruns"):
        return _files(folder / "mlruns")
    database = folder / "mlflow.db"
    return _sqlite(database, folder / "mlruns") if database.is_file() else None


def store_of_folder(folder: Path) -> Store:
    """The store that MLflow uses in this working folder when no URI names one; the first run makes it when missing."""
    return store_beside(folder) or _sqlite(folder / "mlflow.db", folder / "mlruns")


def is_made(store: Store) -> bool:
    """Whether MLflow made it: in an empty file, or in a database of something else, a mere look would make it one."""
    try:
        return store.database is None or schema_revision(store.database) is not None
    except UnavailableError:
        return True  # It cannot be read, and ``check`` says why.


def store_of_uri(uri: str, folder: Path) -> Store | None:
    """The store that a ``sqlite:`` or ``file:`` URI or a path names, or ``None`` for any other URI.

    Args:
        uri: a tracking URI.
        folder: that relative paths start from.
    """
    if uri.startswith("sqlite:///"):
        name = uri[len("sqlite:///") :].partition("?")[0]
        database = folder / name
        return _sqlite(database, folder / "mlruns") if name not in ("", ":memory:") else None
    if uri.startswith("file:"):
        return _files(folder / unquote(urlsplit(uri).path))
    return None if "://" in uri or uri.startswith("databricks") or uri == "uc" else _files(folder / uri)


def check_place(store: Store, mounts: Path = MOUNTS) -> None:
    """Whether a store can be where it is.

    Raises:
        UnavailableError: it is on a network share, cannot be written, or has a path that no URI can name.
    """
    # SQLAlchemy 2.1 unquotes a sqlite URI, 2.0 does not: only a path without these is the same file to both.
    if store.database is not None and any(letter in str(store.database) for letter in "%?"):
        raise UnavailableError(f"The path of the MLflow store {store.database} has a % or ? in it.", _ELSEWHERE)
    kind = type_of(store.folder, mounts)
    if store.database is not None and is_share(kind):
        raise UnavailableError(
            f"The MLflow store {store.database} is on a network share ({kind}), whose file locks sqlite cannot trust.",
            _ELSEWHERE,
        )
    for place in (_existing(store.folder), store.database):
        if place is not None and place.exists() and not os.access(place, os.W_OK):
            raise UnavailableError(f"The MLflow store's {place} is read-only for this user.", _ELSEWHERE)


def check(store: Store, mounts: Path = MOUNTS) -> InstalledMlflow:
    """Whether a store can be served now; opens none that is missing and changes nothing.

    Raises:
        UnavailableError: it cannot; why, and what to do.
    """
    mlflow = installed_mlflow()
    check_place(store, mounts)
    disk = os.statvfs(_existing(store.folder))
    free_bytes = disk.f_bavail * disk.f_frsize
    if free_bytes < _LEAST_FREE_BYTES:
        raise UnavailableError(
            f"The disk of the MLflow store {store.folder} is full ({free_bytes / 2**20:.0f} MiB free).",
            "Free some space; MLflow needs a few MiB to open it.",
        )
    if store.database is not None:
        _check_schema(store.database, mlflow)
    return mlflow


def schema_revision(database: Path) -> str | None:
    """The schema's revision that a database says it has; ``None`` when it has no schema yet.

    Raises:
        UnavailableError: it is no database, or cannot be read.
    """
    if not database.exists() or database.stat().st_size == 0:
        return None
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as connection:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise UnavailableError(f"The MLflow database {database} cannot be read: {error}.") from None
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"{database} is no MLflow database: {error}.") from None
    return str(row[0]) if row else None


def _check_schema(database: Path, mlflow: InstalledMlflow) -> None:
    found = schema_revision(database)
    newest, known = schema_revisions(mlflow)
    if found is None or newest is None or found == newest:
        return
    if found in known:
        raise UnavailableError(
            f"The MLflow database {database} has the schema of an older MLflow ({found}; MLflow {mlflow.version} "
            f"works with {newest}).",
            f"Copy the file to be safe, then run: mlflow db upgrade {quote(f'sqlite:///{database}')}",
        )
    raise UnavailableError(
        f"The MLflow database {database} has the schema of a newer MLflow ({found}, which MLflow {mlflow.version} of "
        "JupyterLab's environment does not know).",
        "Upgrade there: pip install --upgrade mlflow",
    )


def file_store_choices(store: Store, mlflow: InstalledMlflow, environ: Mapping[str, str] = os.environ) -> str | None:
    """What to do about a store of plain files that this MLflow refuses to log to; ``None`` when it does not."""
    allowed = environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() in ("true", "1")
    if store.database is not None or allowed or not _refuses_files(mlflow):
        return None
    source, target = quote(str(store.folder)), quote(f"sqlite:///{store.folder.parent}/mlflow.db")
    move = f"mlflow migrate-filestore --source {source} --target {target}"
    return (
        f"MLflow {mlflow.version} logs no new runs to the file store {store.folder}. Move its runs to a database "
        f"({move}, then rename {store.folder.name}), go on with it (MLFLOW_ALLOW_FILE_STORE=true), "
        "or rename it to log to the embedded store."
    )


@lru_cache(maxsize=4)
def _refuses_files(mlflow: InstalledMlflow) -> bool:
    return "MLFLOW_ALLOW_FILE_STORE" in (mlflow.folder / "environment_variables.py").read_text(encoding="utf-8")


def _sqlite(database: Path, artifact_root: Path, *, embedded: bool = False) -> Store:
    database = database.resolve()
    return Store(f"sqlite:///{database}", database.parent, database, artifact_root.resolve(), embedded)


def _files(folder: Path) -> Store:
    folder = folder.resolve()
    return Store(folder.as_uri(), folder, None, folder)


def _has_experiments(mlruns: Path) -> bool:
    # As MLflow decides, so that both agree on which store a folder has.
    try:
        return any(entry.name.isdigit() and (entry / "meta.yaml").is_file() for entry in mlruns.iterdir())
    except OSError:
        return False


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())
