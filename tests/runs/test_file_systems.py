from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_air.runs.file_systems import is_seen_by_many, is_share, type_of

_MOUNTS = r"""
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
/dev/mapper/vg-root / ext4 rw,relatime,errors=remount-ro 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=32G 0 0
systemd-1 /home autofs rw,relatime,fd=52,pgrp=1,timeout=60,minproto=5,maxproto=5,direct 0 0
nas.lab:/export/home /home nfs4 rw,relatime,vers=4.2,rsize=1048576,hard,proto=tcp,sec=sys,addr=10.0.0.5 0 0
auto.data /data autofs rw,relatime,fd=7,pgrp=812,timeout=300,minproto=5,maxproto=5,indirect 0 0
10.0.1.1@o2ib:/scratch /scratch lustre rw,flock,lazystatfs 0 0
//files/team /mnt/team\040files cifs rw,relatime,vers=3.1.1,cache=strict,username=ada 0 0
ada@login:/home/ada /mnt/login fuse.sshfs rw,nosuid,nodev,relatime,user_id=1000 0 0
/dev/nvme0n1p1 /home/ada/local xfs rw,relatime,attr2,inode64 0 0
garbage
"""


@pytest.mark.parametrize(
    ("folder", "kind", "share", "many"),
    [
        ("/srv/air", "ext4", False, False),
        ("/home/ada/.local/share/jupyter", "nfs4", True, True),
        ("/home/ada/local/air", "xfs", False, False),
        ("/home/ada/localized", "nfs4", True, True),
        ("/scratch/ada", "lustre", False, True),
        ("/mnt/team files/air", "cifs", True, True),
        ("/mnt/login", "fuse.sshfs", True, True),
        ("/data/x", "ext4", False, False),
    ],
)
def test_the_innermost_mount_counts(tmp_path: Path, folder: str, kind: str, share: bool, many: bool) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(_MOUNTS)
    assert type_of(Path(folder), mounts) == kind
    assert (is_share(kind), is_seen_by_many(kind)) == (share, many)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nnas:/x {tmp_path / 'real'} nfs rw 0 0\n")
    assert type_of(tmp_path / "link" / "not" / "there", mounts) == "nfs"


def test_this_machine_and_one_that_does_not_say() -> None:
    assert type_of(Path("/proc")) == "proc"
    assert type_of(Path("/"), Path("/not/there")) == ""
