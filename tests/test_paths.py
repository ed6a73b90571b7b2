from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jupyter_air import paths
from jupyter_air.errors import UnavailableError


def test_state_is_in_jupyters_data_folder_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    assert paths.home({}) == tmp_path / "data" / "air"
    assert paths.home({"JUPYTER_AIR_HOME": "/srv/air"}) == Path("/srv/air")
    assert paths.home({"JUPYTER_AIR_HOME": "~/air"}) == Path.home() / "air"


def test_hosts_are_told_apart_where_they_see_the_same_folder() -> None:
    assert paths.tracking_folder(Path("/srv")) == Path("/srv/tracking")
    assert paths.tracking_folder(Path("/srv"), "gpu-a.lab") == Path("/srv/hosts/gpu-a.lab/tracking")
    assert paths.tracking_folder(Path("/srv"), "../x") == Path("/srv/hosts/_x/tracking")
    one, other = (paths.serving_folder(Path("/srv"), f"sqlite:////srv/{name}.db", "gpu-a") for name in "ab")
    assert one != other and one.parent == Path("/srv/hosts/gpu-a/serving")


def test_a_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = paths.private_folder(tmp_path / "a" / "b")
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent)] == [0o700, 0o700]
    folder.chmod(0o755)
    assert stat.S_IMODE(paths.private_folder(folder).stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="cannot be made") as raised:
        paths.private_folder(tmp_path / "file" / "x")
    assert "JUPYTER_AIR_HOME" in raised.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with pytest.raises(UnavailableError, match="belongs to another user"):
        paths.private_folder(folder)
