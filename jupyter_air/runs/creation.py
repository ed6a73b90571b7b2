"""``python -m jupyter_air.runs.creation DATABASE ARTIFACT_ROOT``: makes the embedded store ahead of its use."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from jupyter_air.runs.artifact_root import set_artifact_root
from jupyter_air.runs.installed import installed_mlflow, schema_revisions
from jupyter_air.runs.store import schema_revision

#: MLflow's migrations take seconds, on a busy machine many.
_OTHERS_MIGRATION_S = 120.0
#: One step of them takes less.
_STEP_S = 1.0


def create(database: Path, artifact_root: Path) -> None:
    """Makes the database, when there is none, and sees to it that artifacts go below the root.

    It appears whole: a notebook that opens it never meets half a schema. Where a notebook was quicker and made its
    own, that one stays.
    """
    with _alone(database.parent):
        if not database.exists():
            workplace = database.with_name(".new")
            shutil.rmtree(workplace, ignore_errors=True)  # of one that was killed
            workplace.mkdir(mode=0o700)
            _migrate(workplace / database.name)
            with contextlib.suppress(FileExistsError):
                os.link(workplace / database.name, database)
            shutil.rmtree(workplace)
        _wait_for_schema(database)
        set_artifact_root(database, artifact_root)


def _wait_for_schema(database: Path) -> None:
    """Until nobody migrates it any more: a transaction of ours would make theirs fail."""
    end_s = time.monotonic() + _OTHERS_MIGRATION_S
    before = None
    while time.monotonic() < end_s:
        now = schema_revision(database)
        if now is not None and now in (before, schema_revisions(installed_mlflow()).newest):
            return
        before = now
        time.sleep(_STEP_S)


def _migrate(database: Path) -> None:
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    # The first question to a store makes its tables.
    MlflowClient(tracking_uri=f"sqlite:///{database}").search_experiments(max_results=1)
    assert schema_revision(database) is not None, "MLflow made no schema"
    database.chmod(0o600)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / ".creation", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    create(Path(sys.argv[1]), Path(sys.argv[2]))
