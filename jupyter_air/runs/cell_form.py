"""``%%air_run`` at the head of a cell, as code that leaves the rest of the cell what it is.

A magic that ran the rest itself would break ``await`` and line numbers, and a failing cell would count as one that went
well. So the head becomes one call in one line, and whoever hears of the cell's end ends the run.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"%%air_run(?:[ \t]+(?P<options>.*))?\s*$")
_MAGIC = re.compile(r"%%(?P<name>\w\S*)(?:[ \t]+(?P<line>.*))?\s*$")

#: The option, known to nobody else, that tells the line magic that its run lasts as long as the cell.
WHOLE_CELL = "--whole-cell"


def rewritten(lines: list[str]) -> list[str]:
    """The lines of a cell, with a head of ours replaced; as many lines as before, unless another cell magic follows.

    Args:
        lines: with their ends, as IPython's cleaning transformers get them.
    """
    head = _HEAD.match(lines[0]) if lines else None
    if head is None:
        return lines
    options = f"{WHOLE_CELL} {head['options'] or ''}".strip()
    call = f"get_ipython().run_line_magic('air_run', {options!r})\n"
    first = next((index for index, line in enumerate(lines) if index and not line.isspace()), None)
    magic = _MAGIC.match(lines[first]) if first is not None else None
    if magic is None or first is None:
        return [call, *lines[1:]]
    # IPython itself looks for a cell magic in the first line alone.
    body = "".join(lines[first + 1 :])
    inner = f"get_ipython().run_cell_magic({magic['name']!r}, {(magic['line'] or '').strip()!r}, {body!r})\n"
    return [call, *lines[1:first], inner]
