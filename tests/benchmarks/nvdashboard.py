"""What jupyterlab-nvdashboard's server costs, measured in its own environment; nothing where it cannot be had."""

from __future__ import annotations

import json
import logging
import subprocess
from typing import Literal

from tests.benchmarks.programs import ROOT, nvdashboard

_log = logging.getLogger(__name__)

NAME = "jupyterlab-nvdashboard"


def figures(what: Literal["cpu", "stall"]) -> dict[str, float]:
    """What ``nvdashboard_server`` prints; empty when it fails, which is logged."""
    command = ["-m", "tests.benchmarks.nvdashboard_server", what]
    try:
        said = subprocess.run([str(nvdashboard()), *command], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    except subprocess.CalledProcessError:
        _log.exception("%s could not be measured", NAME)
        return {}
    return {name: float(value) for name, value in json.loads(said.stdout).items()}
