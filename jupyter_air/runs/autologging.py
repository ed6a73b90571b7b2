"""Turns MLflow's autologging on for a run, and off again where it was off."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

from jupyter_air.errors import InputError

ALL = "all"


def flavours() -> list[str]:
    """Those that MLflow names; some may not be installed."""
    from mlflow.ml_package_versions import FLAVOR_TO_MODULE_NAME

    return [ALL, *sorted(name for name in FLAVOR_TO_MODULE_NAME if name.isidentifier())]


def check(names: Iterable[str]) -> None:
    """Whether MLflow has them.

    Raises:
        InputError: it has not; the message has the nearest name.
    """
    for name in names:
        _function(name)


def turn_on(names: Iterable[str]) -> list[str]:
    """Turns them on; gives those that were off.

    Raises:
        InputError: one needs a package that is not installed.
    """
    were_off: list[str] = []
    for name in names:
        is_on = _is_on(name)
        try:
            _function(name)()
        except ModuleNotFoundError as error:
            turn_off(were_off)
            raise InputError(
                f"--autolog {name} needs the Python package {error.name}, which is not installed here.",
                f"Run: %pip install {error.name}",
            ) from None
        if not is_on:
            were_off.append(name)
    return were_off


def turn_off(names: Iterable[str]) -> None:
    """Turns them off."""
    for name in names:
        _function(name)(disable=True)


def _is_on(name: str) -> bool:
    from mlflow.utils.autologging_utils import autologging_is_disabled

    return not autologging_is_disabled("mlflow" if name == ALL else name)


def _function(name: str) -> Any:
    import mlflow

    if name == ALL:
        return mlflow.autolog
    try:
        if name in flavours():
            return importlib.import_module(f"mlflow.{name}").autolog
    except (ImportError, AttributeError):
        pass
    near = difflib.get_close_matches(name, flavours(), 1)
    raise InputError(
        f"MLflow has no autologging for {name!r:.80}.",
        f"Did you mean {near[0]}?" if near else "Names are such as sklearn, pytorch, transformers, or all.",
    )
