"""The routes of the pane on a real server: what they answer, who may ask, and what they cost."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import yaml

import jupyter_air.server
from tests.live_server import LiveServer, live_server

SERVER = Path(jupyter_air.server.__file__).parent
OPENAPI = yaml.safe_load((SERVER / "openapi.yaml").read_text())
WIRE = Path(__file__).parents[1] / "wire"


def check(body: Any, schema: str) -> None:
    """Holds a body to a schema of the OpenAPI file."""
    whole = {"$ref": f"#/components/schemas/{schema}", "components": OPENAPI["components"]}
    jsonschema.Draft202012Validator(whole).validate(body)


def wait_for_the_past(server: LiveServer, slots: int) -> None:
    """Until what was before the server's start is there: it is made beside the samples, and is many slots."""
    for _ in range(600):
        if len(server.gpu()["times_s"]) >= slots:
            return
        time.sleep(0.1)
    raise AssertionError("the past was not filled in")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("routes"), "--JupyterAir.simulate=2x8") as up:
        up.refresh()
        wait_for_the_past(up, 700)
        yield up


def test_an_answer_has_every_node_and_two_hours(server: LiveServer) -> None:
    answer = server.gpu()
    check(answer, "Answer")
    nodes = answer["layout"]["nodes"]
    assert [(n["local"], n["simulated"], len(n["gpus"])) for n in nodes if not n["local"]] == [(False, True, 8)] * 2
    assert sum(n["local"] for n in nodes) == 1
    assert len(answer["columns"]) == len(nodes) == len(answer["ages_s"])
    assert 715 <= len(answer["times_s"]) <= 722
    for node, columns in zip(nodes, answer["columns"], strict=True):
        assert len(columns["gpus"]) == len(node["gpus"])
        lists = [*columns["host"], *(column for gpu in columns["gpus"] for column in gpu)]
        assert {len(column) for column in lists} == {len(answer["times_s"])}
    newest = answer["columns"][nodes.index(next(n for n in nodes if n["simulated"]))]["gpus"][0]
    assert 0 <= newest[0][-1] <= 100 and 25 < newest[2][-1] < 90


def test_a_cursor_gives_only_what_is_new(server: LiveServer) -> None:
    first = server.gpu()
    server.refresh()
    later = server.gpu(first["cursor"])
    check(later, "Answer")
    assert later["layout"] is None
    assert len(later["times_s"]) == 1
    assert 0 < later["replace_from_s"] <= later["times_s"][0]


@pytest.mark.parametrize("cursor", ["", "nonsense", "000000.1.5", "\u0661.1.1", "a" * 4000, "../../etc"])
def test_an_unknown_cursor_gives_everything(server: LiveServer, cursor: str) -> None:
    answer = server.gpu(cursor)
    assert answer["layout"] is not None and len(answer["times_s"]) > 700


def test_a_poll_and_a_history_are_small(server: LiveServer) -> None:
    full = server.client.get("jupyter-air/gpu", headers={"Accept-Encoding": "gzip"})
    assert full.headers["Content-Encoding"] == "gzip"
    assert "Etag" not in full.headers
    assert full.headers["Cache-Control"] == "no-store"
    assert full.headers["Content-Type"].startswith("application/json")
    plain = server.client.get("jupyter-air/gpu", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert plain.json()["layout"] == full.json()["layout"]
    assert len(gzip.compress(plain.content, 1)) < len(plain.content) / 4


@pytest.mark.parametrize(
    ("method", "path"), [(m, p) for p, ways in OPENAPI["paths"].items() for m in ways if m != "parameters"]
)
def test_every_route_of_the_file_refuses_a_stranger(server: LiveServer, method: str, path: str) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as stranger:
        reply = stranger.request(method, f"jupyter-air{path}", follow_redirects=False)
    assert reply.status_code == 403, "no token, no answer and no redirect to a page"
    if method != "head":
        check(reply.json(), "Error")


def test_every_route_of_the_server_is_in_the_file(server: LiveServer) -> None:
    source = (SERVER / "app.py").read_text()
    routes = re.findall(r'r"/jupyter-air(/[^"]*)"', source)
    plain = [route.replace("(.*)", "{path}").replace(".*", "{path}").replace("\\", "") for route in routes]
    beside = "(?:-beside/[^/]+)?"
    served = {route.replace(beside, key) for route in plain for key in ("", "-beside/{key}")}
    assert served == set(OPENAPI["paths"])


def test_a_page_without_the_xsrf_token_changes_nothing(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        browser.get("login", params={"token": server.client.headers["Authorization"].split()[1]}, follow_redirects=True)
        assert browser.get("jupyter-air/gpu").status_code == 200, "the cookie of a logged-in browser reads"
        refused = browser.post("jupyter-air/gpu/refresh")
        assert refused.status_code == 403
        assert "_xsrf" in refused.json()["message"]
        xsrf = {"X-XSRFToken": browser.cookies["_xsrf"]}
        assert browser.post("jupyter-air/gpu/refresh", headers=xsrf).status_code == 204


def test_a_poll_is_no_activity_of_the_server_but_a_person_is(server: LiveServer) -> None:
    before = server.client.get("api/status").json()["last_activity"]
    server.gpu()
    server.client.get("jupyter-air/gpu")
    assert server.client.get("api/status").json()["last_activity"] == before
    assert server.client.post("jupyter-air/gpu/activity").status_code == 204
    assert server.client.get("api/status").json()["last_activity"] > before


def test_activity_takes_the_setting_over(server: LiveServer) -> None:
    for keep in (True, False):
        assert server.client.post("jupyter-air/gpu/activity", json={"keep_while_busy": keep}).status_code == 204
        assert server.gpu()["monitor"]["keep_while_busy"] is keep
    assert 295 < server.gpu()["monitor"]["pauses_in_s"] <= 300


@pytest.mark.parametrize("body", ["[", "[]", '"x"', '{"keep_while_busy": 1}', "\xff"])
def test_a_bad_body_is_one_sentence(server: LiveServer, body: str) -> None:
    reply = server.client.post("jupyter-air/gpu/activity", content=body.encode("latin-1"))
    assert reply.status_code == 400
    check(reply.json(), "Error")
    assert "keep_while_busy" in reply.json()["message"]
    assert not server.has_traceback


def test_the_history_as_csv(server: LiveServer) -> None:
    reply = server.client.get("jupyter-air/gpu/history.csv")
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="gpu-history-\d{8}-\d{6}Z\.csv"', reply.headers["Content-Disposition"])
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    answer = server.gpu()
    at = [n["name"] for n in answer["layout"]["nodes"]].index("simulated-02")
    gpu, columns = answer["layout"]["nodes"][at]["gpus"][3], answer["columns"][at]["gpus"][3]
    mine = [row for row in rows if row["gpu_uuid"] == gpu["uuid"]]
    assert len(mine) > 700
    row = mine[-2]  # the newest slot may be sampled again between the two answers
    assert (row["node"], row["gpu_index"], row["gpu_name"]) == ("simulated-02", "3", "Simulated H100 80GB")
    stamp = datetime.datetime.fromisoformat(row["time"]).timestamp()
    last = next(n for n, time_s in enumerate(answer["times_s"]) if abs(time_s - stamp) < 0.1)
    assert int(row["utilization_percent"]) == columns[0][last]
    assert int(row["memory_used_bytes"]) == columns[1][last] * gpu["memory_step_bytes"]
    assert int(row["memory_total_bytes"]) == 80 << 30
    assert row["time"].endswith("+00:00")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(
        tmp_path_factory.mktemp("fleet"), "--JupyterAir.simulate=300x8", "--JupyterAir.history_window_s=300"
    ) as up:
        up.refresh()
        wait_for_the_past(up, 28)
        yield up


def test_a_large_fleet_is_told_in_brief(fleet: LiveServer) -> None:
    answer = fleet.gpu()
    check(answer, "Answer")
    assert {columns and len(columns["gpus"]) for columns in answer["columns"]} == {None}
    names = [node["name"] for node in answer["layout"]["nodes"]]
    figures = dict(zip(names, answer["brief"], strict=True))
    utilization, used, total, temperature, power, throttle = figures["simulated-17"]
    assert 0 <= utilization <= 100 and 25 < temperature < 90 and 8 * 60 < power < 8 * 450 and throttle in (0, 1)
    assert total == 8 * 80 << 30 and 0 < used < total
    assert figures[next(n["name"] for n in answer["layout"]["nodes"] if n["local"])] is None, "no GPU here"


def test_of_a_large_fleet_the_reader_picks_what_it_sees(fleet: LiveServer) -> None:
    def ask(**query: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        reply = fleet.client.get("jupyter-air/gpu", params=query)
        answer = reply.json()
        check(answer, "Answer")
        return answer, answer["columns"]

    first, _ = ask()
    nodes = [node["id"] for node in first["layout"]["nodes"]]
    at, beside = nodes.index("simulated-03"), nodes.index("simulated-04")
    picked = {"full": "simulated-03", "strip": ["simulated-04", "no such node"]}
    later, columns = ask(since=first["cursor"], whole=1, **picked)
    assert later["layout"] is None, "the layout is known, only the past of these nodes is not"
    assert len(later["times_s"]) >= 28
    assert [n for n, one in enumerate(columns) if one] == [at, beside]
    assert [len(gpu) for gpu in columns[at]["gpus"]] == [6] * 8
    assert columns[beside]["host"] == [] and [len(gpu) for gpu in columns[beside]["gpus"]] == [1] * 8
    news = later | {"times_s": []}
    while not news["times_s"]:
        fleet.refresh()  # which answers before there is a sample where that takes seconds
        news, columns = ask(since=later["cursor"], **picked)
    assert len(news["times_s"]) == 1 == len(columns[at]["gpus"][7][5]) == len(columns[beside]["gpus"][7][0])


def test_the_csv_of_a_large_fleet_has_every_sample_of_every_node_in_order(fleet: LiveServer) -> None:
    rows = list(csv.DictReader(io.StringIO(fleet.client.get("jupyter-air/gpu/history.csv").text)))
    times = list(dict.fromkeys(row["time"] for row in rows))
    assert len(times) >= 28 and times == sorted(times)
    here = [(row["node"], row["gpu_index"]) for row in rows if row["time"] == times[-2]]
    assert here[:-1] == [(f"simulated-{n + 1:02}", str(g)) for n in range(300) for g in range(8)]


def test_the_fixtures_of_the_browser_are_what_a_server_may_say() -> None:
    fixtures = sorted(WIRE.glob("gpu-*.json"))
    assert len(fixtures) >= 2
    for path in fixtures:
        check(json.loads(path.read_text()), "Error" if path.stem == "gpu-error" else "Answer")
