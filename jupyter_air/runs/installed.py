"""Which MLflow is installed beside us, found without importing it: that takes seconds and 170 MB."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from jupyter_air.errors import UnavailableError

OLDEST = (3, 7)
INSTALL_COMMAND = 'pip install "jupyter_air[mlflow]"'
#: For whoever misses it in a notebook.
INSTALL_IN_A_CELL = f"Run in a cell: %{INSTALL_COMMAND} and restart the kernel."

#: What MLflow's server needs beyond mlflow-skinny, which brings the same package name.
_SERVER_PACKAGES = ("flask", "fastapi", "uvicorn", "sqlalchemy", "alembic")
_REVISION = re.compile(r"^(down_)?revision(?:\s*:[^=]*)?\s*=\s*['\"]?(\w+)", re.MULTILINE)


class InstalledMlflow(NamedTuple):
    """The MLflow of this Python environment.

    Attributes:
        version: such as ``3.17.2``.
        folder: of its package.
    """

    version: str
    folder: Path


class Revisions(NamedTuple):
    """The revisions of a database's schema that an MLflow knows.

    Attributes:
        newest: the one it works with.
        known: all that it can bring there.
    """

    newest: str | None
    known: frozenset[str]


def installed_mlflow() -> InstalledMlflow:
    """The MLflow that would serve a store.

    Raises:
        UnavailableError: there is none, it is mlflow-skinny, or it is too old.
    """
    spec = importlib.util.find_spec("mlflow")
    if spec is None or spec.origin is None:
        raise UnavailableError("MLflow is not installed in JupyterLab's environment.", f"Run {INSTALL_COMMAND} there.")
    missing = [name for name in _SERVER_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"The MLflow of JupyterLab's environment cannot serve its pages: {', '.join(missing)} missing.",
            f"Run {INSTALL_COMMAND} there.",
        )
    version = _version()
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UnavailableError(
            f"Jupyter AIR needs MLflow {oldest} or newer; JupyterLab's environment has {version}.",
            f"Run {INSTALL_COMMAND} there.",
        )
    return InstalledMlflow(version, Path(spec.origin).parent)


@lru_cache(maxsize=4)
def schema_revisions(mlflow: InstalledMlflow) -> Revisions:
    """What its migration scripts say; ``newest`` is ``None`` when that is not one revision."""
    revisions: set[str] = set()
    replaced: set[str] = set()
    for script in (mlflow.folder / "store" / "db_migrations" / "versions").glob("*.py"):
        for down, revision in _REVISION.findall(script.read_text(encoding="utf-8")):
            (replaced if down else revisions).add(revision)
    newest = revisions - replaced
    return Revisions(newest.pop() if len(newest) == 1 else None, frozenset(revisions))


def _version() -> str:
    # mlflow-skinny brings the same package: whichever is there names the same version.
    for name in ("mlflow", "mlflow-skinny"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "0"
