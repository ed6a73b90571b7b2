"""Who holds the memory of a GPU: the processes that NVML names, put together by whom they descend from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import psutil

from jupyter_air.gpu.processes import Look, OutOfSight, Process, Processes, process_of
from jupyter_air.gpu.samples import GpuSample


class Owner(NamedTuple):
    """Somebody whose processes are known by where they began.

    Attributes:
        root_pid: of the process that all the others descend from: a kernel, a terminal's shell.
        record: who it is; nothing here looks into it.
    """

    root_pid: int
    record: object


class Holder(NamedTuple):
    """One owner's share of one GPU, or a process that is nobody's.

    Attributes:
        memory_bytes: of all its processes; ``None`` when the driver does not tell it of one.
        pids: as NVML numbers them, the one that holds most first.
        owner: the record of the owner, or ``None``.
        process: the first of ``pids``; ``None`` when nothing can be seen of it.
        is_host_pid: the number is the host's and its process cannot be seen from this PID namespace.
    """

    memory_bytes: int | None
    pids: list[int]
    owner: object = None
    process: Process | None = None
    is_host_pid: bool = False


#: The bytes that processes hold, by their numbers.
Held = Mapping[int, int | None]


def held(gpus: Iterable[GpuSample]) -> dict[str, Held | None]:
    """The processes of each GPU and slice, by UUID; ``None`` where the driver does not tell them.

    A process of a slice is the slice's: the GPU that was divided, whose list has it too, is left without.
    """
    gpus = list(gpus)
    sliced: dict[str, set[int]] = {}
    for gpu in gpus:
        if gpu.parent_uuid is not None:
            sliced.setdefault(gpu.parent_uuid, set()).update(gpu.pids or ())
    return {
        gpu.uuid: None
        if gpu.pids is None
        else {pid: used for pid, used in gpu.pids.items() if pid not in sliced.get(gpu.uuid, ())}
        for gpu in gpus
    }


def holders(
    gpus: Mapping[str, Held | None], owners: Sequence[Owner], processes: Processes, sampled_s: float
) -> dict[str, list[Holder] | None]:
    """Who holds what of each GPU, the most first.

    Of several owners in one line of descent the nearest has the process.

    Args:
        gpus: as ``held`` gives them, all of one sample.
        owners: whom processes can belong to.
        processes: looks at them; the same at each call.
        sampled_s: when the sample was taken, Unix time.
    """
    found = processes.look((pid for pids in gpus.values() for pid in pids or ()), sampled_s)
    roots = {root: owner for owner in owners if (root := process_of(owner.root_pid)) is not None} if found else {}
    owner_of = {pid: _owner(one, roots) for pid, one in found.items()}
    return {uuid: None if pids is None else _of_gpu(pids, found, owner_of) for uuid, pids in gpus.items()}


def _owner(one: Look, roots: Mapping[psutil.Process, Owner]) -> Owner | None:
    lineage = one.lineage if isinstance(one, Process) and roots else ()
    return next((roots[ancestor] for ancestor in lineage if ancestor in roots), None)


def _of_gpu(pids: Held, found: Mapping[int, Look], owner_of: Mapping[int, Owner | None]) -> list[Holder]:
    shares: dict[tuple[bool, int], list[int]] = {}
    for pid in pids:
        if pid in found:
            owner = owner_of[pid]
            shares.setdefault((False, pid) if owner is None else (True, owner.root_pid), []).append(pid)
    all_of_it = [_holder(pids, share, found, owner_of) for share in shares.values()]
    return sorted(all_of_it, key=lambda one: -1 if one.memory_bytes is None else one.memory_bytes, reverse=True)


def _holder(pids: Held, share: list[int], found: Mapping[int, Look], owner_of: Mapping[int, Owner | None]) -> Holder:
    share.sort(key=lambda pid: (-(pids[pid] or 0), pid))
    one, owner = found[share[0]], owner_of[share[0]]
    told = [used for used in map(pids.get, share) if used is not None]
    return Holder(
        memory_bytes=sum(told) if len(told) == len(share) else None,
        pids=share,
        owner=None if owner is None else owner.record,
        process=one if isinstance(one, Process) else None,
        is_host_pid=isinstance(one, OutOfSight),
    )
