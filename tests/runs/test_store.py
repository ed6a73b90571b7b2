from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_air.errors import UnavailableError
from jupyter_air.runs.installed import installed_mlflow, schema_revisions
from jupyter_air.runs.store import (
    Store,
    check,
    check_place,
    embedded_store,
    file_store_choices,
    schema_revision,
    store_beside,
    store_of_uri,
)
from tests.runs.mlflow_process import mlflow

_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")


def _database(store: Store) -> Path:
    assert store.database is not None
    return store.database


def _set_revision(database: Path, revision: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 20 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "air-test", str(folder)]).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_the_embedded_store_is_per_host_where_hosts_share_a_disk(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\n10.0.1.1@o2ib:/scratch {tmp_path} lustre rw,flock 0 0\n")
    shared = embedded_store(tmp_path, mounts)
    assert shared.folder == tmp_path / "hosts" / os.uname().nodename / "tracking"
    assert embedded_store(tmp_path, Path("/dev/null")).folder == tmp_path / "tracking"
    assert shared.uri == f"sqlite:///{shared.folder}/mlflow.db" and shared.artifact_root.is_absolute()
    check_place(shared, mounts)


def test_the_store_beside_a_notebook_is_the_one_that_mlflow_takes(tmp_path: Path) -> None:
    for name in ("nothing", "database", "files", "both", "artifacts"):
        (tmp_path / name).mkdir()
    for name in ("database", "both"):
        (tmp_path / name / "mlflow.db").touch()
    for name in ("files", "both"):
        (tmp_path / name / "mlruns" / "0").mkdir(parents=True)
        (tmp_path / name / "mlruns" / "0" / "meta.yaml").touch()
    # What is left of a sqlite store's artifacts is no store.
    (tmp_path / "artifacts" / "mlruns" / "1" / "abc").mkdir(parents=True)
    code = (
        "import os, mlflow\n"
        "for name in ('nothing', 'database', 'files', 'both', 'artifacts'):\n"
        "    os.chdir(name); print(mlflow.get_tracking_uri()); os.chdir('..')\n"
    )
    found = [store_beside(tmp_path / name) for name in ("nothing", "database", "files", "both", "artifacts")]
    theirs = mlflow(code, tmp_path).splitlines()
    assert [None if one is None else one.uri for one in found] == [None, theirs[1], theirs[2], theirs[3], None]
    assert theirs[0].endswith("nothing/mlflow.db") and theirs[4].endswith("artifacts/mlflow.db")
    assert found[1] is not None and found[1].artifact_root == tmp_path / "database" / "mlruns"
    assert not any(store.embedded for store in found if store)


def test_uris(tmp_path: Path) -> None:
    def uri(text: str) -> str | None:
        store = store_of_uri(text, tmp_path)
        return None if store is None else store.uri

    assert uri("sqlite:///a/b.db?timeout=5") == f"sqlite:///{tmp_path}/a/b.db"
    assert uri("sqlite:////srv/b.db") == "sqlite:////srv/b.db"
    assert uri("file:///srv/ml%20runs") == "file:///srv/ml%20runs"
    assert uri("mlruns") == f"file://{tmp_path}/mlruns"
    assert [uri(other) for other in ("sqlite://", "sqlite:///:memory:", "mysql://a/b", "databricks")] == [None] * 4


def test_a_store_that_is_fine_or_not_there_yet(home: Path, tmp_path: Path) -> None:
    assert check(embedded_store(home)) == installed_mlflow()
    before = sorted(tmp_path.rglob("*"))
    check(embedded_store(tmp_path / "not" / "yet"))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_network_share_is_refused_for_a_database_alone(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"nas.lab:/export/home {tmp_path} nfs4 rw,relatime,vers=4.2 0 0\n")
    with pytest.raises(UnavailableError, match=r"network share \(nfs4\)") as raised:
        check(embedded_store(tmp_path / "air", mounts), mounts)
    assert "JUPYTER_AIR_HOME" in raised.value.hint and "MLFLOW_TRACKING_URI" in raised.value.hint
    files = store_of_uri("mlruns", tmp_path)
    assert files is not None
    check(files, mounts)


@pytest.mark.parametrize("name", ["50%20 off", "what?"])
def test_a_path_that_sqlalchemys_versions_read_differently(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnavailableError, match=r"has a % or \? in it"):
        check(embedded_store(tmp_path / name))


@_ROOT
def test_a_full_disk(small_disk: Path) -> None:
    store = embedded_store(small_disk / "air")
    check(store)
    (small_disk / "ballast").write_bytes(bytes(8 * 2**20))
    with pytest.raises(UnavailableError, match=r"is full \(12 MiB free\)"):
        check(store)


@_ROOT
def test_a_read_only_disk(small_disk: Path) -> None:
    store = embedded_store(small_disk / "air")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(UnavailableError, match="is read-only for this user") as raised:
        check(store)
    assert str(small_disk) in raised.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_one_may_not_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UnavailableError, match="is read-only for this user"):
        check(embedded_store(tmp_path / "air"))


def test_the_schema_of_another_mlflow(home: Path) -> None:
    store = embedded_store(home)
    older = min(schema_revisions(installed_mlflow()).known - {schema_revision(_database(store))})
    _set_revision(_database(store), older)
    with pytest.raises(UnavailableError, match=f"an older MLflow \\({older}") as raised:
        check(store)
    assert raised.value.hint.endswith(f"mlflow db upgrade {store.uri}")
    _set_revision(_database(store), "0123456789ab")
    with pytest.raises(UnavailableError, match=r"a newer MLflow \(0123456789ab") as raised:
        check(store)
    assert "pip install --upgrade mlflow" in raised.value.hint


def test_what_is_no_database(tmp_path: Path) -> None:
    database = tmp_path / "mlflow.db"
    database.write_bytes(b"hello" * 1000)
    with pytest.raises(UnavailableError, match="is no MLflow database"):
        schema_revision(database)
    database.write_bytes(b"")
    assert schema_revision(database) is None
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    assert schema_revision(database) is None


def test_a_file_store_is_explained_and_the_way_out_works(tmp_path: Path) -> None:
    code = "import mlflow\nmlflow.set_experiment('old')\nwith mlflow.start_run(): mlflow.log_metric('m', 1)"
    allowed = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": str(tmp_path / "mlruns")}
    mlflow(code, tmp_path, allowed)
    store = store_beside(tmp_path)
    assert store is not None and store.database is None
    words = file_store_choices(store, installed_mlflow(), {})
    assert words is not None and "MLFLOW_ALLOW_FILE_STORE=true" in words and "embedded store" in words
    assert file_store_choices(store, installed_mlflow(), allowed) is None
    refused = (
        "import mlflow; from jupyter_air.runs.asking import asking\n"
        "try:\n    with asking(mlflow.get_tracking_uri()): mlflow.start_run()\nexcept Exception as error: print(error)"
    )
    assert mlflow(refused, tmp_path, {"PYTHONPATH": str(Path(__file__).parents[2])}) == words
    command = words.partition("(")[2].partition(", then")[0]
    environ = {**os.environ, "PATH": f"{Path(shutil.which('python') or '').parent}:{os.environ['PATH']}"}
    subprocess.run(command.split(), check=True, cwd="/", env=environ, capture_output=True)
    (tmp_path / "mlruns").rename(tmp_path / "old-mlruns")
    moved = store_beside(tmp_path)
    assert moved is not None and moved.database == tmp_path / "mlflow.db"
    check(moved)
