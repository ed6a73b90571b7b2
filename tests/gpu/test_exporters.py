"""Pages of every exporter become percent, bytes, degrees C and watts; ``pages/`` has one after each real one."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from jupyter_air.gpu.exporters import MOST_ROWS_OF_A_NODE, PageError, read_page
from jupyter_air.gpu.samples import GpuSample, HostSample, NodeSample
from tests.fake_nvml import FakeNvml, healthy, key
from tests.live_server import free_port

MIB = 2**20
GIB = 2**30
NOW_S = 1_800_000_000.0
PAGES = Path(__file__).parent / "pages"
VENVS = Path(__file__).parents[2] / ".venvs"


def node(page: str, name: str = "gpu-x:9400") -> NodeSample:
    (only,) = read_page((PAGES / f"{page}.txt").read_bytes(), name, NOW_S)
    return only


def of(text: str, name: str = "gpu-x:9400") -> NodeSample:
    (only,) = read_page(text.encode(), name, NOW_S)
    return only


def test_dcgm() -> None:
    sample = node("dcgm")
    assert (sample.name, sample.source, sample.state, sample.driver) == ("gpu-a", "dcgm-exporter", "live", "580.105.08")
    assert sample.time_s == NOW_S
    assert sample.gpus[0] == GpuSample(
        uuid="5fd4f087-86f3-7a43-b711-4771313afc50",
        index="0",
        name="NVIDIA H100 80GB HBM3",
        pci_bus_id="00000000:1B:00.0",
        utilization_percent=87.0,
        memory_used_bytes=61000 * MIB,
        memory_total_bytes=(61000 + 20000 + 559) * MIB,
        temperature_c=61.0,
        power_w=512.331,
        sm_clock_mhz=1980.0,
    )
    blank = sample.gpus[1]
    assert (blank.utilization_percent, blank.power_w) == (None, None), "DCGM's blanks of 32 and of 64 bits"
    assert (blank.memory_used_bytes, blank.memory_total_bytes) == (0, 81000 * MIB), "an old configuration: no RESERVED"
    assert len(sample.gpus) == 2, "an NVLink series, with gpu_uuid, is no GPU"


def test_dcgm_mig() -> None:
    sample = node("dcgm-mig")
    assert sample.name == "gpu-x:9400", "every node may call itself localhost"
    whole, three, one = sample.gpus
    assert (whole.uuid, whole.index, whole.temperature_c, whole.power_w) == ("aaaa", "0", 44.0, 120.5)
    assert (whole.utilization_percent, whole.memory_used_bytes) == (None, None)
    assert [(g.uuid, g.index, g.parent_uuid, g.mig_profile) for g in (three, one)] == [
        ("aaaa/2", "0:2", "aaaa", "3g.20gb"),
        ("aaaa/7", "0:7", "aaaa", "1g.5gb"),
    ]
    assert (one.utilization_percent, one.memory_used_bytes, one.memory_total_bytes) == (25.0, 864 * MIB, 4864 * MIB)
    assert (one.temperature_c, one.power_w) == (None, None), "these are the whole GPU's"


def test_nvidia_gpu_exporter() -> None:
    sample = node("nvidia-gpu-exporter", "gpu-x:9835")
    assert (sample.name, sample.source, sample.driver) == ("gpu-x:9835", "nvidia_gpu_exporter", "575.57.08")
    assert [(g.index, g.name) for g in sample.gpus] == [
        ("0", "NVIDIA A30"),
        ("0:3", "NVIDIA A30"),
        ("1", "NVIDIA GeForce RTX 4090"),
    ]
    a30, piece, rtx = sample.gpus
    assert rtx == GpuSample(
        uuid="df6e7a7c-7314-46f8-abc4-b88b36dcf3aa",
        index="1",
        name="NVIDIA GeForce RTX 4090",
        pci_bus_id="00000000:71:00.0",
        utilization_percent=57.0,
        memory_used_bytes=10_200_547_328,
        memory_total_bytes=24 * GIB,
        temperature_c=67.0,
        power_w=301.25,
        power_limit_w=450.0,
    )
    assert (piece.parent_uuid, piece.memory_used_bytes, piece.memory_total_bytes) == (a30.uuid, GIB, 6 * GIB)


def test_nvidia_gpu_exporter_whose_nvidia_smi_fails() -> None:
    page = (PAGES / "nvidia-gpu-exporter.txt").read_text()
    sample = of(page.replace("collect_success 1", "collect_success 0"))
    assert (sample.state, sample.reason) == ("error", "nvidia-smi failed on the node when the exporter last ran it.")
    assert sample.time_s is None
    assert {(g.temperature_c, g.power_w, g.memory_used_bytes) for g in sample.gpus} == {(None, None, None)}


def test_nvitop() -> None:
    sample = node("nvitop")
    assert (sample.name, sample.source) == ("192.0.2.7", "nvitop-exporter")
    assert sample.host == HostSample(
        cpu_percent=53.8, memory_used_bytes=int(1296.5 * MIB), memory_total_bytes=int(24105.5 * MIB)
    )
    first, second, piece = sample.gpus
    assert first == GpuSample(
        uuid=key(0),
        index="0",
        name="NVIDIA H100 80GB HBM3",
        utilization_percent=40.0,
        memory_used_bytes=8 * GIB,
        memory_total_bytes=80 * GIB,
        temperature_c=50.0,
        power_w=200.0,
        sm_clock_mhz=1980.0,
    )
    assert (second.utilization_percent, second.temperature_c) == (None, None), "NaN, and 510 degrees"
    assert (piece.index, piece.parent_uuid, piece.mig_profile) == ("1:0", second.uuid, "1g.10gb")
    assert (piece.uuid, piece.memory_used_bytes) == ("00000001-0000-bbbb-cccc-dddddddddddd", 512 * MIB)


def test_ray_says_bytes_and_means_mib() -> None:
    sample = node("ray")
    assert (sample.name, sample.source) == ("192.0.2.21", "ray")
    first, second = sample.gpus
    assert first == GpuSample(
        uuid="0",
        index="0",
        name="NVIDIA A10G",
        utilization_percent=91.0,
        memory_used_bytes=20000 * MIB,
        memory_total_bytes=22731 * MIB,
        temperature_c=58.0,
        power_w=231.5,
    )
    assert second.utilization_percent is None, "-1 is unknown"
    assert sample.host == HostSample(
        cpu_percent=12.5, memory_used_bytes=2_168_705_024, memory_total_bytes=25_276_502_016
    )


def test_rays_slices_and_a_session_that_changes() -> None:
    sample = node("ray-mig")
    assert [(g.index, g.uuid, g.parent_uuid, g.mig_profile) for g in sample.gpus] == [
        ("0:1", "aaaa-1", "0", "3g.20gb"),
        ("1:2", "bbbb-2", "1", "1g.5gb"),
    ]
    page = (PAGES / "ray-mig.txt").read_text()
    assert of(page.replace('SessionName="s"', 'SessionName="t"')).gpus == sample.gpus


def test_amd() -> None:
    sample = node("amd")
    assert (sample.name, sample.source) == ("tw038", "amd-device-metrics-exporter")
    first, second = sample.gpus
    assert first == GpuSample(
        uuid="692409005408",
        index="0",
        name="AMD Instinct MI300X",
        utilization_percent=73.0,
        memory_used_bytes=160000 * MIB,
        memory_total_bytes=196592 * MIB,
        temperature_c=66.0,
        power_w=611.0,
    )
    assert (second.temperature_c, second.power_w) == (41.0, 0.0), "no junction sensor; the first partition's 0 W stands"


def test_amd_partitions_behind_a_prefix() -> None:
    sample = node("amd-partitions")
    assert [(g.uuid, g.index, g.utilization_percent) for g in sample.gpus] == [
        ("692409005296", "0", 11.0),
        ("692409005296/1", "1", 22.0),
    ]
    assert [(g.temperature_c, g.power_w) for g in sample.gpus] == [(55.0, 402.0), (None, None)]
    assert sample.gpus[1].memory_total_bytes == 24574 * MIB


def test_all_smi() -> None:
    sample = node("all-smi")
    assert (sample.name, sample.source) == ("node-42", "all-smi")
    first, whole, piece = sample.gpus
    assert first == GpuSample(
        uuid="l40",
        index="0",
        name="NVIDIA L40S",
        utilization_percent=25.5,
        memory_used_bytes=8 * GIB,
        memory_total_bytes=45 * GIB,
        temperature_c=65.0,
        power_w=300.5,
    )
    assert (piece.index, piece.uuid, piece.parent_uuid) == ("3:2", "2", whole.uuid)
    assert (piece.mig_profile, piece.utilization_percent, piece.memory_total_bytes) == ("3g.20gb", 64.0, 20 * GIB)
    old = node("all-smi-old")
    assert (old.name, old.gpus[0].uuid, old.gpus[0].memory_used_bytes) == ("node-0058", "12345", 8 * GIB)


def test_all_smi_before_its_first_cycle() -> None:
    sample = of('all_smi_up{instance="n",hostname="n"} 0\nall_smi_build_info{instance="n",version="0.9"} 1\n')
    assert (sample.state, sample.reason, sample.time_s) == ("error", "The exporter has taken no reading yet.", None)


def test_our_own_agent() -> None:
    sample = node("air-agent")
    assert (sample.name, sample.source, sample.driver) == ("gpu-b", "air-agent", "580.65.06")
    assert (sample.state, sample.reason) == ("stale", "NVML has not answered for 12 s.")
    assert sample.time_s == NOW_S - 42
    first, lost = sample.gpus
    assert (first.utilization_percent, first.memory_used_bytes, first.power_w) == (57.0, 8 * GIB, 200.0)
    assert (lost.state, lost.reason) == ("lost", "The GPU was lost: it fell off the bus.")
    assert sample.host == HostSample(cpu_percent=25.0)


def dcgm(value: str, labels: str = 'gpu="0",UUID="GPU-A"', metric: str = "DCGM_FI_DEV_GPU_UTIL") -> str:
    return f"{metric}{{{labels}}} {value}\n"


@pytest.mark.parametrize("value", ["NaN", "-1", "+Inf", "-Inf", "4.7e18", "9223372036854775794", "100.5", "2147483632"])
def test_what_no_gpu_can_mean_is_unknown(value: str) -> None:
    for metric in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE"):
        gpu = of(dcgm(value, metric=metric)).gpus[0]
        told = (gpu.utilization_percent, gpu.temperature_c, gpu.memory_used_bytes, gpu.power_w)
        plausible = value == "100.5" and metric != "DCGM_FI_DEV_GPU_UTIL"
        assert told == (None,) * 4 or plausible, metric


def test_memory_that_contradicts_itself_is_unknown() -> None:
    page = 'nvidia_smi_memory_used_bytes{uuid="a"} 9\nnvidia_smi_memory_total_bytes{uuid="a"} 8\n'
    assert (of(page).gpus[0].memory_used_bytes, of(page).gpus[0].memory_total_bytes) == (None, 8)
    zeros = 'nvidia_smi_memory_used_bytes{uuid="a"} 0\nnvidia_smi_memory_total_bytes{uuid="a"} 0\n'
    assert of(zeros).gpus[0].memory_used_bytes is None, "a GPU without memory of its own"


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ('Hostname="gpu-a"', "gpu-a"),
        ('hostname="gpu-a"', "gpu-a"),
        ('Hostname="localhost"', "gpu-x:9400"),
        ('Hostname="localhost.localdomain"', "gpu-x:9400"),
        ('hostname="127.0.1.1"', "gpu-x:9400"),
        ('hostname="::1"', "gpu-x:9400"),
        ('hostname=""', "gpu-x:9400"),
        ('hostname="' + "n" * 500 + '"', "n" * 128),
    ],
)
def test_the_name_of_a_node(labels: str, name: str) -> None:
    assert of(dcgm("1", f'gpu="0",UUID="GPU-A",{labels}')).name == name


def test_a_page_of_two_nodes() -> None:
    page = dcgm("1", 'gpu="0",UUID="GPU-A",Hostname="a"') + dcgm("2", 'gpu="0",UUID="GPU-A",Hostname="b"')
    nodes = read_page(page.encode(), "federation", NOW_S)
    assert [(n.name, n.gpus[0].utilization_percent) for n in nodes] == [("a", 1.0), ("b", 2.0)]


def test_times_on_the_page_count_when_they_are_older() -> None:
    assert of(dcgm(f"1 {(NOW_S - 60) * 1000:.0f}")).time_s == NOW_S - 60
    assert of(dcgm(f"1 {(NOW_S + 3600) * 1000:.0f}")).time_s == NOW_S, "a clock that is ahead makes nothing fresher"


def test_a_bad_line_hides_no_other() -> None:
    bad = [
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-A"',
        'DCGM_FI_DEV_GPU_UTIL{gpu="0} 5',
        "DCGM_FI_DEV_GPU_UTIL{gpu=0} 5",
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-A"} five',
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-A"} 5 6 7',
        'DCGM_FI_DEV_GPU_UTIL{gpu="0" and UUID="GPU-A"} 5',
        'DCGM_FI_DEV_GPU_UTIL{!gpu="0",UUID="GPU-A"} 5',
        "DCGM_FI_DEV_GPU_UTIL 5",
        "DCGM_FI_DEV_GPU_UTIL{} 5",
        "}{",
        "\x00\xff",
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="' + "x" * 20_000 + '"} 5',
    ]
    sample = of("\n".join(bad) + "\n" + dcgm("7", 'gpu="1",UUID="GPU-B"'))
    assert [(g.uuid, g.utilization_percent) for g in sample.gpus] == [("b", 7.0)]


def test_escapes_and_braces_inside_labels() -> None:
    (gpu,) = of(dcgm("7", r'gpu="0",UUID="GPU-A",modelName="a \"b\" {c}, d\\e\nf",')).gpus
    assert (gpu.name, gpu.utilization_percent) == ('a "b" {c}, d\\e\nf', 7.0)


def test_gpus_and_labels_are_bounded() -> None:
    sample = of("".join(dcgm("1", f'gpu="{n}",UUID="GPU-{n}"') for n in range(5000)))
    assert len(sample.gpus) == MOST_ROWS_OF_A_NODE
    (gpu,) = of(dcgm("1", f'gpu="{"9" * 200}",UUID="GPU-{"a" * 500}",modelName="{"m" * 500}"')).gpus
    assert max(len(text) for text in (gpu.uuid, gpu.index, gpu.name)) == 128
    nodes = read_page("".join(dcgm("1", f'gpu="0",Hostname="n{n}"') for n in range(3000)).encode(), "x", NOW_S)
    assert len(nodes) == 256


def test_hostile_lines_take_linear_time() -> None:
    line = 'DCGM_FI_DEV_GPU_UTIL{a="' + '\\"' * 7000 + "} 1\n"
    began_s = time.process_time()
    read_page((line * 300 + dcgm("1")).encode(), "x", NOW_S)
    assert time.process_time() - began_s < 5, "quadratic time would be minutes"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"", "The page has no GPU metrics that Jupyter AIR knows."),
        (b"<html><body>hello</body></html>\n", "The page has no GPU metrics that Jupyter AIR knows."),
        (b"node_cpu_seconds_total 1\n", "The page has no GPU metrics that Jupyter AIR knows."),
        (b'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 1', "The exporter's page ends in the middle of a line."),
    ],
)
def test_a_page_without_readings_says_why(page: bytes, reason: str) -> None:
    with pytest.raises(PageError) as raised:
        read_page(page, "x", NOW_S)
    assert raised.value.message == reason


def test_a_node_without_gpus_is_a_node() -> None:
    sample = of('ray_node_cpu_utilization{ip="192.0.2.9"} 3\n')
    assert (sample.state, sample.reason) == ("no-gpu", "The exporter lists no GPU.")


@pytest.mark.skipif(
    not (VENVS / "nvitop").exists(), reason="nvitop-exporter is not installed: make .build/peers installs it"
)
def test_the_real_nvitop_exporter(fake: FakeNvml, tmp_path: Path) -> None:
    fake.write(healthy(2))
    port = free_port()
    command = [str(VENVS / "nvitop/bin/nvitop-exporter"), "--bind-address", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **fake.environment}, stdout=log, stderr=log)
    try:
        sample = _page_within(f"http://127.0.0.1:{port}/metrics", 60)
    finally:
        process.kill()
        process.wait()
    assert [(g.uuid, g.index) for g in sample.gpus] == [(key(0), "0"), (key(1), "1")]
    gpu = sample.gpus[0]
    assert (gpu.utilization_percent, gpu.temperature_c, gpu.power_w) == (40.0, 50.0, 200.0)
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (8 * GIB, 80 * GIB)
    assert sample.host is not None and (sample.host.memory_total_bytes or 0) > 100 * MIB


def _page_within(url: str, limit_s: float) -> NodeSample:
    end = time.monotonic() + limit_s
    while True:
        try:
            (sample,) = read_page(httpx.get(url, trust_env=False).content, "x")
        except (httpx.TransportError, PageError):
            assert time.monotonic() < end, "the exporter gave no page"
            time.sleep(0.2)
            continue
        if sample.gpus:
            return sample
