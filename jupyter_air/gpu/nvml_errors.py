"""NVML's return codes (nvml.h) and what they mean to a person."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Code(IntEnum):
    """Return codes that this package tells apart; any other is only a number."""

    UNINITIALIZED = 1
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    IRQ_ISSUE = 11
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    VERSION_MISMATCH = 18
    ARGUMENT_VERSION_MISMATCH = 25
    DEPRECATED = 26
    UNKNOWN = 999


class NvmlCallError(Exception):
    """NVML answered a call with an error.

    Args:
        code: NVML's return code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"NVML returned {code}")
        self.code = code


class Trouble(NamedTuple):
    """One sentence on what is wrong, one on what to do."""

    reason: str
    hint: str


#: From every device, these say that the driver was reloaded: handles are dead until NVML is initialised again
#: (gpu-operator#2854).
RELOADED = frozenset({Code.UNINITIALIZED, Code.GPU_IS_LOST, Code.UNKNOWN})

#: After these a handle is not used again: the library may crash on it (nvitop#139, #145).
DEAD_HANDLE = frozenset({Code.UNINITIALIZED, Code.GPU_IS_LOST, Code.RESET_REQUIRED})

#: This driver lacks the call, in this version: another version of it may be there, and this one will not appear.
CALL_MISSING = frozenset({Code.FUNCTION_NOT_FOUND, Code.ARGUMENT_VERSION_MISMATCH, Code.DEPRECATED})

NO_GPU = Trouble(
    "The NVIDIA driver is loaded but finds no GPU.",
    "Check that the GPU is seated and powered; in a container, that it was started with GPUs (--gpus all).",
)

_INIT: dict[int, Trouble] = {
    Code.LIBRARY_NOT_FOUND: Trouble(
        "There is no NVIDIA driver here: libnvidia-ml.so.1 is not found.",
        "Install the NVIDIA driver; in a container, start it with GPUs (--gpus all).",
    ),
    Code.DRIVER_NOT_LOADED: Trouble(
        "The NVIDIA driver is installed but not loaded.",
        "Load it with `sudo modprobe nvidia`, or reboot this machine.",
    ),
    Code.VERSION_MISMATCH: Trouble(
        "The NVIDIA driver was upgraded and its old kernel module is still loaded (Driver/library version mismatch).",
        "Reload the driver or reboot this machine.",
    ),
    Code.NO_PERMISSION: Trouble(
        "This user may not talk to the NVIDIA driver (Insufficient Permissions).",
        "Give this user access to /dev/nvidiactl and /dev/nvidia0, /dev/nvidia1 and so on.",
    ),
    # Often a container whose devices were taken by `systemctl daemon-reload` on the host (nvidia-container-toolkit#48).
    Code.UNKNOWN: Trouble(
        "The NVIDIA driver does not initialise (Failed to initialize NVML: Unknown Error).",
        "In a container, restart it: it may have lost its GPU devices; otherwise reboot this machine.",
    ),
}

_DEVICE: dict[int, str] = {
    Code.UNINITIALIZED: "The NVIDIA driver was reloaded and does not answer for this GPU yet.",
    Code.NO_PERMISSION: "This user or container may not read this GPU.",
    Code.INSUFFICIENT_POWER: "The GPU's power cables are not properly attached.",
    Code.IRQ_ISSUE: "The GPU's interrupts do not arrive; see the kernel log (dmesg).",
    Code.GPU_IS_LOST: "The GPU has fallen off the bus or does not answer (GPU is lost); see the Xid errors in dmesg.",
    Code.RESET_REQUIRED: "The GPU needs a reset (nvidia-smi --gpu-reset) or a reboot.",
    Code.UNKNOWN: "The driver answers every question about this GPU with Unknown Error.",
}


def init_trouble(code: int) -> Trouble:
    """Why NVML cannot be used on this machine, from the code that initialising it returned."""
    return _INIT.get(code) or Trouble(
        f"The NVIDIA driver does not initialise (NVML error {code}).", "Run nvidia-smi for the driver's own message."
    )


def device_reason(code: int) -> str:
    """Why one GPU gives no readings, from the code that its calls returned."""
    return _DEVICE.get(code) or f"The driver does not answer for this GPU (NVML error {code})."
