"""What stays listed when a GPU or a node is gone, and when a reading is old."""

from __future__ import annotations

from jupyter_air.gpu.fleet import Fleet
from jupyter_air.gpu.samples import GpuSample, NodeSample


def node(*uuids: str, time_s: float | None, state: str = "live") -> NodeSample:
    gpus = [GpuSample(uuid=u, index=str(i), name="H100", utilization_percent=50) for i, u in enumerate(uuids)]
    return NodeSample(name="a", time_s=time_s, gpus=gpus, state=state)  # type: ignore[arg-type]


def told(fleet: Fleet) -> list[tuple[str, str, float | None]]:
    return [(g.uuid, g.state, g.utilization_percent) for g in fleet.nodes()["n"].gpus]


def test_a_gpu_that_vanishes_is_listed_as_missing_until_the_history_has_passed() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    fleet.update(0, {"n": node("a", "b", time_s=0)})
    fleet.update(10, {"n": node("b", time_s=10)})
    assert told(fleet) == [("b", "ok", 50), ("a", "missing", None)]
    fleet.update(7201, {"n": node("b", time_s=7201)})
    assert told(fleet) == [("b", "ok", 50)]


def test_a_node_that_does_not_answer_keeps_its_gpus_as_they_were() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    fleet.update(0, {"n": node("a", time_s=0)})
    fleet.update(10, {"n": node(time_s=None, state="stale")})
    assert told(fleet) == [("a", "ok", None)]
    assert fleet.age_s("n", 40) == 40
    assert fleet.is_stale("n", 40)
    assert not fleet.is_stale("n", 25)
    fleet.update(20, {"n": node("a", time_s=20)})
    assert told(fleet) == [("a", "ok", 50)]


def test_a_source_that_is_read_rarely_says_when_it_is_stale() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    rare = node("a", time_s=0)
    rare.stale_after_s = 150
    fleet.update(0, {"n": rare, "m": node("b", time_s=0)})
    assert [fleet.is_stale(ident, 60) for ident in "nm"] == [False, True]
    assert fleet.is_stale("n", 151)


def test_a_missing_gpu_stays_missing_while_its_node_does_not_answer() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    fleet.update(0, {"n": node("a", "b", time_s=0)})
    fleet.update(10, {"n": node("b", time_s=10)})
    fleet.update(20, {"n": node(time_s=None, state="stale")})
    assert sorted(told(fleet)) == [("a", "missing", None), ("b", "ok", None)]


def test_a_slice_that_goes_is_forgotten() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    cut = node("a", "s", time_s=0)
    cut.gpus[1].parent_uuid = "a"
    fleet.update(0, {"n": cut})
    fleet.update(10, {"n": node(time_s=None, state="stale")})
    assert told(fleet) == [("a", "ok", None), ("s", "ok", None)]
    fleet.update(20, {"n": node("a", time_s=20)})
    assert told(fleet) == [("a", "ok", 50)]


def test_a_node_that_no_source_names_leaves_with_its_history() -> None:
    fleet = Fleet(keep_s=7200, stale_s=30)
    fleet.update(0, {"n": node("a", time_s=0)})
    fleet.update(10, {})
    assert fleet.nodes()["n"].state == "error"
    fleet.update(7300, {})
    assert fleet.nodes() == {}
