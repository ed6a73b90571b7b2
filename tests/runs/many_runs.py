"""Many runs at once, written into the database of a store: through MLflow's REST thousands would take minutes.

``python -m tests.runs.many_runs DATABASE EXPERIMENT_ID COUNT [NOTEBOOK]``; the store must exist, with its schema.
"""

from __future__ import annotations

import math
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

METRICS = ("loss", "eval_acc", "eval_loss", "epoch", "lr", "grad_norm", "tokens_per_s", "perplexity")
PARAMS = ("lr", "batch_size", "optimizer", "model", "warmup_steps", "seed")
#: Every so many runs a sweep begins, with children.
SWEEP, CHILDREN = 25, 4

_STATUSES = ("FINISHED", "FINISHED", "FINISHED", "FAILED", "FINISHED", "KILLED")
_MINUTE_MS = 60_000


def insert(database: Path, experiment_id: str, count: int, notebook: str | None = None) -> None:
    """Inserts runs, the newest of an hour ago and each a minute older than the one before.

    Args:
        database: of the store.
        experiment_id: where they go.
        count: of runs, those of sweeps and their children too.
        notebook: the tag that says whose they are.
    """
    newest_ms = int(time.time() * 1000) - 60 * _MINUTE_MS
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        (root,) = connection.execute(
            "SELECT artifact_location FROM experiments WHERE experiment_id = ?", (experiment_id,)
        ).fetchone()
        for i in range(count):
            start_ms = newest_ms - (count - i) * _MINUTE_MS
            _insert_run(connection, experiment_id, root, i, start_ms)
            _fill("tags", connection, i, _tags(i, notebook))
            _fill("params", connection, i, ((name, _param(name, i)) for name in PARAMS))
            for name in METRICS:
                row = (name, _metric(name, i), start_ms, 10, _id(i))
                connection.execute(
                    "INSERT INTO metrics (key, value, timestamp, step, run_uuid, is_nan) VALUES (?, ?, ?, ?, ?, 0)",
                    row,
                )
                connection.execute(
                    "INSERT INTO latest_metrics (key, value, timestamp, step, run_uuid, is_nan) "
                    "VALUES (?, ?, ?, ?, ?, 0)",
                    row,
                )


def _id(i: int) -> str:
    return f"{i:032x}"


def _name(i: int) -> str:
    place = i % SWEEP
    return f"sweep-{i // SWEEP}" if place == 0 else f"trial-{i}" if place <= CHILDREN else f"run-{i}"


def _insert_run(connection: sqlite3.Connection, experiment_id: str, root: str, i: int, start_ms: int) -> None:
    connection.execute(
        "INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time, "
        "end_time, source_version, lifecycle_stage, artifact_uri, experiment_id) "
        "VALUES (?, ?, 'UNKNOWN', '', '', 'ada', ?, ?, ?, '', 'active', ?, ?)",
        (
            _id(i),
            _name(i),
            _STATUSES[i % len(_STATUSES)],
            start_ms,
            start_ms + 40_000 + 7000 * (i % 50),
            f"{root}/{_id(i)}/artifacts"[:200],
            experiment_id,
        ),
    )


def _tags(i: int, notebook: str | None) -> Iterator[tuple[str, str]]:
    yield "mlflow.runName", _name(i)
    yield "mlflow.user", "ada"
    yield "team", "speech"
    if notebook is not None:
        yield "jupyter_air.notebook", notebook
    if 0 < i % SWEEP <= CHILDREN:
        yield "mlflow.parentRunId", _id(i - i % SWEEP)
    if _STATUSES[i % len(_STATUSES)] == "KILLED":
        yield "jupyter_air.end_reason", "The kernel died."


def _param(name: str, i: int) -> str:
    values: dict[str, Any] = {"optimizer": ("adam", "sgd")[i % 2], "model": "conformer", "seed": i}
    return str(values.get(name, round(0.001 * (1 + i % 9), 4)))


def _metric(name: str, i: int) -> float:
    if name == "epoch":
        return float(i % 20)
    # Each value once, so that an order by it is one order.
    return round(1 + math.sin(i * 12.9898 + len(name)), 4) + i * 1e-6


def _fill(table: str, connection: sqlite3.Connection, i: int, pairs: Iterator[tuple[str, str]]) -> None:
    connection.executemany(
        f"INSERT INTO {table} (key, value, run_uuid) VALUES (?, ?, ?)",
        [(key, value, _id(i)) for key, value in pairs],
    )


if __name__ == "__main__":
    insert(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:5])
