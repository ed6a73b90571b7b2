"""Where targets come from: addresses, file_sd files in JSON and YAML, and Ray."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from jupyter_air.errors import InputError
from jupyter_air.gpu.credentials import Credentials, read_secret
from jupyter_air.gpu.scraping import Scraper
from jupyter_air.gpu.targets import MOST_TARGETS, Targets, parse_target, read_groups
from tests.gpu.exporter_server import ExporterServer, answer, page


def look(targets: Targets) -> list[str]:
    async def whole() -> None:
        await targets.look()
        await targets.rest()

    asyncio.run(whole())
    return [target.url for target in targets.known]


@pytest.mark.parametrize(
    ("url", "canonical", "name"),
    [
        ("http://gpu-a:9400/metrics", "http://gpu-a:9400/metrics", "gpu-a:9400"),
        ("http://GPU-A:9400", "http://gpu-a:9400/metrics", "gpu-a:9400"),
        ("https://gpu-a", "https://gpu-a/metrics", "gpu-a"),
        ("http://[::1]:9400", "http://[::1]:9400/metrics", "[::1]:9400"),
        (
            "http://prom:9090/federate?match[]=up",
            "http://prom:9090/federate?match[]=up",
            "prom:9090/federate?match[]=up",
        ),
    ],
)
def test_addresses(url: str, canonical: str, name: str) -> None:
    assert parse_target(url)[:2] == (canonical, name)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gpu-a:9400",
        "ftp://gpu-a/",
        "http://",
        "http://gpu-a:port/",
        "file:///etc/passwd",
        "http://a b/",
        "http://é/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match=r"A target is an address such as 'http://gpu-a:9400/metrics'; got "):
        parse_target(url)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError) as raised:
        parse_target("http://ada:s3cr3t@gpu-a:9400/metrics")
    assert "s3cr3t" not in raised.value.message and "basic_auth_files" in raised.value.hint


GROUPS = [
    {"targets": ["gpu-a:9400", "gpu-b:9400"]},
    {"targets": ["gpu-c:9443"], "labels": {"__scheme__": "https", "__metrics_path__": "/gpus", "job": "x"}},
]
URLS = ["http://gpu-a:9400/metrics", "http://gpu-b:9400/metrics", "https://gpu-c:9443/gpus"]


def test_a_file_in_json_and_in_yaml() -> None:
    assert [target.url for target in read_groups(json.dumps(GROUPS))] == URLS
    text = "- targets: ['gpu-a:9400', gpu-b:9400]\n- targets: [gpu-c:9443]\n"
    text += "  labels: {__scheme__: https, __metrics_path__: /gpus}\n"
    assert [target.url for target in read_groups(text)] == URLS
    assert read_groups("") == [] and read_groups("[]") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "It is neither JSON nor YAML."),
        ("!!python/object/apply:os.system ['true']", "It is neither JSON nor YAML."),
        ("[" * 100_000, "It is neither JSON nor YAML."),
        ("a: b", "It is no list of target groups."),
        ("[1]", "A target group has no list of targets."),
        ('[{"targets": "gpu-a:9400"}]', "A target group has no list of targets."),
        ('[{"targets": [], "labels": []}]', None),
        ('[{"targets": [], "labels": [1]}]', "A target group has no list of targets."),
        ('[{"targets": [7]}]', "A target of a file is 'host:port'; got '7'."),
        ('[{"targets": ["http://gpu-a:9400/metrics"]}]', "A target of a file is 'host:port'; got "),
        ('[{"targets": ["gpu a"]}]', "A target is an address such as "),
    ],
)
def test_what_is_no_targets_file(text: str, message: str | None) -> None:
    if message is None:
        assert read_groups(text) == []
        return
    with pytest.raises(InputError) as raised:
        read_groups(text)
    assert raised.value.message.startswith(message)


def test_targets_are_bounded() -> None:
    many = json.dumps([{"targets": [f"gpu-{n}:9400" for n in range(MOST_TARGETS + 1)]}])
    with pytest.raises(InputError, match="more than 4,096 targets"):
        read_groups(many)


def test_lists_and_files_together_name_each_target_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(GROUPS))
    (tmp_path / "b.yml").write_text("- targets: [gpu-d:9400]\n")
    (tmp_path / "notes.txt").write_text("not a targets file")
    targets = Targets(["http://gpu-b:9400"], [str(tmp_path / "*.json"), str(tmp_path / "b.y*ml")])
    assert look(targets) == [URLS[1], URLS[0], URLS[2], "http://gpu-d:9400/metrics"]
    assert targets.troubles == []
    assert look(Targets([], [str(tmp_path / "*.none")])) == [], "a pattern may match nothing yet"


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "targets.json"
    file.write_text(json.dumps(GROUPS))
    targets = Targets([], [str(file)])
    assert look(targets) == URLS
    state = file.stat()
    file.write_text(json.dumps(GROUPS).replace("gpu-a", "gpu-z"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert look(targets) == URLS, "same time and size: not read"
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert look(targets)[0] == "http://gpu-z:9400/metrics"
    file.unlink()
    assert look(targets)[0] == "http://gpu-z:9400/metrics", "what it named before stays"
    assert targets.troubles[0].reason.endswith("It cannot be read: No such file or directory.")


def test_a_running_ray_by_its_dashboard() -> None:
    with ExporterServer(answer(page("ray"))) as gpu, ExporterServer(answer(b"ray_dashboard_up 1\n")) as other:
        groups = [{"labels": {"job": "ray"}, "targets": [gpu.name, other.name]}]
        with ExporterServer(answer(json.dumps(groups).encode())) as dashboard:
            address = f"http://{dashboard.name}"

            async def scene() -> None:
                scraper = Scraper(Targets(ray_address=address), Credentials(), interval_s=1)
                nodes = await scraper.sample(0)
                assert list(nodes) == [gpu.url], "Ray's own servers are no nodes"
                assert nodes[gpu.url].gpus[0].utilization_percent == 91.0
                dashboard.behaviour = answer(b"", "500 Oops")
                scraper.hurry()
                nodes = await scraper.sample(0)
                assert list(nodes) == [gpu.url, f"targets:Ray at {address}"]
                assert nodes[f"targets:Ray at {address}"].reason == "Ray's nodes: It answers with an error (HTTP 500)."
                await scraper.rest()

            asyncio.run(scene())
            assert dashboard.requests[0].startswith(b"GET /api/prometheus/sd HTTP/1.1\r\n")


def test_a_ray_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    targets = Targets(ray_address="auto")
    assert look(targets) == []
    assert targets.troubles[0].name == str(tmp_path / "ray/prom_metrics_service_discovery.json")
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray/prom_metrics_service_discovery.json").write_text('[{"targets": ["192.0.2.2:28080"]}]')
    assert look(targets) == ["http://192.0.2.2:28080/metrics"]
    assert targets.known[0].is_offer


def test_rays_address() -> None:
    with pytest.raises(InputError, match=r"JupyterAir.ray_address is 'auto' or an address"):
        Targets(ray_address="head:8265")


def test_secrets(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    for content, mode, message in (
        (b"ok\n", 0o600, None),
        (b"ok\n", 0o400, None),
        (b"ok\n", 0o640, "open to others"),
        (b"\n", 0o600, "one line"),
        (b"two\nlines\n", 0o600, "one line"),
        ("pässword".encode(), 0o600, "one line"),
        (b"x" * 20_000, 0o600, "one line"),
    ):
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        if message is None:
            assert read_secret(path) == "ok"
        else:
            with pytest.raises(InputError, match=message):
                read_secret(path)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_secret(tmp_path)


def test_a_pattern_reaches_hosts_and_no_other_scheme(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("t")
    path.chmod(0o600)
    credentials = Credentials({"https://gpu-*:9411": str(path)})
    assert credentials.authorization("https://gpu-a:9411/metrics") == "Bearer t"
    assert credentials.authorization("http://gpu-a:9411/metrics") is None
    assert credentials.authorization("https://other:9411/gpu-a:9411") is None
