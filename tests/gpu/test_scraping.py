"""Targets that behave and targets that do not: each is a row with its reason, and none hurts another."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from jupyter_air.gpu.credentials import Credentials
from jupyter_air.gpu.fetch import Budget, Endpoint, FetchError
from jupyter_air.gpu.fleet import Fleet
from jupyter_air.gpu.samples import NodeSample
from jupyter_air.gpu.scraping import Scraper
from jupyter_air.gpu.targets import Targets
from tests.gpu.exporter_server import (
    ExporterServer,
    answer,
    bomb,
    cut_off,
    hang,
    nonsense,
    page,
    slam,
    trickle,
    zeros,
    zipped,
)
from tests.live_server import free_port

#: Less leaves an answer no time on a machine that does much else; more than a Refresh waits is not said at once.
INTERVAL_S = 2.0
TOO_LATE = f"No answer within {0.45 * INTERVAL_S:g} s."
MIB = 2**20


class Ticks:
    """A scraper that is asked at every interval, as the monitor does."""

    def __init__(self, scraper: Scraper) -> None:
        self.scraper = scraper

    async def now(self) -> dict[str, NodeSample]:
        """A Refresh: every target at once."""
        self.scraper.hurry()
        return await self.scraper.sample(time.time())

    async def next(self) -> dict[str, NodeSample]:
        """The tick after the next."""
        await self.scraper.sample(time.time())
        await asyncio.sleep(INTERVAL_S)
        return await self.scraper.sample(time.time())


def run(targets: Targets, scene: Callable[[Ticks], Awaitable[None]], **options: object) -> None:
    credentials = options.pop("credentials", None)
    assert credentials is None or isinstance(credentials, Credentials)

    async def whole() -> None:
        scraper = Scraper(targets, credentials or Credentials(), interval_s=INTERVAL_S, **options)  # type: ignore[arg-type]
        try:
            await asyncio.wait_for(scene(Ticks(scraper)), 60)
        finally:
            await scraper.rest()

    asyncio.run(whole())


@contextmanager
def servers(*behaviours: object) -> Iterator[list[ExporterServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ExporterServer(behaviour)) for behaviour in behaviours]  # type: ignore[arg-type]


def utilization(sample: NodeSample) -> list[float | None]:
    return [gpu.utilization_percent for gpu in sample.gpus]


def test_targets_side_by_side_keep_one_connection_each() -> None:
    with servers(answer(page("dcgm")), zipped(page("amd"))) as (dcgm, amd):

        async def scene(ticks: Ticks) -> None:
            nodes = await ticks.now()
            assert list(nodes) == [dcgm.url, amd.url]
            assert [node.name for node in nodes.values()] == ["gpu-a", "tw038"]
            assert utilization(nodes[dcgm.url]) == [87.0, None]
            assert abs((nodes[dcgm.url].time_s or 0) - time.time()) < 5
            for _ in range(3):
                assert (await ticks.next())[amd.url].gpus[0].utilization_percent == 73.0
            assert (dcgm.connections, amd.connections) == (1, 1)
            assert b"gzip" in dcgm.requests[0]
            await ticks.scraper.rest()
            await asyncio.sleep(0.1)
            assert (dcgm.open_connections, amd.open_connections) == (0, 0), "while paused nothing is held"
            assert utilization((await ticks.now())[dcgm.url]) == [87.0, None]

        run(Targets([dcgm.url, amd.url]), scene)


def test_one_scrape_an_interval_each_at_its_own_moment() -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(ExporterServer(answer(page("dcgm")))) for _ in range(12)]
        times: list[float] = []

        async def note(request: bytes, writer: asyncio.StreamWriter) -> None:
            times.append(time.monotonic())
            await answer(page("dcgm"))(request, writer)

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            for server in many:
                server.behaviour = note
            spread_s = 0.0
            # A machine that stalls asks all of them as it wakes: one interval of several without a stall will do.
            for _ in range(5):
                times.clear()
                await ticks.scraper.sample(time.time())
                assert times == [], "a tick waits for nobody"
                while len(times) < len(many):  # noqa: ASYNC110 - the servers have a thread of their own
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.2)
                assert len(times) == len(many), "each is asked once"
                spread_s = max(spread_s, max(times) - min(times))
            assert spread_s > 0.2 * INTERVAL_S, "spread over the first half"

        run(Targets([server.url for server in many]), scene)


FAULTS = [
    (hang, TOO_LATE),
    (trickle, TOO_LATE),
    (cut_off, "The connection was closed in the middle of the answer."),
    (slam, "The connection was closed without an answer."),
    (nonsense, "The answer is no valid HTTP."),
    (bomb(200 * MIB), "The answer is larger than 16 MiB."),
    (answer(b"plain", "200 OK", "Content-Encoding: gzip"), "The answer is said to be gzip and is not."),
    (answer(b"x", "200 OK", "Content-Encoding: br"), "The answer is compressed in a way that was not asked for."),
    (answer(b"<html>hello</html>\n"), "The page has no GPU metrics that Jupyter AIR knows."),
    (answer(page("dcgm")[:-5]), "The exporter's page ends in the middle of a line."),
    (
        answer(b"", "302 Found", "Location: http://127.0.0.1:1/metrics"),
        "It redirects elsewhere (HTTP 302), which is not",
    ),
    (answer(b"", "401 Unauthorized"), "Access is refused (HTTP 401)."),
    (answer(b"", "404 Not Found"), "There is no page at /metrics (HTTP 404)."),
    (answer(b"", "503 Service Unavailable"), "It answers with an error (HTTP 503)."),
]


@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=[reason for _, reason in FAULTS])
def test_a_target_that_misbehaves_is_one_row_with_its_reason(fault: object, reason: str) -> None:
    with servers(fault, answer(page("amd"))) as (bad, good):

        async def scene(ticks: Ticks) -> None:
            began_s = time.monotonic()
            nodes = await ticks.now()
            assert time.monotonic() - began_s < 30, "some never end"
            assert (nodes[bad.url].state, nodes[bad.url].name, nodes[bad.url].gpus) == ("error", bad.name, [])
            assert (nodes[bad.url].reason or "").startswith(reason)
            assert nodes[good.url].state == "live" and utilization(nodes[good.url])[0] == 73.0
            bad.behaviour = answer(page("dcgm"))
            assert utilization((await ticks.now())[bad.url])[0] == 87.0, "it recovers"

        run(Targets([bad.url, good.url]), scene)


def test_a_gigabyte_is_given_up_within_bounds() -> None:
    with servers(zeros) as (bad,):

        async def scene(ticks: Ticks) -> None:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            node = (await ticks.now())[bad.url]
            assert node.reason in ("The answer is larger than 16 MiB.", TOO_LATE)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024

        run(Targets([bad.url]), scene)


def test_sizes_are_bounded_for_one_answer_and_for_all_together() -> None:
    with servers(answer(bytes(300_000))) as (server,):

        async def get(most_bytes: int, budget: Budget) -> int:
            endpoint = Endpoint(server.url, Credentials(), budget)
            try:
                return len((await endpoint.get(10, most_bytes)).raw)
            finally:
                await endpoint.close()

        budget = Budget(1_000_000)
        assert asyncio.run(get(300_000, budget)) == 300_000
        with pytest.raises(FetchError, match=r"The answer is larger than 0\.25 MiB\."):
            asyncio.run(get(2**18, budget))
        assert budget.used_bytes == 0, "what was read is given back"
        with pytest.raises(FetchError, match=r"Too many large answers came at once"):
            asyncio.run(get(300_000, Budget(100_000)))


def test_nobody_listens_and_no_such_host() -> None:
    port = free_port()

    async def scene(ticks: Ticks) -> None:
        refused, unknown = (await ticks.now()).values()
        assert refused.reason == f"Connection refused by the exporter on port {port}."
        assert refused.name == f"127.0.0.1:{port}"
        assert unknown.reason == "The host name no-such-host.invalid is not known."

    run(Targets([f"http://127.0.0.1:{port}", "http://no-such-host.invalid:9400"]), scene)


def test_a_target_that_goes_away_leaves_a_gap_then_is_stale_and_comes_back() -> None:
    with servers(answer(page("dcgm"))) as (server,):
        fleet = Fleet(keep_s=7200, stale_s=3 * INTERVAL_S)

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            server.behaviour = answer(b"", "500 Oops")
            states = []
            for _ in range(4):
                node = fleet.update(time.time(), await ticks.now())[server.url]
                states.append(node.state)
                assert utilization(node) == [None, None], "a gap, never the old figure again"
                assert [gpu.state for gpu in node.gpus] == ["ok", "ok"], "the GPUs stay listed"
                assert node.time_s is None and node.reason == "It answers with an error (HTTP 500)."
            assert states == ["live", "live", "stale", "stale"]
            server.behaviour = answer(page("dcgm"))
            node = (await ticks.now())[server.url]
            assert (node.state, node.reason, utilization(node)) == ("live", None, [87.0, None])

        run(Targets([server.url]), scene)


def test_readings_are_given_once_while_a_target_hangs() -> None:
    with servers(answer(page("dcgm"))) as (server,):

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            server.behaviour = hang
            assert utilization((await ticks.next())[server.url]) == [None, None]

        run(Targets([server.url]), scene)


def test_labels_that_change_between_scrapes() -> None:
    with servers(answer(page("dcgm"))) as (server,):
        fleet = Fleet(keep_s=7200, stale_s=3 * INTERVAL_S)

        async def scene(ticks: Ticks) -> None:
            fleet.update(time.time(), await ticks.now())
            renamed = page("dcgm").replace(b'pod="fit-0"', b'pod="other"').replace(b"gpu-a", b"gpu-renamed")
            server.behaviour = answer(renamed.replace(b"GPU-1111", b"GPU-2222"))
            node = fleet.update(time.time(), await ticks.now())[server.url]
            assert node.name == "gpu-renamed"
            assert [(gpu.uuid[:4], gpu.state) for gpu in node.gpus] == [
                ("5fd4", "ok"),
                ("2222", "ok"),
                ("1111", "missing"),
            ]

        run(Targets([server.url]), scene)


def test_a_target_that_names_its_gpus_anew_is_given_up() -> None:
    with servers(answer(b"")) as (server,):

        async def scene(ticks: Ticks) -> None:
            for scrape in range(4):
                lines = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="{n}",UUID="GPU-{scrape}-{n}"}} 1\n' for n in range(100)]
                server.behaviour = answer("".join(lines).encode())
                node = (await ticks.now())[server.url]
            assert node.reason == "It names its GPUs or nodes anew at every scrape."

        run(Targets([server.url]), scene)


@pytest.mark.parametrize(("ahead_s", "old"), [(3600, False), (-3600, True)])
def test_a_clock_that_jumps(ahead_s: float, old: bool) -> None:
    with servers(answer(page("dcgm"))) as (server,):

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            jumped = f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-A"}} 5 {(time.time() + ahead_s) * 1000:.0f}\n'
            server.behaviour = answer(jumped.encode())
            node = (await ticks.now())[server.url]
            assert utilization(node) == ([None] if old else [5.0])
            assert node.state == ("stale" if old else "live")
            assert (node.time_s or 0) <= time.time()

        run(Targets([server.url]), scene)


def test_an_agent_whose_driver_hangs_leaves_a_gap_and_says_how_old_its_readings_are() -> None:
    with servers(answer(page("air-agent").replace(b"seconds 42.0", b"seconds 2.0"))) as (server,):

        async def scene(ticks: Ticks) -> None:
            node = (await ticks.now())[server.url]
            assert (node.state, node.reason) == ("stale", "NVML has not answered for 12 s.")
            assert utilization(node) == [None, None] and node.gpus[1].state == "lost"
            assert 1.5 < time.time() - (node.time_s or 0) < 4

        run(Targets([server.url]), scene)


def test_two_targets_that_claim_one_name_stay_two_nodes() -> None:
    with servers(answer(page("dcgm")), answer(page("dcgm")), answer(page("amd"))) as (one, two, own):

        async def scene(ticks: Ticks) -> None:
            nodes = await ticks.now()
            assert [node.name for node in nodes.values()] == [one.name, two.name, own.name]
            two.behaviour = answer(page("dcgm").replace(b"gpu-a", b"gpu-b"))
            assert [node.name for node in (await ticks.now()).values()] == ["gpu-a", "gpu-b", own.name]

        run(Targets([one.url, two.url, own.url]), scene, taken=["tw038"])


def test_a_federation_is_several_nodes() -> None:
    body = page("dcgm") + page("dcgm").replace(b"gpu-a", b"gpu-b")
    with servers(answer(body)) as (server,):

        async def scene(ticks: Ticks) -> None:
            nodes = await ticks.now()
            assert {ident: node.name for ident, node in nodes.items()} == {
                f"{server.url}#gpu-a": "gpu-a",
                f"{server.url}#gpu-b": "gpu-b",
            }

        run(Targets([server.url]), scene)


def test_nodes_come_and_go_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "targets.json"
    with servers(answer(page("dcgm")), answer(page("amd"))) as (one, two):

        async def scene(ticks: Ticks) -> None:
            (node,) = (await ticks.now()).values()
            assert (node.state, node.name) == ("error", str(file)[:128])
            assert (
                node.reason
                == "The targets file is not used as it is now. It cannot be read: No such file or directory."
            )
            file.write_text(json.dumps([{"targets": [one.name]}]))
            assert list(await ticks.now()) == [one.url]
            file.write_text(json.dumps([{"targets": [two.name, one.name]}]))
            assert list(await ticks.now()) == [two.url, one.url]
            file.write_text("[{")
            nodes = await ticks.now()
            assert list(nodes) == [two.url, one.url, f"targets:{file}"], "what it named before stays"
            file.write_text("[]")
            assert await ticks.now() == {}
            await asyncio.sleep(0.1)
            assert one.open_connections == 0

        run(Targets([], [str(file)]), scene)


def test_secrets_go_to_their_targets_only(tmp_path: Path) -> None:
    token, pair = tmp_path / "token", tmp_path / "pair"
    for path, text in ((token, "s3cr3t\n"), (pair, "ada:pass:word")):
        path.write_text(text)
        path.chmod(0o600)
    with servers(*[answer(page("dcgm"))] * 3) as (bearer, basic, none):
        credentials = Credentials({f"http://{bearer.name}": str(token)}, {f"http://127.0.0.?:{basic.port}": str(pair)})

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            assert b"Authorization: Bearer s3cr3t\r\n" in bearer.requests[-1]
            assert b"Authorization: Basic YWRhOnBhc3M6d29yZA==\r\n" in basic.requests[-1]
            assert b"Authorization" not in none.requests[-1]
            token.write_text("rotated")
            await ticks.now()
            assert b"Bearer rotated" in bearer.requests[-1]
            token.chmod(0o644)
            asked = len(bearer.requests)
            node = (await ticks.now())[bearer.url]
            assert node.reason == f"The secret file {token} is open to others than its owner."
            assert node.hint == f"Run chmod 600 {token}." and len(bearer.requests) == asked

        run(Targets([bearer.url, basic.url, none.url]), scene, credentials=credentials)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with servers(answer(page("dcgm"))) as (server,):

        async def scene(ticks: Ticks) -> None:
            assert utilization((await ticks.now())[server.url])[0] == 87.0

        run(Targets([server.url]), scene)


def test_a_connection_that_the_server_closed_meanwhile_is_no_miss() -> None:
    with servers(answer(page("dcgm"))) as (server,):

        async def closing(request: bytes, writer: asyncio.StreamWriter) -> None:
            if server.connections == 1 and len(server.requests) > 1:
                writer.close()
            else:
                await answer(page("dcgm"))(request, writer)

        server.behaviour = closing

        async def scene(ticks: Ticks) -> None:
            await ticks.now()
            assert utilization((await ticks.now())[server.url])[0] == 87.0
            assert server.connections == 2

        run(Targets([server.url]), scene)


def test_many_that_hang_slow_down_none() -> None:
    with ExitStack() as stack:
        bad = [stack.enter_context(ExporterServer(hang)) for _ in range(40)]
        good = stack.enter_context(ExporterServer(answer(page("amd"))))

        async def scene(ticks: Ticks) -> None:
            nodes = await ticks.now()
            assert nodes[good.url].state == "live"
            assert {nodes[server.url].reason for server in bad} == {TOO_LATE}
            nodes = await ticks.next()
            assert nodes[good.url].state == "live"

        run(Targets([*(server.url for server in bad), good.url]), scene)


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """A network namespace with one veth pair: its name, the device inside and the address inside."""
    if os.geteuid() != 0:
        pytest.skip("making a network namespace takes root")
    name, outer, inner = f"air{os.getpid()}", f"airo{os.getpid()}"[:15], f"airi{os.getpid()}"[:15]
    net = f"10.199.{os.getpid() % 250}"

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    try:
        ip("netns", "add", name)
        ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
        ip("addr", "add", f"{net}.1/24", "dev", outer)
        ip("link", "set", outer, "up")
        ip("-n", name, "addr", "add", f"{net}.2/24", "dev", inner)
        ip("-n", name, "link", "set", inner, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        pytest.skip(f"this machine makes no network namespace: {getattr(error, 'stderr', b'') or error!r}")
    try:
        yield name, inner, f"{net}.2"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


def link(namespace: str, device: str, state: str) -> None:
    # The far end: with the near end down its route goes too, and another network might answer.
    subprocess.run(["ip", "-n", namespace, "link", "set", device, state], check=True)


def test_a_network_that_is_cut_off_and_restored(namespace: tuple[str, str, str], tmp_path: Path) -> None:
    name, device, address = namespace
    (tmp_path / "metrics").write_bytes(page("dcgm"))
    command = ["ip", "netns", "exec", name, "python3", "-m", "http.server", "9400", "-d", str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://{address}:9400/metrics"

    async def until(ticks: Ticks, holds: Callable[[NodeSample], bool]) -> NodeSample:
        for _ in range(40):
            node = (await ticks.now())[url]
            if holds(node):
                return node
            await asyncio.sleep(0.25)
        raise AssertionError(node)

    async def scene(ticks: Ticks) -> None:
        await until(ticks, lambda node: utilization(node)[:1] == [87.0])
        link(name, device, "down")
        node = await until(ticks, lambda node: node.state == "stale")
        assert utilization(node) == [None, None]
        assert node.reason in (f"The host {address} cannot be reached.", TOO_LATE)
        link(name, device, "up")
        node = await until(ticks, lambda node: utilization(node)[:1] == [87.0])
        assert (node.state, node.reason) == ("live", None)

    try:
        run(Targets([url]), scene)
    finally:
        server.kill()
        server.wait()
