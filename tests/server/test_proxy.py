"""The way to a tracking server: what passes in either direction, who may use it, and what a broken one looks like."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.live_server import TOKEN, LiveServer, free_port, live_server
from tests.server.talkative_server import PIECE, TalkativeServer, talkative_server
from tests.server.test_gpu_routes import WIRE, check
from tests.server.tracked_server import logged_in, tracked_server

MLFLOW = "jupyter-air/mlflow/"
SECRET = "Basic c2VjcmV0OnNlY3JldA=="
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Accept": "text/html"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[TalkativeServer]:
    with talkative_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, upstream: TalkativeServer) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("proxy")
    # Jupyter's own limit for bodies is far below what is uploaded here.
    limits = ("--ServerApp.max_body_size=1000000", "--ServerApp.max_buffer_size=1000000")
    with tracked_server(folder, upstream.url, f"--Tracked.authorization={SECRET}", *limits) as up:
        yield up
    assert not up.has_traceback
    assert "never retrieved" not in up.log
    assert SECRET not in up.log and SECRET.split()[1] not in up.log


def header(echo: Any, name: str) -> list[str]:
    return [value for given, value in echo["headers"] if given == name]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_request_arrives_as_it_was_sent(server: LiveServer, method: str) -> None:
    body = b"" if method in ("GET", "OPTIONS") else bytes(range(256)) * 1000
    path = "api/2.0/x%20y/a%2Fb/%C3%BC?q=1&q=a%2Bb%26c&empty="
    reply = server.client.request(method, MLFLOW + path, content=body, headers={"Content-Type": "application/x"})
    assert reply.status_code == 200
    echo = reply.json()
    assert (echo["method"], echo["path"]) == (method, "/" + path)
    assert (echo["size"], echo["sha256"]) == (len(body), hashlib.sha256(body).hexdigest())
    assert header(echo, "content-type") == ["application/x"]


def test_a_body_of_unknown_length_arrives(server: LiveServer) -> None:
    pieces = [b"one", b"two" * 100_000, b"three"]
    echo = server.client.put(MLFLOW + "echo", content=iter(pieces)).json()
    assert echo["sha256"] == hashlib.sha256(b"".join(pieces)).hexdigest()
    assert header(echo, "transfer-encoding") == ["chunked"]


def test_what_is_jupyters_does_not_arrive(server: LiveServer, upstream: TalkativeServer) -> None:
    stays = {
        "Authorization": f"token {TOKEN}",
        "Cookie": "username=ada; _xsrf=2|x",
        "X-XSRFToken": "2|x",
        "X-Forwarded-For": "10.0.0.1",
        "X-Forwarded-Access-Token": "jwt",
        "Cf-Access-Jwt-Assertion": "jwt",
        "Proxy-Authorization": "Basic x",
        "Origin": server.url.split("/user")[0],
        "Referer": server.url + "lab",
        "Sec-Fetch-Site": "same-origin",
        "TE": "trailers",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
    }
    passes = {
        "Accept": "application/json",
        "Accept-Encoding": "zstd",
        "Range": "bytes=0-1",
        "X-MLflow-Workspace": "w",
        "User-Agent": "\u00fc/1",
    }
    headers = [(name.encode(), value.encode("latin-1")) for name, value in {**stays, **passes}.items()]
    echo = server.client.post(f"{MLFLOW}echo?token={TOKEN}&page_token=2", headers=headers, content=b"x").json()
    assert TOKEN not in str(echo)
    assert echo["path"] == "/echo?page_token=2"
    assert header(echo, "host") == [f"127.0.0.1:{upstream.port}"]
    assert header(echo, "authorization") == [SECRET]
    names = {name for name, _ in echo["headers"]}
    assert names == {*map(str.lower, passes), "host", "authorization", "connection", "content-length"}
    assert header(echo, "x-mlflow-workspace") == ["w"]
    assert header(echo, "user-agent") == ["\u00fc/1"]


def test_an_answer_cannot_speak_for_jupyter(server: LiveServer) -> None:
    with logged_in(server) as browser:
        reply = browser.get(MLFLOW + "hostile")
        assert header(browser.get(MLFLOW + "echo").json(), "cookie") == []
    assert reply.content == b"<script>"
    refused = ("Set-Cookie", "Access-Control-Allow-Origin", "Clear-Site-Data", "Service-Worker-Allowed", "Refresh")
    for name in (*refused, "WWW-Authenticate", "Link", "X-Frame-Options"):
        assert name not in reply.headers
    policy = reply.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy and policy.endswith("; sandbox allow-scripts")
    assert "default-src" not in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "private, max-age=60"
    assert reply.headers["X-MLflow-Of-Its-Own"] == "kept"
    assert dict(reply.headers.raw)[b"Content-Disposition"] == 'attachment; filename="f\u00fcr.html"'.encode()


@pytest.mark.parametrize("path", ["", "static-files/lib/renderer/index.html"])
def test_the_program_of_mlflow_is_not_sandboxed(server: LiveServer, path: str) -> None:
    assert "sandbox" not in server.client.get(MLFLOW + path).headers["Content-Security-Policy"]


@pytest.mark.parametrize("status", [204, 304, 400, 401, 404, 429, 500, 503])
def test_a_status_passes_with_its_words(server: LiveServer, status: int) -> None:
    reply = server.client.get(f"{MLFLOW}status?code={status}")
    assert reply.status_code == status
    assert reply.headers["ETag"] == '"one"'
    assert reply.content == (b"" if status in (204, 304) else b'{"error_code": "SOME", "message": "in words"}')


def test_head_has_the_length_and_no_body(server: LiveServer) -> None:
    reply = server.client.head(f"{MLFLOW}status?code=200")
    assert (reply.headers["Content-Length"], reply.headers["ETag"], reply.content) == ("45", '"one"', b"")


@pytest.mark.parametrize(
    ("to", "leads"),
    [
        ("/x/y?z%3D1", "x/y?z=1"),
        ("OWN/x", "x"),
        ("below", "below"),
        ("\\\\elsewhere.example/x", "\\\\elsewhere.example/x"),
    ],
)
def test_a_redirect_stays_below_the_proxy(server: LiveServer, to: str, leads: str) -> None:
    reply = server.client.get(f"{MLFLOW}redirect", params={"to": to.replace("%3D", "=")}, follow_redirects=False)
    assert reply.status_code == 302
    assert reply.headers["Location"] == f"{server.base_url}{MLFLOW}{leads}"


@pytest.mark.parametrize("to", ["http://elsewhere.example/", "//elsewhere.example/x", "OWN@elsewhere.example/x"])
def test_a_redirect_elsewhere_is_refused(server: LiveServer, to: str) -> None:
    reply = server.client.get(f"{MLFLOW}redirect", params={"to": to}, follow_redirects=False)
    assert reply.status_code == 503
    check(reply.json(), "Error")
    assert "elsewhere, which is not followed" in reply.json()["message"]


@pytest.mark.parametrize(
    "path",
    ["%2e%2e/x", "a/%2E%2e%2fb", "a%5c..%5cb", "%252e%252e/x", "ajax-api/3.0/mlflow/assistant/message", "x%00"],
)
def test_ways_out_are_closed(server: LiveServer, upstream: TalkativeServer, path: str) -> None:
    before = len(upstream.asked)
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        line = f"GET {server.base_url}{MLFLOW}{path} HTTP/1.1\r\n"
        raw.sendall(f"{line}Host: localhost\r\nAuthorization: token {TOKEN}\r\nConnection: close\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert len(upstream.asked) == before


WRITE, SEARCH = "api/2.0/mlflow/runs/create", "ajax-api/2.0/mlflow/runs/search"


@pytest.mark.parametrize(
    ("method", "path", "headers", "allowed"),
    [
        ("POST", WRITE, {"Origin": "OWN"}, True),
        ("POST", WRITE, {"Origin": "https://OWNHOST"}, True),  # TLS ends in front of us
        ("POST", WRITE, {"Origin": "OWN", "Sec-Fetch-Site": "same-origin"}, True),
        ("POST", WRITE, {"Sec-Fetch-Site": "same-origin"}, True),
        ("POST", WRITE, {}, False),
        ("POST", WRITE, {"Origin": "null"}, False),
        ("POST", WRITE, {"Origin": "http://evil.example"}, False),
        ("POST", WRITE, {"Origin": "OWN", "Sec-Fetch-Site": "cross-site"}, False),
        ("POST", WRITE, {"Origin": "OWN", "Sec-Fetch-Site": "same-site"}, False),
        ("POST", SEARCH, {"Origin": "http://evil.example"}, False),
        ("PUT", "x", {"Origin": "http://OWNHOST.evil.example"}, False),
        ("DELETE", "x", {"Origin": ""}, False),
        ("PATCH", "x", {"Sec-Fetch-Site": "none"}, False),
        ("GET", "get-artifact", {"Sec-Fetch-Site": "same-origin"}, True),
        ("GET", "get-artifact", {}, True),
        ("GET", "get-artifact", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, False),
        ("GET", "", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, True),
    ],
)
def test_only_jupyters_own_pages_may_change_something(
    server: LiveServer, upstream: TalkativeServer, method: str, path: str, headers: dict[str, str], allowed: bool
) -> None:
    own = f"127.0.0.1:{server.port}"
    said = {name: value.replace("OWNHOST", own).replace("OWN", f"http://{own}") for name, value in headers.items()}
    before = len(upstream.asked)
    with logged_in(server) as browser:
        reply = browser.request(method, MLFLOW + path, headers=said)
    assert reply.status_code == (200 if allowed else 403)
    assert (len(upstream.asked) > before) is allowed
    if not allowed:
        check(reply.json(), "Error")


def test_a_token_needs_no_origin(server: LiveServer) -> None:
    assert server.client.post(MLFLOW + WRITE, content=b"{}").status_code == 200
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.post(f"{MLFLOW}{WRITE}?token={TOKEN}", content=b"{}").status_code == 200
        assert client.post(f"{MLFLOW}{WRITE}?token=wrong", content=b"{}").status_code == 403


def test_a_foreign_page_does_not_use_a_token(server: LiveServer) -> None:
    reply = server.client.post(MLFLOW + WRITE, content=b"{}", headers={"Origin": "http://evil.example"})
    assert reply.status_code == 403


def test_a_stranger_is_refused_and_a_person_sent_to_log_in(server: LiveServer, upstream: TalkativeServer) -> None:
    before = len(upstream.asked)
    with httpx.Client(base_url=server.url, trust_env=False, follow_redirects=False) as stranger:
        for path in (MLFLOW, MLFLOW + "get-artifact", MLFLOW.rstrip("/")):
            assert stranger.get(path).status_code == 403
            page = stranger.get(path, headers=NAVIGATION)
            assert page.status_code == 302
            assert page.headers["Location"].startswith(f"{server.base_url}login?next=")
        # Nothing of a stranger's body is taken: the connection ends before it is sent.
        assert stranger.put(MLFLOW + "x", content=b"1" * 100).status_code == 403
    assert len(upstream.asked) == before


def test_an_address_without_its_slash_gets_it(server: LiveServer) -> None:
    reply = server.client.get(f"{MLFLOW.rstrip('/')}?workspace=a", follow_redirects=False)
    assert reply.status_code == 301
    assert httpx.URL(reply.url).join(reply.headers["Location"]).raw_path.endswith(b"/mlflow/?workspace=a")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_slow_tracking_server_slows_the_sender_down(
    server: LiveServer, upstream: TalkativeServer, chunked: bool
) -> None:
    upstream.may_read.clear()
    sent_mib, total_mib = 0, 192

    def pieces() -> Iterator[bytes]:
        nonlocal sent_mib
        for _ in range(total_mib):
            yield PIECE
            sent_mib += 1

    replies: list[httpx.Response] = []

    def upload() -> None:
        length = {} if chunked else {"Content-Length": str(total_mib << 20)}
        replies.append(server.client.put(MLFLOW + "waits", content=pieces(), headers=length))

    thread = threading.Thread(target=upload)
    thread.start()
    before = -1
    while before != sent_mib or sent_mib == 0:
        before = sent_mib
        time.sleep(0.5)
    assert sent_mib < 32, "what is not taken is not held here"
    upstream.may_read.set()
    thread.join()
    assert replies[0].json()["size"] == total_mib << 20
    assert replies[0].json()["sha256"] == hashlib.sha256(bytes(total_mib << 20)).hexdigest()


def test_a_slow_reader_slows_the_tracking_server_down(server: LiveServer, upstream: TalkativeServer) -> None:
    total_mib = 192
    with server.client.stream("GET", f"{MLFLOW}large?mib={total_mib}") as reply:
        assert reply.headers["Content-Length"] == str(total_mib << 20)
        pieces = reply.iter_raw()
        came = len(next(pieces))
        before = -1
        while before != upstream.sent_mib:
            before = upstream.sent_mib
            time.sleep(0.5)
        assert upstream.sent_mib < 32, "what is not read is not held here"
        came += sum(map(len, pieces))
    assert came == total_mib << 20


def test_what_only_reads_is_asked_again_when_the_connection_was_lost(
    server: LiveServer, upstream: TalkativeServer
) -> None:
    assert server.client.get(MLFLOW + "falters").status_code == 200
    assert upstream.asked.count("GET /falters") == 2
    reply = server.client.post(MLFLOW + "falters", content=b"{}")
    assert reply.status_code == 503
    assert reply.json()["message"].endswith("ended the connection without a proper answer.")
    assert upstream.asked.count("POST /falters") == 1


def test_an_answer_that_breaks_off_does_not_look_complete(server: LiveServer) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        server.client.get(MLFLOW + "breaks")
    assert "An answer of MLflow broke off" in server.log


def test_when_the_reader_leaves_so_do_we(server: LiveServer, upstream: TalkativeServer) -> None:
    upstream.was_left.clear()
    with server.client.stream("GET", MLFLOW + "endless") as reply:
        next(reply.iter_raw())
    assert upstream.was_left.wait(20)


def test_an_answer_before_the_end_of_the_body_is_passed_on(server: LiveServer) -> None:
    reply = server.client.put(MLFLOW + "refuses", content=bytes(64 << 20))
    assert (reply.status_code, reply.content) == (413, b"too much")


def test_a_sender_that_leaves_in_the_middle_leaves_nothing_behind(
    server: LiveServer, upstream: TalkativeServer
) -> None:
    upstream.may_read.set()
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            head = f"PUT {server.base_url}{MLFLOW}waits HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {TOKEN}\r\n"
            raw.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + bytes(100_000))
            time.sleep(0.1)
    process = psutil.Process(server.process.pid)

    def open_ones() -> int:
        return sum(
            connection.status == "ESTABLISHED" and bool(connection.raddr) and connection.raddr.port == upstream.port
            for connection in process.net_connections("tcp")
        )

    assert server.client.get(MLFLOW + "echo").status_code == 200
    until_s = time.monotonic() + 20
    while open_ones() > 1 and time.monotonic() < until_s:
        time.sleep(0.1)
    assert open_ones() <= 1


def test_a_persons_doings_are_activity_and_the_news_are_not(server: LiveServer) -> None:
    def last_activity() -> str:
        return str(server.client.get("api/status").json()["last_activity"])

    before = last_activity()
    server.client.get(MLFLOW + "ajax-api/2.0/mlflow/runs/get")
    server.client.post(MLFLOW + SEARCH, content=b"{}")
    server.client.get("jupyter-air/tracking")
    assert last_activity() == before
    server.client.get(MLFLOW, headers=NAVIGATION)
    page = last_activity()
    assert page > before
    server.client.post(MLFLOW + WRITE, content=b"{}")
    assert last_activity() > page


def test_who_may_only_read_sees_and_changes_nothing(tmp_path: Path, upstream: TalkativeServer) -> None:
    only_reads = "--ServerApp.authorizer_class=tracked.OnlyReads"
    with tracked_server(tmp_path, upstream.url, only_reads) as server:
        for path in (SEARCH, "ajax-api/3.0/mlflow/traces/metrics", "api/2.0/mlflow/experiments/search", "graphql"):
            assert server.client.post(MLFLOW + path, content=b"{}").status_code == 200
        assert server.client.get(MLFLOW).status_code == 200
        assert server.client.post("jupyter-air/tracking/start").status_code == 200
        before = len(upstream.asked)
        for path in (WRITE, "x/search", f"{SEARCH}/", "api/2.0/mlflow/runs/search-and-delete", "get-artifact"):
            reply = server.client.post(MLFLOW + path, content=b"{}")
            assert reply.status_code == 403
            assert "not authorized to write" in reply.json()["message"]
        assert server.client.put(MLFLOW + SEARCH, content=b"{}").status_code == 403
        assert len(upstream.asked) == before


def test_a_tracking_server_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with tracked_server(tmp_path, url) as server:
        for reply in (server.client.get(MLFLOW + SEARCH), server.client.put(MLFLOW + "x", content=bytes(32 << 20))):
            assert reply.status_code == 503
            check(reply.json(), "Error")
            assert reply.json()["message"] == f"The tracking server at {url} cannot be reached."
        page = server.client.get(MLFLOW, headers=NAVIGATION)
        assert page.status_code == 503
        assert f"The tracking server at {url} cannot be reached." in page.text
        assert "Try again" in page.text
        assert not server.has_traceback


def test_a_password_in_the_tracking_uri_reaches_the_tracking_server_alone(
    tmp_path: Path, upstream: TalkativeServer
) -> None:
    uri = upstream.url.replace("//", "//ada:s3cret@")
    with live_server(tmp_path, env={"MLFLOW_TRACKING_URI": uri}) as server:
        assert header(server.client.get(MLFLOW + "echo").json(), "authorization") == ["Basic YWRhOnMzY3JldA=="]
        state = server.client.get("jupyter-air/tracking")
        check(state.json(), "Tracking")
        assert state.json()["page"] == {"url": f"{server.base_url}{MLFLOW}", "outside": False}
        page = server.client.get(MLFLOW + "status?code=500", headers=NAVIGATION)
        assert page.status_code == 500
        for told in (state.text, page.text, str(page.headers), server.log):
            assert "s3cret" not in told and "YWRhOnMzY3JldA" not in told


def test_the_pages_of_a_server_elsewhere_are_opened_there(tmp_path: Path) -> None:
    with tracked_server(tmp_path, "http://mlflow.invalid:5000/at") as server:
        page = server.client.get(MLFLOW, headers=NAVIGATION, follow_redirects=False)
        assert (page.status_code, page.headers["Location"]) == (302, "http://mlflow.invalid:5000/at/")
        state = server.client.get("jupyter-air/tracking").json()
        check(state, "Tracking")
        assert state["page"] == {"url": "http://mlflow.invalid:5000/at/", "outside": True}
        assert (
            "http://mlflow.invalid:5000/at cannot be reached" in server.client.get(MLFLOW + "health").json()["message"]
        )


def test_its_pages_come_through_jupyter_where_the_admin_says_so(tmp_path: Path) -> None:
    with tracked_server(tmp_path, "http://mlflow.invalid:5000", "--JupyterAir.proxy_tracking_pages=True") as server:
        page = server.client.get("jupyter-air/tracking").json()["page"]
        assert page == {"url": f"{server.base_url}{MLFLOW}", "outside": False}
        assert server.client.get(MLFLOW, headers=NAVIGATION).status_code == 503


def test_a_start_is_told_of_and_waited_for(tmp_path: Path) -> None:
    at = tmp_path / "m.sock"
    with tracked_server(tmp_path, "http://localhost", socket=at) as server:
        state = server.client.get("jupyter-air/tracking").json()
        check(state, "Tracking")
        assert (state["state"], state["page"]) == ("stopped", None)
        with logged_in(server) as browser:
            assert browser.post("jupyter-air/tracking/start").status_code == 403, "a page of ours sends the XSRF token"
        assert server.client.get("jupyter-air/tracking").json()["state"] == "stopped"
        state = server.client.post("jupyter-air/tracking/start").json()
        check(state, "Tracking")
        assert state["state"] == "starting" and state["elapsed_s"] >= 0
        page = server.client.get(MLFLOW, headers=NAVIGATION)
        assert page.status_code == 200
        assert re.search(r'role="status">MLflow is starting\.</p>', page.text)
        replies: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: replies.append(server.client.get(MLFLOW + "echo")))
        thread.start()
        with talkative_server(at):
            thread.join()
            assert replies[0].json()["path"] == "/echo"
            assert header(replies[0].json(), "host") == ["localhost"]
            assert server.client.get("jupyter-air/tracking").json()["page"] == {
                "url": f"{server.base_url}{MLFLOW}",
                "outside": False,
            }
            assert server.client.get(MLFLOW, headers=NAVIGATION).json()["path"] == "/"
        assert server.client.get(MLFLOW + "echo").json()["message"] == "MLflow cannot be reached."


def test_without_a_server_to_show_every_way_says_so(tmp_path: Path) -> None:
    with tracked_server(tmp_path, "") as server:
        state = server.client.get("jupyter-air/tracking").json()
        check(state, "Tracking")
        assert state["state"] == "none"
        for reply in (server.client.get(MLFLOW + "x"), server.client.post("jupyter-air/tracking/start")):
            assert reply.status_code == 503
            assert reply.json()["message"] == "Runs go to no MLflow server that can be shown here."
        assert "no MLflow server" in server.client.get(MLFLOW, headers=NAVIGATION).text


def test_the_fixtures_of_the_browser_are_what_a_server_may_say() -> None:
    fixtures = sorted(WIRE.glob("tracking-*.json"))
    assert len(fixtures) >= 5
    for path in fixtures:
        check(json.loads(path.read_text()), "Tracking")
