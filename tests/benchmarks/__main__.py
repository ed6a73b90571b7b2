"""``python -m tests.benchmarks``: measures everything in one run and writes RESULTS.md."""

from __future__ import annotations

import logging
from collections.abc import Iterator
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
from tests.benchmarks.table import Section, markdown

RESULTS = Path(__file__).with_name("RESULTS.md")
_SCRAPING_S = 60.0


def _sections() -> Iterator[Section]:
    peer = nvdashboard.figures("cpu")
    yield from pane.measured()
    yield wire.measured(peer)
    yield cost.measured(peer)
    yield stall.measured()
    yield ring.measured()
    yield holders.measured()
    yield from scraping.measured(_SCRAPING_S)
    yield tracking.measured()
    yield proxy.measured()
    yield experiment.measured()
    yield magics.measured()
    yield companion.measured()
    yield imports.measured()


def main() -> None:
    """Some twenty-eight minutes on two cores."""
    logging.basicConfig(format="%(message)s")
    where = machine.described()
    sections = []
    for section in _sections():
        sections.append(section)
        # What was measured outlasts what fails after it.
        RESULTS.write_text(markdown(sections, where), encoding="utf-8")
    print(markdown(sections, where))


if __name__ == "__main__":
    main()
