"""A real Prometheus server as the source: nodes, ages, the past, and what happens when a part of it goes away."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from jupyter_air.errors import InputError
from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.history import History
from jupyter_air.gpu.prometheus_answers import parse_selector, query
from jupyter_air.gpu.prometheus_server import PrometheusServer, base_url
from jupyter_air.gpu.samples import NodeSample
from tests.gpu.exporter_server import ExporterServer, answer, hang, page
from tests.gpu.prometheus_process import needs_prometheus, prometheus
from tests.live_server import free_port

INTERVAL_S = 1.0


def run(url: str, scene: Callable[[PrometheusServer], Awaitable[None]], selector: str = "", **options: object) -> None:
    async def whole() -> None:
        source = PrometheusServer(url, selector, Credentials(), interval_s=INTERVAL_S, **options)  # type: ignore[arg-type]
        try:
            await asyncio.wait_for(scene(source), 90)
        finally:
            await source.rest()

    asyncio.run(whole())


async def until(source: PrometheusServer, holds: Callable[[dict[str, NodeSample]], bool]) -> dict[str, NodeSample]:
    for _ in range(200):
        source.hurry()
        nodes = await source.sample(time.time())
        if holds(nodes):
            return nodes
        await asyncio.sleep(0.2)
    raise AssertionError(nodes)


@needs_prometheus
def test_every_node_that_a_prometheus_scrapes_and_its_past(tmp_path: Path) -> None:
    with ExporterServer(answer(page("dcgm"))) as dcgm, ExporterServer(answer(page("nvidia-gpu-exporter"))) as smi:
        with prometheus(tmp_path, [dcgm.name, smi.name]) as server:

            async def scene(source: PrometheusServer) -> None:
                one, two = f"{server.url}#{dcgm.name}", f"{server.url}#{smi.name}"
                nodes = await until(source, lambda nodes: {one, two} <= set(nodes))
                assert (nodes[one].name, nodes[two].name) == ("gpu-a", smi.name)
                assert (nodes[one].state, nodes[two].source) == ("live", "nvidia_gpu_exporter")
                assert [gpu.utilization_percent for gpu in nodes[one].gpus] == [87.0, None]
                assert nodes[one].gpus[0].memory_total_bytes == (61000 + 20000 + 559) * 2**20
                assert [gpu.index for gpu in nodes[two].gpus] == ["0", "0:3", "1"]
                assert 0 <= time.time() - (nodes[one].time_s or 0) < 3, "the age is that of Prometheus' own scrape"
                await asyncio.sleep(4)
                await past_of(source, one)
                dcgm.behaviour = answer(b"", "500 Oops")
                nodes = await until(source, lambda nodes: nodes[one].state == "stale")
                assert nodes[one].reason == "The Prometheus server has no newer reading of this node."
                assert {gpu.utilization_percent for gpu in nodes[one].gpus} == {None}
                assert nodes[two].state == "live"

            run(server.url, scene)

        async def without(source: PrometheusServer) -> None:
            (row,) = (await source.sample(time.time())).values()
            port = server.url.rpartition(":")[2]
            assert row.reason == f"Connection refused by the Prometheus server on port {port}."

        run(server.url, without)


async def past_of(source: PrometheusServer, ident: str) -> None:
    newest = int(time.time() // INTERVAL_S) * INTERVAL_S - INTERVAL_S
    times = [newest - back for back in reversed(range(59))]
    rows = list(await source.past(times))
    assert len(rows) == 59
    told = [row[ident].gpus[0].utilization_percent if ident in row else None for row in rows]
    assert told[-3:] == [87.0, 87.0, 87.0]
    assert told[0] is None, "from before Prometheus ran there is nothing"
    history = History(60, INTERVAL_S)
    for time_s, row in zip(times, rows, strict=True):
        history.append(time_s, row)
    assert history.gpu_step_bytes(ident, rows[-1][ident].gpus[0].uuid) == 2**21


@needs_prometheus
def test_a_selector_narrows_down(tmp_path: Path) -> None:
    with (
        ExporterServer(answer(page("dcgm"))) as dcgm,
        ExporterServer(answer(page("amd"))) as amd,
        prometheus(tmp_path, [dcgm.name, amd.name]) as server,
    ):

        async def scene(source: PrometheusServer) -> None:
            nodes = await until(source, lambda nodes: f"{server.url}#{amd.name}" in nodes)
            assert list(nodes) == [f"{server.url}#{amd.name}"]
            assert nodes[f"{server.url}#{amd.name}"].name == amd.name, "the name belongs to another source"

        run(server.url, scene, f'{{instance="{amd.name}", job=~"gp.s"}}', taken=["tw038"])

        async def nothing(source: PrometheusServer) -> None:
            assert list(await source.past([time.time()])) == []
            (row,) = (await source.sample(time.time())).values()
            assert (row.reason, row.state) == (
                "The Prometheus server has no GPU metrics that Jupyter AIR knows.",
                "error",
            )

        run(server.url, nothing, 'job="none"')


def test_a_server_that_hangs_holds_up_no_tick() -> None:
    with ExporterServer(hang) as server:

        async def scene(source: PrometheusServer) -> None:
            began_s = time.monotonic()
            await source.sample(time.time())
            await source.sample(time.time())
            assert time.monotonic() - began_s < 30, "the server never answers"
            assert list(await source.past([1.0])) == []

        run(f"http://{server.name}/", scene)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "The answer is not that of a Prometheus server."),
        (b'{"status": "success", "data": {"result": [1]}}', "The answer is not that of a Prometheus server."),
        (b'{"status": "error", "error": "no"}', "The Prometheus server could not answer the query."),
    ],
)
def test_what_is_no_prometheus_is_a_row_with_its_reason(body: bytes, reason: str) -> None:
    with ExporterServer(answer(body)) as server:

        async def scene(source: PrometheusServer) -> None:
            (row,) = (await source.sample(time.time())).values()
            assert (row.state, row.reason) == ("error", reason)

        run(f"http://{server.name}", scene)


def test_known_nodes_stay_while_the_server_fails() -> None:
    now_s = time.time()

    def result(metric: str, labels: dict[str, str], *values: tuple[float, str]) -> object:
        return {"metric": {"__name__": metric, "instance": "i:1", "job": "j", **labels}, "values": list(values)}

    util = "DCGM_FI_DEV_GPU_UTIL"
    results = [
        result(util, {"UUID": "GPU-A", "gpu": "0"}, (now_s - 62, "1"), (now_s - 2, "7")),
        result(util, {"UUID": "GPU-B", "gpu": "1"}, (now_s - 62, "5")),
    ]
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": results}}).encode()
    with ExporterServer(answer(body)) as server:

        async def scene(source: PrometheusServer) -> None:
            (node,) = (await source.sample(time.time())).values()
            assert [(gpu.uuid, gpu.utilization_percent) for gpu in node.gpus] == [("a", 7.0)], (
                "B left with the last scrape"
            )
            assert abs((node.time_s or 0) - (now_s - 2)) < 0.01
            assert node.stale_after_s == 2.5 * 60, "it is scraped once a minute, and we ask each second"
            server.behaviour = answer(b"", "503 Busy")
            states = []
            for _ in range(3):
                source.hurry()
                node, row = (await source.sample(time.time())).values()
                states.append(node.state)
                assert (node.gpus[0].utilization_percent, node.time_s) == (None, None)
                assert row.reason == "It answers with an error (HTTP 503)."
            assert states == ["live", "live", "stale"]

        run(f"http://{server.name}", scene)


def test_addresses_and_selectors() -> None:
    assert base_url("http://prom:9090/") == "http://prom:9090"
    assert base_url("https://mimir/prometheus") == "https://mimir/prometheus"
    with pytest.raises(InputError, match=r"JupyterAir\.prometheus_url is an address such as 'http://prom:9090'"):
        base_url("prom")
    assert parse_selector(' {job="dcgm", cluster!~"a|b"} ') == 'job="dcgm", cluster!~"a|b"'
    assert parse_selector("") == "" and query("").endswith('"}')
    for bad in ("job=dcgm", 'job="a"} or {x="y"', "up", 'job="a'):
        with pytest.raises(InputError, match=r"JupyterAir\.prometheus_selector is label matchers"):
            parse_selector(bad)


def test_nobody_listens() -> None:
    port = free_port()

    async def scene(source: PrometheusServer) -> None:
        assert list(await source.past([time.time()])) == []
        (row,) = (await source.sample(time.time())).values()
        assert row.reason == f"Connection refused by the Prometheus server on port {port}."

    run(f"http://127.0.0.1:{port}", scene)
