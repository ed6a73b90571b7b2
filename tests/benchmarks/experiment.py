"""The Experiment panel beside MLflow's own page of the same 5,000 runs, in one browser.

``python -m tests.benchmarks.experiment`` prints its table; some five minutes on two cores.
"""

from __future__ import annotations

import logging

from tests.benchmarks.pane import figures
from tests.benchmarks.programs import PYTHON
from tests.benchmarks.table import Row, Section, markdown

_LONG_TASK_MS = 50.0
_PANEL_LIMIT_KB = 120.0


def measured() -> Section:
    """Both, one after the other, in three browsers that have seen nothing yet."""
    found = figures("experiment", PYTHON)
    panel, mlflow = found["panel"], found["mlflow"]
    name = "MLflow's page"
    rows = [
        Row(
            what="first page of 5,000 runs",
            ours=panel["firstMs"],
            unit="ms",
            beside=name,
            theirs=mlflow["firstMs"],
            most=1,
        ),
        Row(
            what="the same, files in the browser's cache",
            ours=panel["againMs"],
            unit="ms",
            beside=name,
            theirs=mlflow["againMs"],
            most=1,
        ),
        Row(
            what="scrolling over all 5,000, the longest task",
            ours=found["longestMs"],
            unit="ms",
            beside="limit",
            theirs=_LONG_TASK_MS,
            most=1,
        ),
        Row(
            what="scrolling over all 5,000, a frame on average",
            ours=found["frameMs"],
            unit="ms",
            beside="limit: 30 a second",
            theirs=1000 / 30,
            most=1,
        ),
        Row(
            what="all 5,000, page after page",
            ours=found["allMs"] / 1000,
            unit="s",
            beside="",
            theirs=None,
        ),
        Row(
            what="scripts and styles when it is first seen",
            ours=found["panelBytes"] / 1000,
            unit="kB",
            beside="limit",
            theirs=_PANEL_LIMIT_KB,
            most=1,
        ),
    ]
    how = (
        "From the command that opens the panel in a JupyterLab at rest, with a notebook in front and MLflow running, "
        "until the newest run stands in it; MLflow's page from its address on, through the same proxy. Median of three "
        "browser profiles, each once new and once with what it has in its cache. 100 runs a page in both. Then "
        "the list of all runs is scrolled from its first row to its last in 8 s; 0 stands for no "
        "task of 50 ms or longer."
    )
    return Section(title="The Experiment panel", how=how, rows=rows)


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    print(markdown([measured()], ""))
