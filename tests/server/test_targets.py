"""Other nodes in a real server: traits refused in a sentence, targets, files and a Prometheus server in one pane."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fake_nvml import FakeNvml, healthy
from tests.gpu.exporter_server import ExporterServer, answer, page
from tests.gpu.prometheus_process import needs_prometheus, prometheus
from tests.live_server import LiveServer, live_server


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("targets=gpu-a:9400", "JupyterAir.targets: A target is an address such as 'http://gpu-a:9400/metrics'"),
        ("targets=http://ada:pw@gpu-a:9400", "JupyterAir.targets: A target has no user, password or #part"),
        ("ray_address=head", "JupyterAir.ray_address is 'auto' or an address such as 'http://head:8265'; got 'head'."),
        ("prometheus_url=prom", "JupyterAir.prometheus_url is an address such as 'http://prom:9090'; got 'prom'."),
        ("prometheus_selector=dcgm", "JupyterAir.prometheus_selector is label matchers such as 'job=\"dcgm\"'; got "),
        ("bearer_token_files=gpu-a=/t", "JupyterAir.bearer_token_files maps addresses to files, such as "),
    ],
)
def test_a_bad_value_is_refused_in_a_sentence(tmp_path: Path, argument: str, sentence: str) -> None:
    server = LiveServer(tmp_path, f"--JupyterAir.{argument}")
    try:
        assert server.process.wait(30) == 1
        assert sentence in server.log
        assert not server.has_traceback and "pw" not in server.log.replace("pwd", "")
    finally:
        server.stop()


def nodes_within(server: LiveServer, holds: Callable[[dict[str, Any]], bool], limit_s: float = 30) -> dict[str, Any]:
    """The layout's nodes by name, once they are as wanted."""
    end = time.monotonic() + limit_s
    while True:
        answer_ = server.gpu()
        nodes = {node["name"]: node for node in answer_["layout"]["nodes"]}
        if holds(nodes):
            return nodes
        assert time.monotonic() < end, nodes
        time.sleep(0.2)


def test_targets_beside_this_machine(tmp_path: Path) -> None:
    fake = FakeNvml(tmp_path / "nvml")
    fake.write(healthy(1))
    files = tmp_path / "more.json"
    with ExporterServer(answer(page("dcgm"))) as dcgm, ExporterServer(answer(page("amd"))) as amd:
        args = (
            "--JupyterAir.poll_interval_s=1",
            f"--JupyterAir.targets={dcgm.url}",
            "--JupyterAir.targets=http://127.0.0.1:1/metrics",
            f"--JupyterAir.target_files={files}",
        )
        files.write_text("[]")
        with live_server(tmp_path, *args, env=fake.environment) as server:
            nodes = nodes_within(server, lambda nodes: nodes.get("gpu-a", {}).get("state") == "live")
            assert [node["source"] for node in nodes.values()][:2] == ["nvml", "dcgm-exporter"]
            assert nodes["127.0.0.1:1"]["reason"] == "Connection refused by the exporter on port 1."
            assert len(nodes["gpu-a"]["gpus"]) == 2
            files.write_text(json.dumps([{"targets": [amd.name]}]))
            nodes_within(server, lambda nodes: "tw038" in nodes)
            assert server.stop() < 50
        assert not server.has_traceback


@needs_prometheus
def test_a_prometheus_server_brings_the_past(tmp_path: Path) -> None:
    with ExporterServer(answer(page("dcgm"))) as dcgm, prometheus(tmp_path / "prometheus", [dcgm.name]) as site:
        site.value_within('count_over_time(DCGM_FI_DEV_GPU_UTIL{gpu="0"}[30s]) > 8')
        args = ("--JupyterAir.poll_interval_s=1", f"--JupyterAir.prometheus_url={site.url}")
        began_s = time.time()
        with live_server(tmp_path, *args) as server:
            nodes_within(server, lambda nodes: nodes.get("gpu-a", {}).get("state") == "live")
            while len((answer_ := server.gpu())["times_s"]) < 3000:  # the past is made beside the samples
                assert time.time() < began_s + 60
                time.sleep(0.1)
    at = [node["name"] for node in answer_["layout"]["nodes"]].index("gpu-a")
    utilization = answer_["columns"][at]["gpus"][0][0]
    before = [u for t, u in zip(answer_["times_s"], utilization, strict=True) if t < began_s and u is not None]
    assert before.count(87) >= 7
