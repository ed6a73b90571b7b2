"""The simulated fleet: labelled, bounded, the same for everybody."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_air.errors import InputError
from jupyter_air.gpu.samples import NodeSample
from jupyter_air.gpu.simulated import SimulatedFleet, parse_fleet


def past(fleet: SimulatedFleet, *times_s: float) -> list[dict[str, NodeSample]]:
    return list(asyncio.run(fleet.past(times_s)))


def test_readings_are_possible_and_depend_on_time_alone() -> None:
    times_s = [1_764_417_600.0 + 10 * n for n in range(720)]
    nodes = past(SimulatedFleet(2, 3), *times_s)
    assert nodes == past(SimulatedFleet(2, 3), *times_s)
    for sample in nodes:
        assert list(sample) == ["simulated-01", "simulated-02"]
        for node in sample.values():
            assert node.source == "simulated"
            for gpu in node.gpus:
                assert 0 <= (gpu.utilization_percent or 0) <= 100
                assert 0 < (gpu.memory_used_bytes or 0) < (gpu.memory_total_bytes or 0)
                assert 20 < (gpu.temperature_c or 0) < 95
    loads = {gpu.utilization_percent for sample in nodes for gpu in sample["simulated-01"].gpus}
    assert min(x for x in loads if x is not None) == 0 and max(x for x in loads if x is not None) > 80


def test_gpus_of_the_fleet_have_identities_of_their_own() -> None:
    (sample,) = past(SimulatedFleet(3, 8), 0.0)
    assert len({gpu.uuid for node in sample.values() for gpu in node.gpus}) == 24


@pytest.mark.parametrize("text", ["2x8", "1x1", "1024x16"])
def test_a_fleet_is_nodes_by_gpus(text: str) -> None:
    nodes, gpus = parse_fleet(text)
    assert f"{nodes}x{gpus}" == text


@pytest.mark.parametrize("text", ["8", "0x8", "2x0", "2x99", "9999x1", "x", "2x8 ", "-1x2", "٢x8"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="such as '2x8'"):
        parse_fleet(text)
