"""``%air_run`` and ``%%air_run`` in a real kernel, where nothing was loaded by hand; what MLflow has of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_air.runs.card import MIME_TYPE
from jupyter_air.runs.managed import REASON_TAG
from tests.runs.mlflow_process import ENOUGH_S
from tests.runs.tracked import PAGES, Tracked


def test_a_line_begins_a_run_with_its_link_in_the_cell(tracked: Tracked) -> None:
    reply = tracked.ok('%air_run base -p lr=3e-4 -p "note=two words" -t team=vision -d "**First** try"')
    assert reply.stdout == "" and reply.value is None
    run = tracked.newest("base")
    assert run.info.status == "RUNNING"
    assert run.data.params == {"lr": "3e-4", "note": "two words"}
    assert (run.data.tags["team"], run.data.tags["mlflow.note.content"]) == ("vision", "**First** try")
    experiment = tracked.client.get_experiment(run.info.experiment_id)
    assert experiment.name == "/Users/ada/train"
    (card,) = reply.cards
    assert card[MIME_TYPE]["run_id"] == run.info.run_id and card[MIME_TYPE]["status"] == "RUNNING"
    assert card[MIME_TYPE]["tracking"] == {"kind": "embedded", "base": PAGES}
    page = f"{PAGES}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
    assert f'<a href="{page}">Open run</a>' in card["text/html"]
    assert "base" in card["text/plain"] and run.info.run_id in card["text/plain"]

    ended = tracked.ok("import mlflow; mlflow.log_metric('loss', 1.842)\n%air_run --end")
    assert ended.display_ids == reply.display_ids, "the same card says it"
    assert ended.cards[-1][MIME_TYPE]["status"] == "FINISHED" and "1.842" in ended.cards[-1]["text/html"]
    run = tracked.client.get_run(run.info.run_id)
    assert run.info.status == "FINISHED" and run.info.end_time >= run.info.start_time


def test_runs_say_where_they_come_from(tracked: Tracked) -> None:
    tracked.ok("%%air_run ours\n1")
    tracked.ok("import mlflow\nwith mlflow.start_run(run_name='plain'): pass")
    ours, plain = tracked.newest("ours"), tracked.newest("plain")
    for run in (ours, plain):
        tags = run.data.tags
        assert tags["jupyter_air.notebook"].endswith("/train.ipynb") and tags["jupyter_air.kernel_id"] == "aaaa-1111"
        assert tags["mlflow.source.name"] == tags["jupyter_air.notebook"] and tags["mlflow.source.type"] == "NOTEBOOK"
    assert plain.info.experiment_id == ours.info.experiment_id, "plain runs of a notebook go together"


def test_an_active_run_is_shown_and_not_replaced(tracked: Tracked) -> None:
    assert tracked.ok("%air_run --status").stdout == "No run is active in this kernel.\n"
    (first,) = tracked.ok("%air_run one").display_ids
    assert tracked.ok("%air_run -t seen=yes").display_ids == [first]
    assert tracked.ok("%air_run --status").display_ids == [first]
    assert tracked.newest("one").data.tags["seen"] == "yes"
    said = tracked.refused("%air_run two")
    assert "--nested" in said and "--end" in said and tracked.newest("one").info.run_id in said
    assert "as a run begins" in tracked.refused("%air_run --system-metrics")
    tracked.ok("%air_run two --nested")
    assert tracked.newest("two").data.tags["mlflow.parentRunId"] == tracked.newest("one").info.run_id
    tracked.ok("%air_run --end KILLED\n%air_run --end")
    assert (tracked.newest("two").info.status, tracked.newest("one").info.status) == ("KILLED", "FINISHED")
    assert "No run is active" in tracked.refused("%air_run --end")


def test_a_card_lasts_in_vs_code_and_in_an_exported_notebook(tracked: Tracked, tmp_path: Path) -> None:
    # VS Code tells a notebook its file by this variable, and opens no address of Jupyter's.
    there = tracked.ok("__vsc_ipynb_file__ = '/v/tune.ipynb'\n%air_run there\n%air_run --end").cards[-1]
    tracked.ok("del __vsc_ipynb_file__")
    assert "<a" not in there["text/html"] and there[MIME_TYPE]["page"].startswith(PAGES)
    code = "%%air_run 'a <b>'\nimport mlflow; mlflow.log_metric('loss', 0.25)"
    card = tracked.ok(code).cards[-1]
    output = {"output_type": "display_data", "data": card, "metadata": {}}
    cell = {"cell_type": "code", "source": code, "outputs": [output], "execution_count": 1, "metadata": {}}
    file = tmp_path / "tune.ipynb"
    file.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--embed-images", str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=ENOUGH_S)
    page = file.with_suffix(".html").read_text()
    assert card["text/html"].replace("&nbsp;", "\N{NO-BREAK SPACE}") in page, "as it is: name, state, metrics, link"
    assert MIME_TYPE not in page and "a &lt;b&gt;" in page


def test_a_card_tells_that_the_persons_own_code_ended_the_run(tracked: Tracked) -> None:
    shown = tracked.ok("%air_run closed")
    assert tracked.ok("x = 1").cards == []
    ended = tracked.ok("import mlflow; mlflow.end_run()")
    assert ended.display_ids == shown.display_ids and ended.cards[0][MIME_TYPE]["status"] == "FINISHED"
    assert ended.stdout == ""
    assert tracked.ok("x = 2").cards == []


@pytest.mark.parametrize(
    ("body", "value", "printed"),
    [
        ("import asyncio\nawait asyncio.sleep(0)\n6 * 7", "42", ""),
        ("6 * 7;", None, ""),
        ("%%time\n6 * 7", "42", "Wall time"),
        ("\n%%time\n6 * 7", "42", "Wall time"),
        ("%%bash\necho from bash", None, "from bash\n"),
        ("from __future__ import annotations\ndef f(a: Missing): pass\nf.__annotations__", "{'a': 'Missing'}", ""),
        ("%%capture caught\nprint(1)", None, ""),
        ("get_ipython().run_cell('x = 20'); x + 22", "42", ""),
        ("", None, ""),
        ("!echo shell\nls = %who_ls int\ntype(ls)", "list", "shell"),
    ],
)
def test_the_cell_is_what_it_would_be_without(tracked: Tracked, body: str, value: str | None, printed: str) -> None:
    before = len(tracked.runs())
    reply = tracked.ok(f"%%air_run cell\n{body}")
    assert reply.value == value and printed in reply.stdout
    if not printed:
        assert reply.stdout == ""
    assert [card[MIME_TYPE]["status"] for card in reply.cards] == ["RUNNING", "FINISHED"]
    assert len(tracked.runs()) == before + 1 and tracked.newest("cell").info.status == "FINISHED"
    assert tracked.kernel.value("mlflow.active_run() is None") == "True"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("x = 1\n1 / 0", "division by zero"),
        ("import asyncio\nawait asyncio.sleep(0)\n1 / 0", "division by zero"),
        ("%%time\n1 / 0", "division by zero"),
        ("%%bash\nexit 3", "exit status 3"),
        ("mlflow.end_run()\n1 / 0", "division by zero"),
        ("mlflow.start_run(nested=True, run_name='within')\n1 / 0", "division by zero"),
    ],
)
def test_a_cell_that_fails_fails_its_run_and_stops_run_all(tracked: Tracked, body: str, error: str) -> None:
    reply = tracked.run(f"%%air_run failing\n{body}")
    assert reply.status == "error" and error in reply.evalue and len(reply.tracebacks) == 1
    assert tracked.newest("failing").info.status == "FAILED"
    assert reply.cards[-1][MIME_TYPE]["status"] == "FAILED"
    assert tracked.kernel.value("mlflow.active_run() is None") == "True"
    if "within" in body:
        assert tracked.newest("within").info.status == "FAILED"


def test_line_numbers_stay_and_a_cell_that_cannot_begin_begins_no_run(tracked: Tracked) -> None:
    (traceback,) = tracked.run("%%air_run numbers\n\nx = 1\n1 / 0").tracebacks
    assert "----> 4 1 / 0" in traceback
    before = len(tracked.runs())
    assert tracked.run("%%air_run syntax\nx = = 1").status == "error"
    assert len(tracked.runs()) == before


@pytest.mark.parametrize(
    "body",
    [
        "import time\nprint('go', flush=True)\ntime.sleep(600)",
        "import asyncio\nprint('go', flush=True)\nawait asyncio.sleep(600)",
        "%%time\nimport time\nprint('go', flush=True)\ntime.sleep(600)",
        "%%bash\necho go\nsleep 600",
        "import time\ntry:\n    print('go', flush=True)\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    'saved'",
    ],
)
def test_an_interrupt_kills_the_run(tracked: Tracked, body: str) -> None:
    tracked.run(f"%%air_run interrupted\n{body}", interrupt_at="go")
    killed = tracked.newest("interrupted")
    assert (killed.info.status, killed.data.tags[REASON_TAG]) == ("KILLED", "The cell was interrupted.")
    assert tracked.kernel.value("6 * 7") == "42"
    tracked.ok("%%air_run after\n1")
    after = tracked.newest("after")
    assert after.info.status == "FINISHED" and REASON_TAG not in after.data.tags, "one interrupt is one run's"


def test_a_cell_in_a_run_is_its_child(tracked: Tracked) -> None:
    tracked.ok("%air_run parent -e chosen")
    tracked.ok("%%air_run\nmlflow.log_param('own', 1)")
    tracked.ok("%%air_run child\nget_ipython().run_cell('%%air_run grandchild\\n1')")
    parent, child, grandchild = (tracked.newest(name) for name in ("parent", "child", "grandchild"))
    assert tracked.client.get_experiment(child.info.experiment_id).name == "chosen"
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert grandchild.data.tags["mlflow.parentRunId"] == child.info.run_id
    assert (child.info.status, grandchild.info.status, parent.info.status) == ("FINISHED", "FINISHED", "RUNNING")
    said = tracked.refused("%%air_run other -e elsewhere\n1")
    assert "'elsewhere'" in said and "'chosen'" in said


def test_exported_scripts_call_the_cell_form(tracked: Tracked) -> None:
    call = "get_ipython().run_cell_magic('air_run', 'script -p a=1', {!r})"
    assert tracked.ok(call.format("from __future__ import annotations\nq = 20\nq + 22")).value == "42"
    run = tracked.newest("script")
    assert run.info.status == "FINISHED" and run.data.params == {"a": "1"}
    reply = tracked.run(call.format("q = 1\n1 / 0") + "\nq = 2")
    assert reply.status == "error" and len(reply.tracebacks) == 1 and tracked.kernel.value("q") == "1"
    assert tracked.newest("script").info.status == "FAILED"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%air_run --naem x", "no option '--naem'"),
        ("%air_run one two", "got 'two' too"),
        ("%air_run 'open", "A quote is not closed"),
        ("%air_run -p lr", "--param wants KEY=VALUE"),
        ("%air_run -p a=1 -p a=2", "--param names a twice"),
        ("%air_run --end x", "invalid choice: 'x'"),
        ("%air_run --nested", "No run is active that could be the parent"),
        ("%air_run --autolog sklaern", "Did you mean sklearn?"),
        ("%%air_run --end\n1", "are of %air_run"),
        ("%%air_run --experiment\n1", "expected one argument"),
    ],
)
def test_a_mistake_is_one_sentence(tracked: Tracked, line: str, said: str) -> None:
    assert said in tracked.refused(line)


def test_one_cell_has_one_run_but_for_cells_within(tracked: Tracked) -> None:
    reply = tracked.run("%%air_run one\n%%time\n%%air_run two\n1")
    assert reply.status == "error" and "has a run of its own already" in reply.evalue
    assert tracked.newest("one").info.status == "FAILED"
    assert tracked.ok("%%air_run outer\n%%air_run inner\n6 * 7").value == "42"
    assert tracked.newest("inner").data.tags["mlflow.parentRunId"] == tracked.newest("outer").info.run_id


def test_autologging_lasts_as_long_as_the_cell(tracked: Tracked) -> None:
    tracked.ok("from mlflow.utils.autologging_utils import autologging_is_disabled as is_off")
    assert tracked.ok("%%air_run --autolog sklearn\nis_off('sklearn')").value == "False"
    assert tracked.kernel.value("is_off('sklearn')") == "True"


def test_help_and_completion(tracked: Tracked) -> None:
    assert "--experiment" in tracked.kernel.help("%air_run") and "%%air_run" in tracked.ok("%air_run --help").stdout
    assert tracked.kernel.completions("%%air_run --ex") == ["--experiment"]
    assert tracked.kernel.completions("x = 1\n%air_run base --nes") == ["--nested"]
    assert tracked.kernel.completions("%air_run --end F") == ["FINISHED", "FAILED"]
    assert "sklearn" in tracked.kernel.completions("%air_run --autolog s")
    assert "%air_run" in tracked.kernel.completions("%air_")
    assert "x" in tracked.kernel.completions("x") and "print" in tracked.kernel.completions("prin")


def test_loading_it_twice_and_taking_it_away(tracked: Tracked) -> None:
    counted = ("ip.input_transformers_cleanup", "ip.events.callbacks['post_run_cell']", "ip.Completer.custom_matchers")
    count = f"[len(one) for one in ({', '.join(counted)})]"
    before = tracked.kernel.value(f"ip = get_ipython(); {count}")
    tracked.ok("%load_ext jupyter_air.magics")
    assert tracked.kernel.value(count) == before
    tracked.ok("%unload_ext jupyter_air.magics")
    assert tracked.kernel.value(count) != before
    assert "not found" in tracked.run("%air_run").stderr
    tracked.ok("%load_ext jupyter_air.magics")
    assert tracked.kernel.value(count) == before
    assert tracked.kernel.value("[name for name in dir() if 'air' in name]") == "[]", "nothing of ours in the notebook"
