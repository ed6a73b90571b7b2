"""Where the embedded store's new experiments keep their artifacts, whoever makes them.

MLflow's sqlite client puts them into ``mlruns`` of the folder that its process happens to run in, and offers no setting
for it (a variable of newer clients would move the artifacts of a person's other sqlite stores too). So the database
itself says where: triggers replace that default, and nothing else, at whatever client's hand.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_BUSY_S = 20.0
#: What MLflow gives an experiment without a location: ./mlruns/ID, absolute or as a URI.
_DEFAULT = "'/mlruns/' || {row}experiment_id"
_IS_DEFAULT = f"substr({{row}}artifact_location, -length({_DEFAULT})) = {_DEFAULT}"
#: It makes the row first, and then gives it the location that has the row's id in it; the default experiment at once.
_EVENTS = {"air_artifact_root_insert": "INSERT", "air_artifact_root_update": "UPDATE OF artifact_location"}


def is_artifact_root(database: Path, artifact_root: Path) -> bool:
    """Whether a database sends artifacts there; an upgrade of its schema makes it forget. Changes nothing."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=0)) as connection:
            there = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    except sqlite3.Error:
        return False
    return all(there.get(name) == sql for name, sql in _triggers(artifact_root).items())


def set_artifact_root(database: Path, artifact_root: Path) -> None:
    """Sends them there, of experiments to come and of those that have the default; what runs logged stays where it is.

    Args:
        database: has a schema.
        artifact_root: absolute.
    """
    if is_artifact_root(database, artifact_root):
        return
    with closing(sqlite3.connect(database, timeout=_BUSY_S)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")
        for name, sql in _triggers(artifact_root).items():
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            connection.execute(sql)
        connection.execute(_update(artifact_root, _IS_DEFAULT.format(row="")))


def _triggers(artifact_root: Path) -> dict[str, str]:
    update = _update(artifact_root, "experiment_id = NEW.experiment_id")
    when = _IS_DEFAULT.format(row="NEW.")
    return {
        name: f"CREATE TRIGGER {name} AFTER {event} ON experiments WHEN {when} BEGIN {update}; END"
        for name, event in _EVENTS.items()
    }


def _update(artifact_root: Path, where: str) -> str:
    root = str(artifact_root).replace("'", "''")
    return f"UPDATE experiments SET artifact_location = '{root}/' || experiment_id WHERE {where}"
