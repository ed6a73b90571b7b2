"""This machine's GPUs, as the NVIDIA driver's library (NVML) tells them; the only importer of ``pynvml``.

NVML's calls can hang in the kernel or crash the process that makes them: the server never imports this module, its
child process does (``sampler``).
"""

from __future__ import annotations

import logging
import socket
import time
from typing import Any, NamedTuple

import pynvml

from jupyter_air.backoff import Backoff
from jupyter_air.gpu.nvml_device import DRIVER_VERSION, UUID, Device, Driver, broken_gpu, identity, read_gpu
from jupyter_air.gpu.nvml_errors import NO_GPU, RELOADED, Code, NvmlCallError, init_trouble
from jupyter_air.gpu.roster import Roster
from jupyter_air.gpu.samples import GpuSample, NodeSample

_log = logging.getLogger(__name__)

#: A broken driver may answer any number.
_MOST_GPUS = 256


def _call(function: str, *arguments: Any) -> Any:
    """Call NVML by a function's name; one that this release of nvidia-ml-py lacks is as one that the driver lacks."""
    wrapper = getattr(pynvml, function, None)
    if wrapper is None:
        raise NvmlCallError(Code.FUNCTION_NOT_FOUND)
    try:
        return wrapper(*arguments)
    except pynvml.NVMLError as error:
        raise NvmlCallError(error.value) from error


class _Survey(NamedTuple):
    """One pass over all GPUs.

    Attributes:
        time_s: when it began, Unix time.
        gpus: the rows.
        codes: of each GPU, why it gives no readings.
        count_code: why the GPUs could not even be counted.
    """

    time_s: float
    gpus: list[GpuSample]
    codes: list[int | None]
    count_code: int | None = None

    @property
    def looks_reloaded(self) -> bool:
        """Whether nothing answers, as after a reload of the driver."""
        codes = self.codes if self.count_code is None else [self.count_code]
        return bool(codes) and all(code in RELOADED for code in codes)


class NvmlReader:
    """Reads the GPUs of this machine; NVML is initialised at the first reading and stays so until ``close``.

    A call may block for as long as the driver likes, or end the process: use it where that harms nobody.

    Args:
        retry_s: the wait after NVML could not be initialised. It doubles with each failure up to ``retry_bound_s``:
            inits may leak descriptors (all-smi#118).
        retry_bound_s: the longest such wait.
    """

    def __init__(self, retry_s: float = 10.0, retry_bound_s: float = 300.0) -> None:
        self._driver: Driver | None = None
        self._version: str | None = None
        self._init_code: int = Code.UNINITIALIZED
        self._retry = Backoff(retry_s, retry_bound_s)
        self._roster = Roster()

    def read(self) -> NodeSample:
        """The readings now. What is wrong is said in the sample, never raised."""
        survey = self._survey()
        if survey is not None and survey.looks_reloaded and not self._retry.remaining_s:
            self._shut_down()
            survey = self._survey()
            if survey is not None and survey.looks_reloaded:
                self._retry.failed()
        if survey is None:
            return self._without_driver()
        if not survey.looks_reloaded:
            self._retry.reset()
        return self._node(survey)

    def close(self) -> None:
        """Let go of NVML, so that a GPU may sleep, and forget what was seen."""
        if self._driver is not None:
            self._shut_down()
        self._roster.forget()
        self._retry.reset()

    def _initialised(self) -> Driver | None:
        if self._driver is not None or self._retry.remaining_s:
            return self._driver
        try:
            _call("nvmlInit")
        except NvmlCallError as error:
            self._init_code = error.code
            self._retry.failed()
            return None
        self._driver = Driver(_call)
        try:
            self._version = self._driver.ask(DRIVER_VERSION)
        except NvmlCallError:
            self._version = None
        return self._driver

    def _shut_down(self) -> None:
        self._driver = None
        try:
            _call("nvmlShutdown")
        except NvmlCallError as error:
            _log.debug("nvmlShutdown returned %d; NVML is initialised again at need", error.code)

    def _survey(self) -> _Survey | None:
        driver = self._initialised()
        if driver is None:
            return None
        time_s = time.time()
        try:
            count = min(driver.call("nvmlDeviceGetCount"), _MOST_GPUS)
        except NvmlCallError as error:
            return _Survey(time_s, [], [], error.code)
        # Handles are asked for at every reading: an index may be another GPU's than last time.
        found = [self._find(driver, index) for index in range(count)]
        listed = {uuid for _, uuid in found if uuid is not None}
        gpus: list[GpuSample] = []
        codes: list[int | None] = []
        for index, (device, uuid) in enumerate(found):
            rows, code = self._rows(device, uuid, str(index), listed)
            gpus += rows
            codes.append(code)
        return _Survey(time_s, gpus, codes)

    @staticmethod
    def _find(driver: Driver, index: int) -> tuple[Device, str | None]:
        device = Device(driver, None)
        try:
            device.handle = driver.call("nvmlDeviceGetHandleByIndex", index)
        except NvmlCallError as error:
            device.dead = error.code
        uuid = device.ask(UUID)
        return device, identity(uuid) if uuid else None

    def _rows(
        self, device: Device, uuid: str | None, index: str, listed: set[str]
    ) -> tuple[list[GpuSample], int | None]:
        if device.dead is None:
            return read_gpu(device, uuid or index, index)
        known = self._roster.at(index, listed) if uuid is None else None
        gpu = known or GpuSample(uuid=uuid or index, index=index, name="NVIDIA GPU")
        return [broken_gpu(gpu, device.dead)], device.dead

    def _node(self, survey: _Survey) -> NodeSample:
        node = NodeSample(name=_host_name(), driver=self._version)
        if survey.count_code is not None:
            node.state = "error"
            node.reason = f"The NVIDIA driver does not say how many GPUs there are (NVML error {survey.count_code})."
            node.hint = "Run nvidia-smi for the driver's own message."
            return node
        self._roster.remember(survey.gpus)
        node.gpus = survey.gpus
        node.time_s = survey.time_s
        if not node.gpus:
            node.state, (node.reason, node.hint) = "no-gpu", NO_GPU
        return node

    def _without_driver(self) -> NodeSample:
        if self._init_code == Code.NOT_FOUND:
            return NodeSample(name=_host_name(), state="no-gpu", reason=NO_GPU.reason, hint=NO_GPU.hint)
        reason, hint = init_trouble(self._init_code)
        return NodeSample(name=_host_name(), state="no-driver", reason=reason, hint=hint)


def _host_name() -> str:
    return socket.gethostname()[:128]
