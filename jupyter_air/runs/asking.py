"""Asks MLflow's store or server for seconds only, and turns what goes wrong there into one sentence."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jupyter_air.errors import AirError, InputError, UnavailableError
from jupyter_air.runs.configured import masked, without_credentials
from jupyter_air.runs.installed import INSTALL_IN_A_CELL, installed_mlflow
from jupyter_air.runs.store import file_store_choices, store_of_uri

# By itself MLflow tries a server that is down for 250 seconds.
_IMPATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
_MISTAKES = {"RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS", "INVALID_PARAMETER_VALUE", "INVALID_STATE"}


@contextmanager
def asking(uri: str) -> Iterator[None]:
    """For what is asked of the tracking URI; what a person set for MLflow stays.

    Raises:
        InputError: MLflow says that what was asked is wrong.
        UnavailableError: the store or the server cannot be used.
    """
    given = {name: value for name, value in _IMPATIENCE.items() if name not in os.environ}
    os.environ.update(given)
    # What it logs about a failure is a page of traceback; about a new database, a line for each migration.
    loggers = [(logger, logger.level) for logger in map(logging.getLogger, ("mlflow", "alembic"))]
    for logger, _ in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except AirError:
        raise
    except Exception as error:  # A store may be anybody's plugin, and raises what it likes.
        raise _told(uri, error) from error
    finally:
        for logger, level in loggers:
            logger.setLevel(level)
        for name in given:
            os.environ.pop(name, None)


def place(uri: str) -> str:
    """What a sentence calls the tracking URI; no credentials."""
    if uri.startswith(("http://", "https://")):
        try:
            return f"The MLflow server at {without_credentials(uri)}"
        except InputError:
            return "The MLflow server"
    return f"The MLflow store {masked(uri)}"


def is_missing(error: BaseException) -> bool:
    """Whether MLflow says that what was asked for does not exist."""
    return getattr(error, "error_code", None) == "RESOURCE_DOES_NOT_EXIST"


def _told(uri: str, error: Exception) -> AirError:
    text = masked(next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__))
    choices = _choices(uri, text)
    if choices is not None:
        return UnavailableError(choices)
    if getattr(error, "error_code", None) in _MISTAKES:
        return InputError(f"MLflow refuses: {text:.300}")
    if isinstance(error, ModuleNotFoundError):
        return UnavailableError(f"{place(uri)} needs the Python package {error.name}.", INSTALL_IN_A_CELL)
    if "failed with exception" in text or isinstance(error, ConnectionError):
        return UnavailableError(f"{place(uri)} does not answer.", "Look whether it runs and can be reached from here.")
    return UnavailableError(f"{place(uri)} cannot be used: {text:.300}")


def _choices(uri: str, text: str) -> str | None:
    # MLflow's own words are longer than a notice, and name one way out of three.
    store = store_of_uri(uri, Path.cwd()) if "MLFLOW_ALLOW_FILE_STORE" in text else None
    with suppress(UnavailableError):
        return None if store is None else file_store_choices(store, installed_mlflow())
    return None
