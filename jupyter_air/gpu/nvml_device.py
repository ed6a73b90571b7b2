"""What NVML says of one GPU, field by field: one that fails costs itself only (ray#65550)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from jupyter_air.gpu.nvml_errors import CALL_MISSING, DEAD_HANDLE, Code, NvmlCallError, device_reason
from jupyter_air.gpu.samples import THROTTLE_REASONS, GpuSample

#: Calls a function of NVML by its name in nvidia-ml-py; raises ``NvmlCallError``.
Call = Callable[..., Any]

_NAME_LENGTH = 128
_MOST_SLICES = 64
#: Drivers say "not available" as values near 2^63 or 2^64.
_IMPOSSIBLE = 2**62
_NAMED_THROTTLE_BITS = (1 << len(THROTTLE_REASONS)) - 1
_SHARED = "shared with system memory"


def text(value: str | bytes) -> str:
    """Text as NVML gave it, cut to 128 characters; the old ``pynvml`` package gives bytes (vllm#7649)."""
    return (value.decode(errors="replace") if isinstance(value, bytes) else value)[:_NAME_LENGTH]


class Field(NamedTuple):
    """A question to NVML.

    Attributes:
        ways: function and further arguments of each call that answers it, the best first.
        pick: the answer, from what the call returns.
    """

    ways: tuple[tuple[str, tuple[int, ...]], ...]
    pick: Callable[[Any], Any] = lambda value: value


def _ways(*functions: str, arguments: tuple[int, ...] = ()) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((function, arguments) for function in functions)


DRIVER_VERSION = Field(_ways("nvmlSystemGetDriverVersion"), text)
UUID = Field(_ways("nvmlDeviceGetUUID"), text)
_NAME = Field(_ways("nvmlDeviceGetName"), text)
_PCI = Field(_ways("nvmlDeviceGetPciInfo"), lambda pci: text(pci.busId))
_UTILIZATION = Field(_ways("nvmlDeviceGetUtilizationRates"), lambda rates: rates.gpu)
# Version 1 counts what the driver reserves as used: 912 MB on an idle A100. 0x02000028 is nvmlMemory_v2 of nvml.h.
_MEMORY = Field((("nvmlDeviceGetMemoryInfo", (0x02000028,)), ("nvmlDeviceGetMemoryInfo", ())))
# Sensor 0 is the GPU's core. Driver 550 lacks the first, CUDA 14 drops the second.
_TEMPERATURE = Field(_ways("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", arguments=(0,)))
_POWER_MW = Field(_ways("nvmlDeviceGetPowerUsage"))
_POWER_LIMIT_MW = Field(_ways("nvmlDeviceGetEnforcedPowerLimit"))
_SM_CLOCK = Field(_ways("nvmlDeviceGetClockInfo", arguments=(1,)))
_MEMORY_CLOCK = Field(_ways("nvmlDeviceGetClockInfo", arguments=(2,)))
_THROTTLE = Field(_ways("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"))
_MOST_MIG = Field(_ways("nvmlDeviceGetMaxMigDeviceCount"))
_PROCESSES = tuple(
    Field(_ways(f"nvmlDeviceGet{kind}RunningProcesses_v3", f"nvmlDeviceGet{kind}RunningProcesses_v2"))
    for kind in ("Compute", "Graphics", "MPSCompute")
)


class Driver:
    """Asks NVML, and remembers which way of asking this driver knows; made anew whenever NVML is initialised.

    Args:
        call: calls NVML.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self._first: dict[Field, int] = {}

    def ask(self, field: Field, *handle: Any) -> Any:
        """The answer to one question.

        Raises:
            NvmlCallError: no way of asking gave an answer; the code is the last way's.
        """
        last = len(field.ways) - 1
        for position in range(self._first.get(field, 0), last + 1):
            function, arguments = field.ways[position]
            try:
                return field.pick(self.call(function, *handle, *arguments))
            except UnicodeDecodeError as error:
                return text(error.object)
            except NvmlCallError as error:
                if position == last or error.code not in CALL_MISSING | {Code.NOT_SUPPORTED}:
                    raise
                if error.code in CALL_MISSING:
                    self._first[field] = position + 1
        raise NvmlCallError(Code.FUNCTION_NOT_FOUND)


class Device:
    """A GPU or a MIG slice during one reading.

    Args:
        driver: answers.
        handle: NVML's.
    """

    def __init__(self, driver: Driver, handle: Any) -> None:
        self.driver = driver
        self.handle = handle
        #: Why the handle must not be used again.
        self.dead: int | None = None
        #: The code of the last question, ``None`` when it was answered.
        self.failed: int | None = None
        self._worst = 0

    def ask(self, field: Field) -> Any:
        """The answer, or ``None`` where this GPU has none."""
        if self.dead is not None:
            return None
        try:
            answer = self.driver.ask(field, self.handle)
        except NvmlCallError as error:
            self.failed = error.code
            if error.code in DEAD_HANDLE:
                self.dead = error.code
            if error.code not in CALL_MISSING | {Code.NOT_SUPPORTED}:
                self._worst = max(self._worst, error.code)
            return None
        self.failed = None
        return answer

    def trouble(self, *, answered: bool) -> int | None:
        """The code that says why this GPU gives nothing; ``None`` when it is well.

        Args:
            answered: whether it gave any reading. One answer outweighs any number of unknown errors (WSL2).
        """
        if self.dead is not None:
            return self.dead
        return None if answered else self._worst or None


def identity(uuid: str) -> str:
    """A UUID as it is kept: lower case, without ``GPU-`` or ``MIG-`` (old drivers write ``MIG-GPU-.../1/0``)."""
    return re.sub(r"^(mig-|gpu-)+", "", uuid.lower())


def read_gpu(device: Device, uuid: str, index: str) -> tuple[list[GpuSample], int | None]:
    """The row of a GPU and those of its MIG slices.

    Args:
        device: the GPU.
        uuid: its identity.
        index: NVML's, as text.

    Returns:
        the rows, and the code that says why there are no readings.
    """
    pci = device.ask(_PCI)
    gpu = GpuSample(uuid=uuid, index=index, name=device.ask(_NAME) or "NVIDIA GPU", pci_bus_id=pci)
    slices = _read_slices(device, gpu)
    _read_memory(device, gpu)
    if device.failed == Code.NOT_SUPPORTED and not slices:
        gpu.memory_note = _SHARED
    gpu.utilization_percent = _within(device.ask(_UTILIZATION), 0, 100)
    gpu.temperature_c = _within(device.ask(_TEMPERATURE), -50, 200)
    gpu.power_w = _watts(device.ask(_POWER_MW))
    gpu.power_limit_w = _watts(device.ask(_POWER_LIMIT_MW)) or None
    gpu.sm_clock_mhz = _within(device.ask(_SM_CLOCK), 0, 20_000)
    gpu.memory_clock_mhz = _within(device.ask(_MEMORY_CLOCK), 0, 50_000)
    gpu.throttle_bits = _throttle(device.ask(_THROTTLE))
    gpu.pids = _read_processes(device)
    code = device.trouble(answered=_has_readings(gpu))
    return ([gpu] if code is None else [broken_gpu(gpu, code)]) + (slices if device.dead is None else []), code


def broken_gpu(gpu: GpuSample, code: int) -> GpuSample:
    """The row of a GPU without readings: who it is, and why.

    Args:
        gpu: who it is.
        code: what NVML returned.
    """
    return GpuSample(
        uuid=gpu.uuid,
        index=gpu.index,
        name=gpu.name,
        pci_bus_id=gpu.pci_bus_id,
        state="lost" if code == Code.GPU_IS_LOST else "error",
        reason=device_reason(code),
    )


def _read_slices(device: Device, parent: GpuSample) -> list[GpuSample]:
    # The mode is not asked first: a container that sees slices may be refused the parent's mode.
    slices = []
    for index in range(min(device.ask(_MOST_MIG) or 0, _MOST_SLICES)):
        try:
            handle = device.driver.call("nvmlDeviceGetMigDeviceHandleByIndex", device.handle, index)
        except NvmlCallError as error:
            if error.code in DEAD_HANDLE:
                device.dead = error.code
                break
            # Slices that were destroyed leave holes in the numbering.
            continue
        slices.append(_read_slice(Device(device.driver, handle), parent, f"{parent.index}:{index}"))
    return slices


def _read_slice(device: Device, parent: GpuSample, index: str) -> GpuSample:
    uuid = device.ask(UUID)
    name = device.ask(_NAME) or parent.name
    profile = re.search(r"\bMIG (\S+)", name)
    gpu = GpuSample(
        uuid=identity(uuid) if uuid else index,
        index=index,
        name=name,
        parent_uuid=parent.uuid,
        mig_profile=profile[1] if profile else None,
        pci_bus_id=parent.pci_bus_id,
    )
    _read_memory(device, gpu)
    gpu.pids = _read_processes(device)
    code = device.trouble(answered=_has_readings(gpu))
    if code is not None:
        gpu.state = "lost" if code == Code.GPU_IS_LOST else "error"
        gpu.reason = device_reason(code)
    return gpu


def _read_memory(device: Device, gpu: GpuSample) -> None:
    memory = device.ask(_MEMORY)
    if memory is None:
        return
    total, used = int(memory.total), int(memory.used)
    if gpu.parent_uuid is None and (total == 0 or abs(total - _host_memory_bytes()) < 2**20):
        # A GPU without memory of its own gives zeros or the host's total, where it does not refuse (nvitop#208).
        gpu.memory_note = _SHARED
        return
    if 0 < total < _IMPOSSIBLE:
        gpu.memory_total_bytes = total
        gpu.memory_used_bytes = used if used <= total else None


def _host_memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_processes(device: Device) -> dict[int, int | None] | None:
    answers = [device.ask(field) for field in _PROCESSES]
    if all(answer is None for answer in answers):
        return None
    held: dict[int, int | None] = {}
    for process in (process for answer in answers for process in answer or ()):
        used = process.usedGpuMemory
        told = None if used is None or used >= _IMPOSSIBLE else int(used)
        # A process in two lists holds its memory once.
        held[process.pid] = max((one for one in (told, held.get(process.pid)) if one is not None), default=None)
    return held


def _within(value: float | None, low: float, high: float) -> float | None:
    return float(value) if value is not None and low <= value <= high else None


def _watts(milliwatts: int | None) -> float | None:
    watts = _within(milliwatts, 0, 100_000_000)
    return None if watts is None else watts / 1000


def _throttle(bits: int | None) -> int | None:
    return None if bits is None or bits >= _IMPOSSIBLE else bits & _NAMED_THROTTLE_BITS


def _has_readings(gpu: GpuSample) -> bool:
    readings = (gpu.utilization_percent, gpu.temperature_c, gpu.power_w, gpu.memory_total_bytes, gpu.memory_note)
    return any(reading is not None for reading in (*readings, gpu.throttle_bits, gpu.sm_clock_mhz, gpu.pids))
