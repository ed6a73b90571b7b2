"""Scraping a fleet each 10 s: CPU, the event loop, the ring; beside a real Prometheus that scrapes the same targets.

``python -m tests.benchmarks.scraping [SECONDS]`` prints its table; the whole takes three times SECONDS and a bit,
for each of two fleets.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.exporters import read_page
from jupyter_air.gpu.monitor import Monitor
from jupyter_air.gpu.scraping import Scraper
from jupyter_air.gpu.targets import Targets
from tests.benchmarks.table import Row, Section, markdown

_INTERVAL_S = 10.0
_GPUS = 8
_PORT = 19400
_MIB = 2**20
#: A server's default is 1024, which a thousand connections fill; Jupyter Server raises its own to 4096.
_FILES = 4096
#: A page has more than we read: dcgm-exporter's default has some 25 metrics.
_METRICS = (
    *("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_FB_USED"),
    *("DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK"),
    *(f"DCGM_FI_DEV_OTHER_{number}" for number in range(17)),
)


def measured(seconds: float = 60.0) -> list[Section]:
    """Two fleets.

    Args:
        seconds: that each is scraped.
    """
    return [
        _fleet(128, seconds, cpu_aim_percent=5.0),
        _fleet(1000, seconds, cpu_aim_percent=25.0),
        _parsing(),
    ]


def _fleet(targets: int, seconds: float, cpu_aim_percent: float) -> Section:
    with _exporters(targets) as addresses:
        idle = _in_process(_ours, [], seconds)
        ours = _in_process(_ours, addresses, seconds)
        theirs = _prometheus_percent(addresses, seconds)
    cpu = ours["cpu_percent"] - idle["cpu_percent"]
    peer = "Prometheus, the whole server"
    rows = [
        Row(what="CPU of one core", ours=cpu, unit="%", beside="limit", theirs=cpu_aim_percent, most=1),
        Row(what="CPU of one core", ours=cpu, unit="%", beside=peer, theirs=theirs),
        Row(what="CPU of the first scrape, once", ours=ours["start_s"], unit="s", beside="", theirs=None),
        Row(what="event loop late, 99th percentile", ours=ours["p99_ms"], unit="ms", beside="limit", theirs=50, most=1),
        _ms_row("event loop late, 99th percentile", ours["p99_ms"], idle["p99_ms"]),
        _ms_row("the longest turn of the loop, CPU", ours["turn_ms"], idle["turn_ms"]),
        _ms_row("the same, while it starts", ours["start_turn_ms"], idle["start_turn_ms"]),
        Row(what="the ring", ours=ours["ring_mib"], unit="MiB", beside="limit", theirs=80, most=1),
        Row(
            what="memory that the fleet takes",
            ours=ours["rss_mib"] - idle["rss_mib"],
            unit="MiB",
            beside="",
            theirs=None,
        ),
        Row(what="nodes that were live", ours=ours["live"], unit="nodes", beside="targets", theirs=targets),
    ]
    how = (
        f"{targets} targets of {_GPUS} GPUs, a page of {len(_page('gpu-0')) / 1000:.0f} kB each, every "
        f"{_INTERVAL_S:g} s for {seconds:g} s; exporters and Prometheus run on the same cores. CPU is that of the "
        "process with the monitor and the scraper, less that of the same process without targets, and without the "
        "first interval, in which every target is scraped at once."
    )
    return Section(title=f"Scraping {targets} nodes", how=how, rows=rows)


def _ms_row(what: str, ours: float, theirs: float) -> Row:
    return Row(what=what, ours=ours, unit="ms", beside="the loop without targets", theirs=theirs)


def _parsing() -> Section:
    """Our parser beside prometheus-client's, on one page."""
    page = _page("gpu-0")
    from prometheus_client.parser import text_string_to_metric_families as families

    known = {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_FB_USED"}
    known |= {"DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK"}

    def filtered() -> None:
        lines = [line for line in page.decode().split("\n") if line.partition("{")[0] in known]
        list(families("\n".join(lines) + "\n"))

    ours, everything = _ms(lambda: read_page(page, "x")), _ms(lambda: list(families(page.decode())))
    rows = [
        Row(what="a page", ours=ours, unit="ms", beside="prometheus-client, all lines", theirs=everything),
        Row(what="a page", ours=ours, unit="ms", beside="prometheus-client, our lines", theirs=_ms(filtered), most=1),
    ]
    return Section(title="Parsing a page", how=f"A page of {len(page) / 1000:.0f} kB, CPU time.", rows=rows)


def _ms(work: Any, times: int = 20) -> float:
    work()
    began_s = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began_s) / times * 1000


def _page(host: str) -> bytes:
    lines = []
    for metric in _METRICS:
        lines += [f"# HELP {metric} A metric of the benchmark.", f"# TYPE {metric} gauge"]
        for gpu in range(_GPUS):
            labels = (
                f'gpu="{gpu}",UUID="GPU-{host}-{gpu}-AAAA-BBBB-CCCC-DDDDDDDDDDDD",pci_bus_id="00000000:{gpu:02X}:00.0",'
                f'device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="{host}",'
                'DCGM_FI_DRIVER_VERSION="580.105.08",container="trainer",namespace="speech",pod="fit-0"'
            )
            lines.append(f"{metric}{{{labels}}} {40 + gpu}")
    return ("\n".join(lines) + "\n").encode()


@contextmanager
def _exporters(count: int) -> Iterator[list[str]]:
    """So many exporters, each on an address of loopback, in one process."""
    hosts = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(count)]
    ready = multiprocessing.get_context("spawn").Event()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(hosts, ready), daemon=True)
    process.start()
    assert ready.wait(60), "the exporters did not start"
    try:
        yield [f"{host}:{_PORT}" for host in hosts]
    finally:
        process.kill()
        process.join()


def _serve(hosts: list[str], ready: Any) -> None:
    _allow_files()

    async def answer(page: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(page)}\r\n\r\n".encode()
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(head + page)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def serve() -> None:
        for number, host in enumerate(hosts):
            page = _page(f"gpu-{number}")
            await asyncio.start_server(lambda r, w, page=page: answer(page, r, w), host, _PORT)  # type: ignore[misc]
        ready.set()
        await asyncio.Event().wait()

    asyncio.run(serve())


def _in_process(work: Any, addresses: list[str], seconds: float) -> dict[str, float]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures: dict[str, float] = pool.apply(work, (addresses, seconds))
        return figures


def _ours(addresses: list[str], seconds: float) -> dict[str, float]:
    """The monitor with a scraper, and how late its event loop is."""
    _allow_files()
    late_s: list[float] = []
    turn_s: list[float] = []

    async def watch() -> None:
        while True:
            began_s, cpu_s = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.01)
            late_s.append(time.perf_counter() - began_s - 0.01)
            # Unlike lateness this leaves out what other processes of a busy machine take.
            turn_s.append(time.thread_time() - cpu_s)

    async def run() -> dict[str, float]:
        targets = Targets([f"http://{address}/metrics" for address in addresses])
        scraper = Scraper(targets, Credentials(), interval_s=_INTERVAL_S)
        monitor = Monitor([scraper], poll_interval_s=_INTERVAL_S, window_s=7200, pause_after_s=0, is_busy=lambda: False)
        watching = asyncio.create_task(watch())
        start_s = time.process_time()
        monitor.start()
        # Until the first tick is over, which makes the ring.
        await asyncio.sleep(_INTERVAL_S + 1)
        longest_start_s = max(turn_s)
        late_s.clear()
        turn_s.clear()
        cpu_s, began_s = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        cpu_percent = 100 * (time.process_time() - cpu_s) / (time.monotonic() - began_s)
        watching.cancel()
        live = sum(node.state == "live" for node in monitor.fleet.nodes().values())
        figures = {
            "cpu_percent": cpu_percent,
            "start_s": cpu_s - start_s,
            "start_turn_ms": 1000 * longest_start_s,
            "ring_mib": monitor.history.nbytes / _MIB,
            "rss_mib": psutil.Process().memory_info().rss / _MIB,
            "live": float(live),
        }
        await monitor.stop()
        return figures

    figures = asyncio.run(run())
    late_s.sort()
    p99_ms = 1000 * late_s[int(0.99 * len(late_s))]
    return figures | {"p99_ms": p99_ms, "worst_ms": 1000 * late_s[-1], "turn_ms": 1000 * max(turn_s)}


def _prometheus_percent(addresses: list[str], seconds: float) -> float | None:
    if shutil.which("prometheus") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        job = {"job_name": "gpus", "static_configs": [{"targets": addresses}]}
        configuration = {"global": {"scrape_interval": f"{_INTERVAL_S:g}s"}, "scrape_configs": [job]}
        Path(folder, "prometheus.yml").write_text(json.dumps(configuration))
        command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        command += ["--web.listen-address=127.0.0.1:19401", "--log.level=error"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            watched = psutil.Process(process.pid)
            time.sleep(2 * _INTERVAL_S)
            before = watched.cpu_times()
            time.sleep(seconds)
            after = watched.cpu_times()
            return 100 * (after.user + after.system - before.user - before.system) / seconds
        finally:
            process.kill()
            process.wait()


def _allow_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard), hard))


def main() -> None:
    """Prints the tables."""
    print(markdown(measured(float(sys.argv[1]) if sys.argv[1:] else 60.0), "Scraping only."))


if __name__ == "__main__":
    main()
