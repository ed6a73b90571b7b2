from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_air.runs.links import Tab, compare_page, databricks_host, experiment_page, run_page

_PROXY = "/user/ada@lab/jupyter-air/mlflow/"


@pytest.mark.parametrize(
    ("uri", "proxy", "expected"),
    [
        ("", _PROXY, "/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/abc"),
        ("sqlite:////home/ada/mlflow.db", _PROXY, "/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/abc"),
        ("https://u:p@mlflow.lab/team", _PROXY, "/user/ada@lab/jupyter-air/mlflow/#/experiments/7/runs/abc"),
        ("", None, None),
        ("sqlite:////home/ada/mlflow.db", None, None),
        ("file:///nb/mlruns", None, None),
        ("postgresql://u:p@db/mlflow", None, None),
        ("http://mlflow.lab:5000", None, "http://mlflow.lab:5000/#/experiments/7/runs/abc"),
        ("https://ada:s3cret@mlflow.lab/team/?x=1", None, "https://mlflow.lab/team/#/experiments/7/runs/abc"),
        ("http://ada:s3cret@[fd00::1]:5000", None, "http://[fd00::1]:5000/#/experiments/7/runs/abc"),
        ("http://mlflow.lab:port", None, None),
        ("databricks", _PROXY, "https://ws.cloud/ml/experiments/7/runs/abc"),
        ("databricks://team", None, "https://ws.cloud/ml/experiments/7/runs/abc"),
    ],
)
def test_the_page_of_a_run(uri: str, proxy: str | None, expected: str | None) -> None:
    assert run_page(uri, proxy, "7", "abc", databricks_host="https://ws.cloud") == expected


@pytest.mark.parametrize("tab", ["model-metrics", "system-metrics", "artifacts"])
def test_a_tab_of_a_run(tab: Tab) -> None:
    assert run_page("", "/m", "7", "abc", tab) == f"/m/#/experiments/7/runs/abc/{tab}"


def test_the_page_of_an_experiment_shows_its_runs() -> None:
    assert experiment_page("", "/m/", "7") == "/m/#/experiments/7/runs"
    assert (
        experiment_page("http://a", None, "7", workspace="team a") == "http://a/#/experiments/7/runs?workspace=team%20a"
    )
    assert experiment_page("databricks", None, "7", databricks_host="https://ws") == "https://ws/ml/experiments/7"
    assert experiment_page("databricks", "/m/", "7") is None


def test_the_page_that_compares() -> None:
    assert compare_page("", "/m/", ["7"], ["a", "b"]) == (
        "/m/#/compare-runs?runs=%5B%22a%22%2C%22b%22%5D&experiments=%5B%227%22%5D"
    )


def test_ids_cannot_leave_their_place() -> None:
    assert run_page("", "/m", "7/../x", "a?b#c") == "/m/#/experiments/7%2F..%2Fx/runs/a%3Fb%23c"


def test_where_databricks_is(tmp_path: Path) -> None:
    config = tmp_path / "cfg"
    config.write_text("[DEFAULT]\nhost = https://one.cloud/\ntoken = x\n[team]\nhost = two.cloud\n[empty]\nhost =\n")
    assert databricks_host("databricks", {}, config) == "https://one.cloud"
    assert databricks_host("databricks", {"DATABRICKS_HOST": "https://env.cloud"}, config) == "https://env.cloud"
    assert databricks_host("databricks", {"DATABRICKS_CONFIG_PROFILE": "team"}, config) == "https://two.cloud"
    assert databricks_host("databricks://team:scope", {"DATABRICKS_HOST": "https://env.cloud"}, config) == (
        "https://two.cloud"
    )
    assert databricks_host("databricks://none", {}, config) is None
    assert databricks_host("databricks", {}, tmp_path / "none") is None
