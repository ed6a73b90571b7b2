"""What nodes are called: by the name their page gives, unless two claim it or it belongs to another source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from jupyter_air.gpu.row import LONGEST
from jupyter_air.gpu.samples import NodeSample


class Claim(NamedTuple):
    """A node and what it may be called.

    Attributes:
        address: of its target; unlike every other target's.
        host: the name that the page gives it; ``None`` where it gives none.
        sample: the record that is named.
        is_one_of_many: whether its target has other nodes too.
    """

    address: str
    host: str | None
    sample: NodeSample
    is_one_of_many: bool


def name(claims: Iterable[Claim], taken: frozenset[str]) -> None:
    """Names the records: two targets that claim one name stay two nodes, each by its address.

    Args:
        claims: of one source.
        taken: names of other sources' nodes.
    """
    listed = list(claims)
    count = Counter(claim.host for claim in listed)
    for claim in listed:
        if claim.host is None:
            shown = claim.address
        elif count[claim.host] == 1 and claim.host not in taken:
            shown = claim.host
        else:
            shown = f"{claim.host} ({claim.address})" if claim.is_one_of_many else claim.address
        claim.sample.name = shown[:LONGEST]
