/* A driver of 8 GPUs that are well and answers at once, so that whoever calls it pays for nothing else.
 * Signatures and codes are those of NVIDIA's public nvml.h; what is not here is as on a driver that lacks it. */
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, GPUS = 8 };
typedef int *Device;
static int gpus[GPUS] = {0, 1, 2, 3, 4, 5, 6, 7};

#define ANSWER(function, parameters, statement) \
  int function parameters { statement; return SUCCESS; }
#define NUMBER(function, type, value) ANSWER(function, (Device d, type *out), (void)d; *out = value)
#define TEXT(function, ...) ANSWER(function, (Device d, char *out, unsigned size), (void)d; snprintf(out, size, __VA_ARGS__))
#define REFUSED(function, parameters) \
  int function parameters { return NOT_SUPPORTED; }

ANSWER(nvmlInitWithFlags, (unsigned flags), (void)flags)
ANSWER(nvmlInit_v2, (void), )
ANSWER(nvmlShutdown, (void), )
const char *nvmlErrorString(int code) { (void)code; return "instant NVML error"; }
ANSWER(nvmlSystemGetDriverVersion, (char *out, unsigned size), snprintf(out, size, "580.65.06"))
ANSWER(nvmlDeviceGetCount_v2, (unsigned *out), *out = GPUS)
ANSWER(nvmlDeviceGetHandleByIndex_v2, (unsigned index, Device *out), *out = &gpus[index % GPUS])

TEXT(nvmlDeviceGetName, "NVIDIA H100 80GB HBM3")
TEXT(nvmlDeviceGetUUID, "GPU-0000000%d-AAAA-BBBB-CCCC-DDDDDDDDDDDD", *d)
NUMBER(nvmlDeviceGetPowerUsage, unsigned, 412000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, 0)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned, 0)
ANSWER(nvmlDeviceGetClockInfo, (Device d, int type, unsigned *out), (void)d; *out = type == 2 ? 2619 : 1980)
ANSWER(nvmlDeviceGetUtilizationRates, (Device d, unsigned out[2]), (void)d; out[0] = 87; out[1] = 40)

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
ANSWER(nvmlDeviceGetPciInfo_v3, (Device d, Pci *out), snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", *d + 1))
typedef struct { unsigned version, sensor; int temperature; } Temperature;
ANSWER(nvmlDeviceGetTemperatureV, (Device d, Temperature *out), (void)d; out->temperature = 71)
typedef struct { unsigned long long total, free, used; } Memory;
ANSWER(nvmlDeviceGetMemoryInfo, (Device d, Memory *out), (void)d; *out = ((Memory){80ULL << 30, 19ULL << 30, 61ULL << 30}))
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;
ANSWER(nvmlDeviceGetMemoryInfo_v2, (Device d, MemoryV2 *out),
       (void)d; *out = ((MemoryV2){out->version, 80ULL << 30, 1ULL << 30, 19ULL << 30, 60ULL << 30}))

ANSWER(nvmlDeviceGetComputeRunningProcesses_v3, (Device d, unsigned *count, void *out), (void)d; (void)out; *count = 0)
ANSWER(nvmlDeviceGetGraphicsRunningProcesses_v3, (Device d, unsigned *count, void *out), (void)d; (void)out; *count = 0)
ANSWER(nvmlDeviceGetMPSComputeRunningProcesses_v3, (Device d, unsigned *count, void *out), (void)d; (void)out; *count = 0)

/* Without these jupyterlab-nvdashboard does not load: of GPUs without NVLink and PCI counters, its least work. */
REFUSED(nvmlDeviceGetNvLinkVersion, (Device d, unsigned link, unsigned *version))
REFUSED(nvmlDeviceGetFieldValues, (Device d, int count, void *values))
REFUSED(nvmlDeviceGetMaxPcieLinkGeneration, (Device d, unsigned *generation))
