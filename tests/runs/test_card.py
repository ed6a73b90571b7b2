from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jupyter_air.runs.card import MIME_TYPE, RunCard, duration

_WIRE = Path(__file__).parents[1] / "wire"
_CARD = RunCard(
    run_id="0af7651916cd43dd8448eb211c80319c",
    experiment_id="7",
    name="baseline",
    experiment="/Users/ada/llm-finetune",
    status="RUNNING",
    started_ms=1_796_000_000_000,
    ended_ms=None,
    metrics={"train_loss": 1.8421, "eval_acc": 0.713, "system/cpu_utilization_percentage": 9.0},
    kind="embedded",
    base="/user/ada@lab/jupyter-air/mlflow",
    page="/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/0af7651916cd43dd8448eb211c80319c",
    notebook="/home/ada/llm-finetune.ipynb",
    seen_ms=1_796_000_724_000,
)


class _Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_record_is_what_front_ends_read() -> None:
    bundle = _CARD._repr_mimebundle_()
    assert set(bundle) == {MIME_TYPE, "text/html", "text/plain"}
    assert bundle[MIME_TYPE] == json.loads((_WIRE / "run-card.json").read_text())
    assert json.loads(json.dumps(bundle, allow_nan=False)) == bundle


def test_the_html_is_what_jest_gives_to_jupyterlabs_sanitizer() -> None:
    metrics = {f"m{number}": number / 4 for number in range(6)}
    done = dataclasses.replace(_CARD, status="FINISHED", ended_ms=1_796_000_041_000, name="a <b>", metrics=metrics)
    assert done.html() == (_WIRE / "run-card.html").read_text().strip()


def test_a_card_says_name_status_experiment_duration_metrics_and_links() -> None:
    words = _Elements(_CARD.html()).words
    for said in (
        "● baseline",
        "/Users/ada/llm-finetune",
        "12 min 04 s",
        "running at 20",
        "train_loss 1.842",
        "Open run",
    ):
        assert said in words and (said in _CARD.text() or said == "Open run")
    assert "system/" not in words
    done = dataclasses.replace(_CARD, status="FINISHED", ended_ms=1_796_000_041_000)
    assert "✓ baseline" in _Elements(done.html()).words and "41 s · finished" in done.html()
    assert f"run {_CARD.run_id}" in done.text() and "/user/" not in done.text(), "no link in a terminal"
    page = "https://mlflow.lab/#/experiments/7/runs/a"
    assert page in dataclasses.replace(_CARD, page=page).text()


@pytest.mark.parametrize("status", ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED", "<b>NEW"])
def test_the_html_lasts_in_an_untrusted_notebook(status: str) -> None:
    metrics = {f"<img src=x onerror=alert(1)>{i}": float("nan") for i in range(100)}
    hostile = dataclasses.replace(
        _CARD, status=status, name="<script>alert(1)</script>\x1b[2J\u202egnp", experiment="a" * 9999, metrics=metrics
    )
    found = _Elements(hostile.html())
    assert found.tags <= {"div", "span", "strong", "bdi", "a", "details", "summary"}
    assert found.attributes <= {"class", "style", "href"}
    assert "color" not in hostile.html() and len(hostile.html()) < 20_000
    for text in (hostile.text(), found.words):
        assert not re.search("[\x1b\u202e]", text) and "<script>alert(1)</script>" in text


@pytest.mark.parametrize("page", [None, "javascript:alert(1)", "//evil.lab/x", "files/x", "", "data:text/html,x"])
def test_only_whole_and_root_relative_addresses_are_links(page: str | None) -> None:
    assert "<a" not in dataclasses.replace(_CARD, page=page).html()


def test_vs_code_gets_no_address_that_means_nothing_there() -> None:
    there = dataclasses.replace(_CARD, is_in_page=False)
    assert "<a" not in there.html() and f"run {_CARD.run_id}" in _Elements(there.html()).words
    assert there.record() == _CARD.record(), "JupyterLab may open the same notebook later"
    page = "https://mlflow.lab/#/experiments/7/runs/a"
    assert f'href="{page}"' in dataclasses.replace(there, page=page).html()


def test_the_record_keeps_the_first_metrics_and_says_how_many_there_are() -> None:
    odd = {"a_nan": float("nan"), "a_top": float("inf"), "a_low": float("-inf")}
    metrics = {**{f"m{number:02}": number / 4 for number in range(90)}, **odd, "system/x": 1.0, "\x1b" * 999: 1.0}
    record = dataclasses.replace(_CARD, metrics=metrics).record()
    assert record["metric_count"] == 94 and len(record["metrics"]) == 12
    assert [record["metrics"][name] for name in odd] == ["NaN", "Infinity", "-Infinity"]
    assert len(json.dumps(record, allow_nan=False)) < 4000


def test_a_card_says_why_somebody_else_ended_the_run() -> None:
    killed = dataclasses.replace(_CARD, status="KILLED", ended_ms=1_796_000_041_000, end_reason="The kernel died.")
    assert "killed: The kernel died." in killed.html() and "killed: The kernel died." in killed.text()
    assert killed.record()["end_reason"] == "The kernel died."
    assert "died" not in dataclasses.replace(killed, status="FINISHED").html()


def test_names_and_figures_are_what_people_read() -> None:
    metrics = {"n": 48000.0, "lr": 3e-5, "loss": 12345.67, "nan": float("nan")}
    name = "\u0645\u200c\u0645\n\x1b[2J"
    card = dataclasses.replace(_CARD, name=name, metrics=metrics)
    assert "<bdi>\u0645\u200c\u0645 \ufffd[2J</bdi>" in card.html()
    for figure in ("n 48000", "lr 3e-5", "loss 12346", "nan NaN"):
        assert figure in card.text()


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 59.9, 60, 724, 3599, 3600, 3840)] == [
        "0 s", "59 s", "1 min 00 s", "12 min 04 s", "59 min 59 s", "1 h 00 min", "1 h 04 min",
    ]  # fmt: skip
    assert "12 min" not in dataclasses.replace(_CARD, started_ms=None).text()
