/* The fake driver with the calls that jupyterlab-nvdashboard makes besides: of GPUs without NVLink and PCI counters,
 * which is the least work it can have. Without them its server extension does not load. */
#include "../fake_nvml/nvml.c"

#define NOT_OFFERED(function, parameters) \
  int function parameters { return finish(#function, "", NOT_SUPPORTED); }

NOT_OFFERED(nvmlDeviceGetNvLinkVersion, (Device *device, unsigned link, unsigned *version))
NOT_OFFERED(nvmlDeviceGetFieldValues, (Device *device, int count, void *values))
NOT_OFFERED(nvmlDeviceGetMaxPcieLinkGeneration, (Device *device, unsigned *generation))
NOT_OFFERED(nvmlDeviceGetMaxPcieLinkWidth, (Device *device, unsigned *width))
NOT_OFFERED(nvmlDeviceGetPcieThroughput, (Device *device, int counter, unsigned *value))
