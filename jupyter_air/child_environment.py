"""The environment of a Python process that runs our own code."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def child_environment() -> dict[str, str]:
    """This process's environment, in which a child imports what this process does.

    In the same order, wherever it was installed (editable, user site, a path set at run time), but for the current
    folder, which is where people put files. Python 3.10 lacks -P; -I loses the user's site and PYTHONPATH.
    """
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
