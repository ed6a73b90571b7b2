"""Going on with runs, and settings and stores that do not agree: in a real kernel, where MLflow has its traps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jupyter_air.runs.card import MIME_TYPE
from jupyter_air.runs.store import embedded_store
from tests.live_server import free_port
from tests.runs.kernel import kernel
from tests.runs.tracked import Tracked, environment


def _name(tracked: Tracked, variable: str, value: str) -> None:
    tracked.ok(f"import os; os.environ[{variable!r}] = {value!r}")


def test_a_bad_id_is_refused_each_time_and_the_variable_stays(tracked: Tracked) -> None:
    _name(tracked, "MLFLOW_RUN_ID", "0123456789abcdef0123456789abcdef")
    for line in ("%air_run", "%%air_run\n1", "%air_run"):
        said = tracked.refused(line)
        assert "MLFLOW_RUN_ID names the run '0123456789abcdef0123456789abcdef'" in said and "does not have" in said
    _name(tracked, "MLFLOW_RUN_ID", "not an id/../")
    assert "does not have" in tracked.refused("%air_run")
    assert tracked.kernel.value("os.environ['MLFLOW_RUN_ID']") == "'not an id/../'"


def test_the_variable_is_gone_on_with_under_its_own_name_and_ends_anew(tracked: Tracked) -> None:
    run_id = tracked.made("finished before")
    _name(tracked, "MLFLOW_RUN_ID", run_id)
    reply = tracked.ok("%air_run -p lr=1 -t again=yes")
    assert reply.cards[0][MIME_TYPE]["run_id"] == run_id and tracked.status(run_id) == "RUNNING"
    assert tracked.kernel.value("'MLFLOW_RUN_ID' in os.environ") == "False"
    tracked.ok("%air_run --end")
    run = tracked.client.get_run(run_id)
    assert run.info.run_name == "finished before" and run.info.status == "FINISHED"
    assert run.info.end_time > 2000 and (run.data.params, run.data.tags["again"]) == ({"lr": "1"}, "yes")
    before = len(tracked.runs())
    tracked.ok("%%air_run\n1")
    assert len(tracked.runs()) == before + 1


def test_a_name_never_goes_on_with_the_variables_run(tracked: Tracked) -> None:
    run_id = tracked.made("theirs")
    _name(tracked, "MLFLOW_RUN_ID", run_id)
    reply = tracked.run("%%air_run mine\n1")
    assert reply.status == "ok" and run_id in reply.stderr and "left alone" in reply.stderr
    assert tracked.newest("mine").info.run_id != run_id
    assert tracked.client.get_run(run_id).info.end_time == 2000
    assert tracked.kernel.value("os.environ['MLFLOW_RUN_ID']") == repr(run_id)


def test_a_run_that_somebody_else_logs_to_is_only_left(tracked: Tracked) -> None:
    run_id = tracked.made("job", status="RUNNING")
    _name(tracked, "MLFLOW_RUN_ID", run_id)
    tracked.ok("%%air_run\nimport mlflow; mlflow.log_metric('loss', 1)")
    assert tracked.status(run_id) == "RUNNING" and tracked.client.get_run(run_id).data.metrics == {"loss": 1}
    assert tracked.run(f"%%air_run --run-id {run_id}\n1 / 0").status == "error"
    assert tracked.status(run_id) == "RUNNING"
    tracked.ok(f"%air_run --run-id {run_id}\n%air_run --end FAILED")
    assert tracked.status(run_id) == "FAILED", "whoever says so ends it"


def test_a_run_that_began_in_this_kernel_is_its_own(tracked: Tracked) -> None:
    tracked.ok("%air_run 'left behind'")
    run_id = tracked.newest("left behind").info.run_id
    tracked.ok("import mlflow; mlflow.tracking.fluent._active_run_stack.get().clear()")
    tracked.ok(f"%%air_run --run-id {run_id}\n1")
    assert tracked.status(run_id) == "FINISHED"


def test_the_variable_that_names_the_active_run_means_it(tracked: Tracked) -> None:
    tracked.ok("%air_run around")
    run_id = tracked.newest("around").info.run_id
    _name(tracked, "MLFLOW_RUN_ID", run_id)
    before = len(tracked.runs())
    assert tracked.ok("%air_run").cards[0][MIME_TYPE]["run_id"] == run_id
    assert tracked.run("%%air_run\n1 / 0").cards[-1][MIME_TYPE]["run_id"] == run_id
    assert (len(tracked.runs()), tracked.status(run_id)) == (before, "RUNNING")
    tracked.ok("%%air_run --nested -t which=child\n1")
    child = tracked.runs()[0]
    assert child.data.tags["which"] == "child" and child.data.tags["mlflow.parentRunId"] == run_id
    other = tracked.made("other")
    _name(tracked, "MLFLOW_RUN_ID", other)
    said = tracked.refused("%air_run")
    assert other in said and run_id in said


def test_what_contradicts_a_run_is_refused_naming_both(tracked: Tracked) -> None:
    run_id = tracked.made("there", experiment="theirs")
    tracked.client.log_param(run_id, "lr", "1")
    said = tracked.refused(f"%air_run --run-id {run_id} -e mine")
    assert "'mine'" in said and "'theirs'" in said
    said = tracked.refused(f"%air_run --run-id {run_id} -p lr=2")
    assert "'1'" in said and "'2'" in said
    assert "keeps its own name" in tracked.refused(f"%air_run new --run-id {run_id}")
    tracked.run("import mlflow; mlflow.set_experiment('chosen')")
    said = tracked.refused(f"%air_run --run-id {run_id}")
    assert "'chosen'" in said and "'theirs'" in said
    assert tracked.status(run_id) == "FINISHED"
    tracked.client.delete_run(run_id)
    assert "is deleted" in tracked.refused(f"%air_run --run-id {run_id}")


def test_which_experiment_a_run_goes_to(tracked: Tracked) -> None:
    def where(line: str) -> str:
        tracked.ok(f"{line}\n1")
        name: str = tracked.client.get_experiment(tracked.runs()[0].info.experiment_id).name
        return name

    ids = {name: tracked.client.create_experiment(name) for name in ("by-id", "by-name", "gone")}
    tracked.client.delete_experiment(ids["gone"])
    assert where("%%air_run") == "/Users/ada/train"
    _name(tracked, "MLFLOW_EXPERIMENT_NAME", "made by name")
    assert where("%%air_run") == "made by name"
    _name(tracked, "MLFLOW_EXPERIMENT_ID", ids["by-id"])
    said = tracked.refused("%air_run")
    assert "'made by name'" in said and "'by-id'" in said
    assert where("%%air_run -e 'made here'") == "made here"
    _name(tracked, "MLFLOW_EXPERIMENT_NAME", "by-id")
    assert where("%%air_run") == "by-id"
    tracked.run("import mlflow; mlflow.set_experiment('by-name')")
    assert where("%%air_run") == "by-name"
    assert "is deleted" in tracked.refused("%air_run -e gone")
    tracked.tidy()
    _name(tracked, "MLFLOW_EXPERIMENT_ID", "4711")
    assert "does not exist" in tracked.refused("%air_run")


def test_a_child_that_is_gone_on_with_has_its_parent(tracked: Tracked) -> None:
    run_id, strange = tracked.made("child"), tracked.made("strange")
    tracked.client.set_tag(strange, "mlflow.parentRunId", run_id)
    tracked.ok("%air_run parent")
    parent = tracked.newest("parent").info.run_id
    tracked.ok(f"%%air_run --run-id {run_id}\n1")
    assert tracked.client.get_run(run_id).data.tags["mlflow.parentRunId"] == parent
    said = tracked.refused(f"%air_run --nested --run-id {strange}")
    assert run_id in said and parent in said
    assert "--nested --run-id" in tracked.refused(f"%air_run --run-id {run_id}")
    assert tracked.status(parent) == "RUNNING"


def test_what_others_said_of_a_run_stays(tracked: Tracked) -> None:
    tracked.ok("%air_run killed")
    run_id = tracked.newest("killed").info.run_id
    tracked.client.set_terminated(run_id, "KILLED", end_time=3000)
    tracked.ok("%air_run --end")
    run = tracked.client.get_run(run_id)
    assert (run.info.status, run.info.end_time) == ("KILLED", 3000)
    assert tracked.kernel.value("mlflow.active_run() is None") == "True"


def test_a_run_of_a_dead_kernel_can_be_ended(tracked: Tracked) -> None:
    run_id = tracked.made("ghost", status="RUNNING")
    tracked.ok(f"%air_run --end KILLED --run-id {run_id}")
    assert tracked.status(run_id) == "KILLED"
    assert "has ended already: it is KILLED" in tracked.refused(f"%air_run --end --run-id {run_id}")


def test_a_run_ends_where_it_began(tracked: Tracked, created: Path, tmp_path: Path) -> None:
    shutil.copytree(created, tmp_path / "other")
    other = embedded_store(tmp_path / "other").uri
    tracked.ok(f"%%air_run moved\nimport mlflow; mlflow.set_tracking_uri({other!r})")
    assert tracked.newest("moved").info.status == "FINISHED"
    assert tracked.kernel.value("mlflow.get_tracking_uri()") == repr(other)


@pytest.mark.parametrize("uri", ["http://ada:s3cret@127.0.0.1:{port}", "sqlite:////proc/none/mlflow.db"])
def test_a_store_that_cannot_be_used_spoils_no_cell(tracked: Tracked, uri: str) -> None:
    tracked.run(f"import mlflow; mlflow.set_tracking_uri({uri.format(port=free_port())!r})")
    reply = tracked.run("%%air_run lost -p a=1\n6 * 7")
    assert (reply.status, reply.value, reply.cards, reply.tracebacks) == ("ok", "42", [], [])
    assert reply.stderr.startswith("Jupyter AIR: not tracked. The MLflow ") and reply.stderr.count("\n") == 1
    assert "s3cret" not in reply.stderr and "ada" not in reply.stderr
    assert tracked.run("%air_run").status == "ok", "a notebook that runs all cells goes on"


def test_a_store_that_goes_away_spoils_no_cell(tracked: Tracked, created: Path, tmp_path: Path) -> None:
    shutil.copytree(created, tmp_path / "other")
    store = embedded_store(tmp_path / "other")
    tracked.ok(f"import mlflow, shutil; mlflow.set_tracking_uri({store.uri!r})")
    reply = tracked.run(f"%%air_run lost\nshutil.rmtree({str(store.folder)!r})\n6 * 7")
    assert (reply.status, reply.value, reply.tracebacks) == ("ok", "42", [])
    assert "could not be ended" in reply.stderr and reply.stderr.count("\n") == 1
    assert tracked.kernel.value("mlflow.active_run() is None") == "True"


def test_an_orderly_end_of_the_kernel_ends_its_runs_alone(created: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "notebooks"
    shutil.copytree(created, home)
    folder.mkdir()
    uri = embedded_store(home).uri
    with kernel(folder, environment(home, folder, uri), "bbbb-2222") as one:
        tracked = Tracked(one, uri)
        theirs = tracked.made("theirs", status="RUNNING")
        tracked.ok("%air_run parent\n%air_run child --nested")
        tracked.ok(f"%air_run --nested --run-id {theirs}")
    assert tracked.newest("parent").info.status == "FINISHED"
    assert tracked.newest("child").info.status == "FINISHED"
    assert tracked.status(theirs) == "RUNNING"


def test_what_a_thread_logs_without_a_run_is_told_and_ended(tracked: Tracked) -> None:
    body = "import mlflow, threading\ndef work(): mlflow.log_metric('x', 1)\n"
    join = "for t in [threading.Thread(target=work) for _ in range(2)]: t.start(); t.join()"
    reply = tracked.run(f"%%air_run meant\n{body}{join}")
    meant = tracked.newest("meant").info.run_id
    assert reply.status == "ok" and reply.stderr.count("Jupyter AIR: ") == 1 and meant in reply.stderr
    strays = [run for run in tracked.runs() if run.data.tags.get("mlflow.parentRunId") == meant]
    assert [run.info.status for run in strays] == ["FINISHED", "FINISHED"]


def test_a_run_that_a_thread_begins_on_purpose_is_a_child_and_its_own(tracked: Tracked) -> None:
    body = "def trial():\n    with mlflow.start_run(run_name='trial'): mlflow.log_metric('x', 1)\n"
    tracked.ok(
        f"%%air_run sweep\nimport mlflow, threading\n{body}t = threading.Thread(target=trial); t.start(); t.join()"
    )
    trial = tracked.newest("trial")
    assert trial.data.tags["mlflow.parentRunId"] == tracked.newest("sweep").info.run_id
    assert trial.info.status == "FINISHED"


def test_a_run_that_the_cells_own_code_ended_keeps_its_end(tracked: Tracked) -> None:
    end = "mlflow.MlflowClient().set_terminated(mlflow.active_run().info.run_id, 'FINISHED', end_time=3000)"
    tracked.ok(f"%%air_run early\nimport mlflow; {end}; mlflow.start_run(nested=True)")
    assert tracked.newest("early").info.end_time == 3000
