"""What can follow in a line of ``%air_run``."""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from jupyter_air.runs import autologging, options

_LINE = re.compile(r"[ \t]*%%?air_run[ \t](?P<before>.*)$")
_REPEATED = {"-p", "--param", "-t", "--tag", "--autolog"}
#: For as long as MLflow, which knows them all, is not loaded.
_USUAL_FLAVOURS = ["all", "keras", "lightgbm", "pytorch", "sklearn", "tensorflow", "transformers", "xgboost"]


class Completions(NamedTuple):
    """What can stand at the cursor.

    Attributes:
        fragment: the word before the cursor, which it replaces.
        words: in the order in which they are shown.
    """

    fragment: str
    words: list[str]


def completions(text: str) -> Completions | None:
    """For the text of the line before the cursor; ``None`` where it is no line of ours."""
    line = _LINE.match(text)
    if line is None:
        return None
    *before, fragment = line["before"].split(" ")
    words = [word for word in _candidates(before) if word.startswith(fragment)]
    return Completions(fragment, words)


def _candidates(before: list[str]) -> list[str]:
    last = before[-1] if before else ""
    if last == "--autolog":
        return autologging.flavours() if "mlflow" in sys.modules else _USUAL_FLAVOURS
    if last == "--end":
        return list(options.STATUSES)
    if options.takes_value(last):
        return []
    return [flag for flag in options.flags() if flag.startswith("--") and (flag not in before or flag in _REPEATED)]
