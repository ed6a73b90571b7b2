from __future__ import annotations

import pytest

from jupyter_air.runs.cell_form import rewritten


def test_the_head_becomes_one_line() -> None:
    lines = ["%%air_run base -t 'a b'  \n", "\n", "x = 1\n"]
    call = "get_ipython().run_line_magic('air_run', \"--whole-cell base -t 'a b'\")\n"
    assert rewritten(lines) == [call, "\n", "x = 1\n"]
    assert rewritten(["%%air_run\n"]) == ["get_ipython().run_line_magic('air_run', '--whole-cell')\n"]


def test_another_cell_magic_gets_the_rest() -> None:
    call, gap, inner = rewritten(["%%air_run\n", "\n", "%%bash --out o \n", "echo 'a\\n'\n", "%%x\n"])
    assert call.startswith("get_ipython().run_line_magic") and gap == "\n"
    assert inner == "get_ipython().run_cell_magic('bash', '--out o', \"echo 'a\\\\n'\\n%%x\\n\")\n"


@pytest.mark.parametrize(
    "lines",
    [[], ["%air_run\n"], ["%%air_runs\n"], ["%%air_run?\n"], ["%%time\n", "%%air_run\n"]],
)
def test_other_cells_stay(lines: list[str]) -> None:
    assert rewritten(lines) == lines
