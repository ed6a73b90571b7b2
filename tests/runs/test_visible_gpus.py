"""``CUDA_VISIBLE_DEVICES`` as CUDA understands it, on the machines that people have."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jupyter_air.runs.visible_gpus import visible


@dataclass(frozen=True)
class _Gpu:
    uuid: str
    index: str
    name: str = "H100"
    parent_uuid: str | None = None


_THREE = [_Gpu("aaaa-1", "0"), _Gpu("aabb-2", "1"), _Gpu("cccc-3", "2")]
_MIXED = [_Gpu("aaaa-1", "0", "T400"), _Gpu("aabb-2", "1", "H100")]
_SLICED = [
    _Gpu("aaaa-1", "0"),
    _Gpu("5555-a", "0:0", parent_uuid="aaaa-1"),
    _Gpu("6666-b", "0:2", parent_uuid="aaaa-1"),
    _Gpu("cccc-3", "1"),
]


@pytest.mark.parametrize(
    ("named", "order", "seen"),
    [
        (None, None, "0 1 2"),
        ("", None, ""),
        ("-1", None, ""),
        ("NoDevFiles", None, ""),
        ("none", None, ""),
        ("1", None, "1"),
        ("2,0", None, "0 2"),
        (" 2 , 1", "PCI_BUS_ID", "1 2"),
        ("0,-1,2", None, "0"),
        ("0,7,1", None, "0"),
        ("0,0", None, ""),
        ("GPU-aaaa-1,GPU-cccc-3", None, "0 2"),
        ("GPU-AABB-2", None, "1"),
        ("GPU-cc", None, "2"),
        ("GPU-aa", None, ""),
        ("GPU-", None, ""),
        ("aaaa-1", None, ""),
        ("MIG-aaaa-1", None, ""),
    ],
)
def test_of_equal_gpus(named: str | None, order: str | None, seen: str) -> None:
    found = visible(_THREE, named, order)
    assert found is not None and " ".join(gpu.index for gpu in found) == seen


@pytest.mark.parametrize(
    ("named", "order", "seen"),
    [
        (None, None, "0 1"),
        ("1", "PCI_BUS_ID", "1"),
        ("1,0", None, "0 1"),
        ("GPU-aaaa-1", None, "0"),
        ("", None, ""),
    ],
)
def test_of_different_gpus_where_it_is_plain(named: str | None, order: str | None, seen: str) -> None:
    found = visible(_MIXED, named, order)
    assert found is not None and " ".join(gpu.index for gpu in found) == seen


@pytest.mark.parametrize("order", [None, "FASTEST_FIRST"])
def test_of_different_gpus_only_cuda_knows_the_number(order: str | None) -> None:
    assert visible(_MIXED, "1", order) is None


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ("MIG-6666-b", "0 0:2"),
        ("MIG-5555-a,MIG-6666-b", "0 0:0 0:2"),
        ("0", "0 0:0"),
        ("1", "1"),
        ("MIG-66", ""),
        ("GPU-5555-a", ""),
    ],
)
def test_of_slices_with_the_gpu_that_they_share(named: str, seen: str) -> None:
    found = visible(_SLICED, named, None)
    assert found is not None and " ".join(gpu.index for gpu in found) == seen
