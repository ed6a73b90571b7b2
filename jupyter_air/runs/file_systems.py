"""What kind of disk a folder is on: sqlite trusts file locks, which network shares don't keep."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")

#: Their file locks are missing, late or per host: a sqlite database there gets corrupted.
_SHARES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "fuse.sshfs", "fuse.glusterfs"})
#: Their locks hold, but several hosts see the same folder.
_CLUSTERED = frozenset(
    {"lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "fuse.ceph-fuse", "gfs2", "ocfs2", "panfs", "wekafs", "orangefs"}
)


def type_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Type of the file system that a folder, or its nearest existing parent, is on, such as ``ext4``; empty if unknown.

    Args:
        folder: need not exist.
        mounts: lines as of ``/proc/self/mounts``.
    """
    place = f"{folder.resolve()}/"
    best, found = 0, ""
    try:
        text = mounts.read_text(errors="surrogateescape")
    except OSError:
        return ""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _unescaped(fields[1]).rstrip("/") + "/"
        # The last mount of a point covers those before; an automount is what was there before the share.
        if place.startswith(point) and len(point) >= best and fields[2] != "autofs":
            best, found = len(point), fields[2]
    return found


def is_share(kind: str) -> bool:
    """Whether a file system of this type cannot hold a sqlite database."""
    return kind in _SHARES


def is_seen_by_many(kind: str) -> bool:
    """Whether other hosts may see the same folder."""
    return kind in _SHARES or kind in _CLUSTERED


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field) if "\\" in field else field
