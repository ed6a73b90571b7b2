"""``python -m tests.benchmarks``: measures everything in one run and writes RESULTS.md."""

from __future__ import annotations

import logging
from pathlib import Path

from tests.benchmarks import (
    companion,
    cost,
    experiment,
    holders,
    imports,
    machine,
    magics,
    nvdashboard,
    pane,
    proxy,
    ring,
    scraping,
    stall,
    tracking,
    wire,
)
from tests.benchmarks.table import markdown

RESULTS = Path(__file__).with_name("RESULTS.md")
_SCRAPING_S = 60.0


def main() -> None:
    """Some twenty-eight minutes on two cores."""
    logging.basicConfig(format="%(message)s")
    where = machine.described()
    peer = nvdashboard.figures("cpu")
    sections = [
        *pane.measured(),
        wire.measured(peer),
        cost.measured(peer),
        stall.measured(),
        ring.measured(),
        holders.measured(),
        *scraping.measured(_SCRAPING_S),
        tracking.measured(),
        proxy.measured(),
        experiment.measured(),
        magics.measured(),
        companion.measured(),
        imports.measured(),
    ]
    page = markdown(sections, where)
    RESULTS.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
