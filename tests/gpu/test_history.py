"""The ring: what it keeps, what it says after a cursor, and what it costs."""

from __future__ import annotations

import pytest

from jupyter_air.gpu.history import History, Slice, Wanted
from jupyter_air.gpu.ring import MISSING, NodeColumns, memory_step_bytes, quantize
from jupyter_air.gpu.samples import GpuSample, HostSample, NodeSample

GIB = 1 << 30
NOON = 1_764_417_600.0  # a multiple of 10 s


def node(*gpus: GpuSample, cpu: float | None = 12.5) -> NodeSample:
    host = HostSample(cpu_percent=cpu, memory_used_bytes=3 * GIB, memory_total_bytes=16 * GIB)
    return NodeSample(name="a", gpus=list(gpus), host=host)


def gpu(uuid: str, utilization: float | None, used: int | None = None, total: int | None = 80 * GIB) -> GpuSample:
    return GpuSample(
        uuid=uuid,
        index="0",
        name="H100",
        utilization_percent=utilization,
        memory_used_bytes=used,
        memory_total_bytes=total,
    )


def only(part: Slice) -> NodeColumns:
    """The columns of the one node that was asked for in full."""
    [columns] = part.columns
    assert columns is not None
    return columns


def utilizations(history: History, now_s: float, revision: int = 0, uuid: str = "g") -> list[int | None]:
    return only(history.since(revision, now_s, [Wanted("n", [uuid])])).gpus[0][0]


def test_a_reading_comes_back_in_its_step() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 87.25, 61 * GIB + (200 << 20)))})
    part = history.since(0, NOON, [Wanted("n", ["g"])])
    utilization, memory, temperature, *_ = only(part).gpus[0]
    assert utilization == [87]
    assert history.gpu_step_bytes("n", "g") == 2 << 20
    assert memory == [(61 * 1024 + 200) // 2]
    assert temperature == [None]
    assert only(part).host == [[12], [3 * 1024]]
    assert part.times_s == [NOON]


def test_since_gives_only_what_is_new() -> None:
    history = History(7200, 10)
    for step in range(3):
        history.append(NOON + 10 * step, {"n": node(gpu("g", step))})
    first = history.since(0, NOON + 20, [Wanted("n", ["g"])])
    assert first.replace_from_s == 0
    history.append(NOON + 30, {"n": node(gpu("g", 3))})
    later = history.since(first.revision, NOON + 30, [Wanted("n", ["g"])])
    assert later.times_s == [NOON + 30]
    assert only(later).gpus[0][0] == [3]
    assert NOON + 20 < later.replace_from_s <= NOON + 30
    assert history.since(later.revision, NOON + 30, [Wanted("n", ["g"])]).times_s == []


def test_a_refresh_replaces_its_slot_and_readers_hear_of_it() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1))})
    history.append(NOON + 10, {"n": node(gpu("g", 2))})
    seen = history.since(0, NOON + 10, []).revision
    history.append(NOON + 14, {"n": node(gpu("g", 5))})
    part = history.since(seen, NOON + 14, [Wanted("n", ["g"])])
    assert part.times_s == [NOON + 14]
    assert NOON < part.replace_from_s <= NOON + 10
    assert utilizations(history, NOON + 14) == [1, 5]


def test_a_timer_that_fires_early_keeps_its_slot() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1))})
    history.append(NOON + 9.95, {"n": node(gpu("g", 2))})
    history.append(NOON + 19.99, {"n": node(gpu("g", 3))})
    assert utilizations(history, NOON + 20) == [1, 2, 3]


def test_the_ring_keeps_two_hours_of_wall_clock() -> None:
    history = History(7200, 10)
    for step in range(2000):
        history.append(NOON + 10 * step, {"n": node(gpu("g", step % 100))})
    now_s = NOON + 10 * 1999
    part = history.since(0, now_s, [Wanted("n", ["g"])])
    assert part.times_s[0] == now_s - 7200
    assert part.times_s[-1] == now_s
    assert len(part.times_s) == 721
    assert only(part).gpus[0][0] == [step % 100 for step in range(1279, 2000)]


def test_what_is_older_than_the_window_is_not_told_after_a_pause() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1))})
    history.append(NOON + 7300, {"n": node(gpu("g", 2))})
    assert utilizations(history, NOON + 7300) == [2]


def test_a_gpu_that_joins_late_shifts_no_series() -> None:
    history = History(100, 10)
    for step in range(15):
        gpus = [gpu("g", step)] + ([gpu("late", 50 + step)] if step >= 12 else [])
        history.append(NOON + 10 * step, {"n": node(*gpus)})
    now_s = NOON + 140
    assert utilizations(history, now_s) == [step for step in range(4, 15)]
    assert utilizations(history, now_s, uuid="late") == [None] * 8 + [62, 63, 64]
    assert utilizations(history, now_s, uuid="never seen") == [None] * 11


def test_a_node_that_is_absent_from_a_sample_has_a_hole() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1)), "m": node(gpu("g", 9))})
    history.append(NOON + 10, {"m": node(gpu("g", 9))})
    history.append(NOON + 20, {"n": node(gpu("g", 3)), "m": node(gpu("g", 9))})
    assert utilizations(history, NOON + 20) == [1, None, 3]


def test_a_gpu_cut_into_slices_keeps_its_past_memory() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1, used=60 * GIB, total=80 * GIB))})
    history.append(NOON + 10, {"n": node(gpu("g", 1, used=8 * GIB, total=40 * GIB))})
    step = history.gpu_step_bytes("n", "g")
    memory = only(history.since(0, NOON + 10, [Wanted("n", ["g"])])).gpus[0][1]
    assert [value and value * step for value in memory] == [60 * GIB, 8 * GIB]


def test_what_is_not_listed_any_more_is_forgotten_and_shifts_no_series() -> None:
    history = History(100, 10)
    for step in range(3):
        nodes = {"n": node(gpu("a", 10 + step), gpu("b", 20 + step), gpu("c", 30 + step)), "m": node(gpu("g", 1))}
        history.append(NOON + 10 * step, nodes)
    before = history.nbytes
    history.retain({"n": {"a", "c"}})
    assert history.nbytes < before * 3 / 4
    assert utilizations(history, NOON + 20, uuid="a") == [10, 11, 12]
    assert utilizations(history, NOON + 20, uuid="b") == [None] * 3
    assert utilizations(history, NOON + 20, uuid="c") == [30, 31, 32]
    history.append(NOON + 30, {"n": node(gpu("c", 33), gpu("d", 43))})
    assert utilizations(history, NOON + 30, uuid="c") == [30, 31, 32, 33]
    assert utilizations(history, NOON + 30, uuid="d") == [None, None, None, 43]


def test_a_clock_set_back_begins_a_new_history() -> None:
    history = History(7200, 10)
    history.append(NOON, {"n": node(gpu("g", 1))})
    epoch = history.epoch
    history.append(NOON - 3600, {"n": node(gpu("g", 2))})
    assert history.epoch != epoch
    assert utilizations(history, NOON - 3600) == [2]


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [(None, 1, MISSING), (-1, 1, MISSING), (0, 1, 0), (1e9, 1, MISSING - 1), (99.6, 1, 100)],
)
def test_quantize_never_turns_unknown_into_a_number(value: float | None, step: float, expected: int) -> None:
    assert quantize(value, step) == expected


@pytest.mark.parametrize("total", [1, 16 * GIB, 64 * GIB, 80 * GIB, 141 * GIB, 288 * GIB])
def test_every_total_fits_its_step(total: int) -> None:
    assert total / memory_step_bytes(total) < MISSING


def test_64_nodes_of_8_gpus_fit_5_mib() -> None:
    history = History(7200, 10)
    nodes = {f"n{n}": node(*(gpu(f"g{g}", 50) for g in range(8))) for n in range(64)}
    history.append(NOON, nodes)
    assert history.nbytes <= 5 << 20


def test_a_reader_gets_as_much_of_a_node_as_it_wants() -> None:
    history = History(7200, 10)
    for step in range(3):
        history.append(NOON + 10 * step, {name: node(gpu("g", step), gpu("h", 50 + step)) for name in "abc"})
    wanted = [Wanted("a", ["g", "h"], None), Wanted("b", ["g", "h"], "strip"), Wanted("c", ["h"])]
    nothing, strip, full = history.since(0, NOON + 20, wanted).columns
    assert nothing is None
    assert strip is not None and (strip.host, strip.gpus) == ([], [[[0, 1, 2]], [[50, 51, 52]]])
    assert full is not None and len(full.host) == 2
    assert [len(columns) for columns in full.gpus] == [6] and full.gpus[0][0] == [50, 51, 52]


def test_the_samples_after_a_time_come_oldest_first() -> None:
    history = History(50, 10)
    for step in range(9):
        history.append(NOON + 10 * step, {"n": node(gpu("g", step))})
    times_s, [columns] = history.after(NOON + 40, 2, [Wanted("n", ["g"])])
    assert times_s == [NOON + 50, NOON + 60]
    assert columns is not None and columns.gpus[0][0] == [5, 6]
    assert history.after(NOON + 80, 2, [Wanted("n", ["g"])])[0] == []
    assert history.after(0, 99, [])[0] == [NOON + 10 * step for step in range(3, 9)]
