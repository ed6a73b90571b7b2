/* The fields of a device, one function each; included by nvml.c, whose helpers they use. */

/* A whole number at `field`; a GPU without that line does not support it. */
static int whole(const char *function, Device *device, const char *gate_field, const char *field, unsigned long long *out) {
  char path[PATH_SIZE] = "", value[VALUE_SIZE];
  int code = enter(device, gate_field, path);
  if (!code && !text_value(path, field, value)) code = NOT_SUPPORTED;
  if (!code) *out = value[0] == '-' ? (unsigned long long)strtoll(value, NULL, 0) : strtoull(value, NULL, 0);
  return finish(function, path, code);
}

static int words(const char *function, Device *device, const char *field, char *out, unsigned size) {
  char path[PATH_SIZE] = "";
  int code = enter(device, field, path);
  return finish(function, path, code ? code : copy_text(path, field, out, size));
}

#define WHOLE(function, type, gate_field, field)                                   \
  int function(Device *device, type *out) {                                        \
    unsigned long long value;                                                      \
    int code = whole(#function, device, gate_field, field, &value);                \
    if (!code) *out = (type)value;                                                 \
    return code;                                                                   \
  }

WHOLE(nvmlDeviceGetPowerUsage, unsigned, "power", "power_mw")
WHOLE(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit", "power_limit_mw")
WHOLE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy", "energy_mj")
WHOLE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "throttle.event", "throttle")
WHOLE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "throttle.old", "throttle")

int nvmlDeviceGetName(Device *device, char *out, unsigned size) { return words("nvmlDeviceGetName", device, "name", out, size); }
int nvmlDeviceGetUUID(Device *device, char *out, unsigned size) { return words("nvmlDeviceGetUUID", device, "uuid", out, size); }

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;

int nvmlDeviceGetPciInfo_v3(Device *device, Pci *out) {
  memset(out, 0, sizeof *out);
  return words("nvmlDeviceGetPciInfo", device, "pci", out->bus_id, sizeof out->bus_id);
}

int nvmlDeviceGetUtilizationRates(Device *device, unsigned out[2]) {
  unsigned long long value;
  int code = whole("nvmlDeviceGetUtilizationRates", device, "utilization", "utilization", &value);
  if (!code) out[0] = (unsigned)value, out[1] = 0;
  return code;
}

int nvmlDeviceGetTemperature(Device *device, unsigned sensor, unsigned *out) {
  (void)sensor;
  unsigned long long value;
  int code = whole("nvmlDeviceGetTemperature", device, "temperature.old", "temperature", &value);
  if (!code) *out = (unsigned)value;
  return code;
}

typedef struct { unsigned version, sensor; int temperature; } Temperature;

int nvmlDeviceGetTemperatureV(Device *device, Temperature *out) {
  if (out->version != 0x100000C) return finish("nvmlDeviceGetTemperatureV", "", ARGUMENT_VERSION_MISMATCH);
  unsigned long long value;
  int code = whole("nvmlDeviceGetTemperatureV", device, "temperature.v", "temperature", &value);
  if (!code) out->temperature = (int)value;
  return code;
}

int nvmlDeviceGetClockInfo(Device *device, unsigned type, unsigned *out) {
  static const char *const fields[] = {"clock.graphics", "clock.sm", "clock.memory", "clock.video"};
  if (type > 3) return finish("nvmlDeviceGetClockInfo", "", INVALID_ARGUMENT);
  unsigned long long value;
  int code = whole("nvmlDeviceGetClockInfo", device, fields[type], fields[type], &value);
  if (!code) *out = (unsigned)value;
  return code;
}

/* `used` is what processes hold. The first version of the call adds what the driver reserves, as NVIDIA's does. */
static int memory(const char *function, Device *device, const char *gate_field, unsigned long long out[4]) {
  char path[PATH_SIZE] = "", value[VALUE_SIZE];
  int code = enter(device, gate_field, path);
  if (!code && !text_value(path, "memory.total", value)) code = NOT_SUPPORTED;
  if (!code) {
    out[0] = strtoull(value, NULL, 0);
    out[1] = number(path, "memory.reserved", 0);
    out[3] = number(path, "memory.used", 0);
    out[2] = out[0] - out[1] - out[3];
  }
  return finish(function, path, code);
}

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;

int nvmlDeviceGetMemoryInfo(Device *device, Memory *out) {
  unsigned long long m[4];
  int code = memory("nvmlDeviceGetMemoryInfo", device, "memory.v1", m);
  if (!code) out->total = m[0], out->free = m[2], out->used = m[1] + m[3];
  return code;
}

int nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *out) {
  if (out->version != 0x02000028) return finish("nvmlDeviceGetMemoryInfo_v2", "", ARGUMENT_VERSION_MISMATCH);
  unsigned long long m[4];
  int code = memory("nvmlDeviceGetMemoryInfo_v2", device, "memory.v2", m);
  if (!code) out->total = m[0], out->reserved = m[1], out->free = m[2], out->used = m[3];
  return code;
}

/* `processes.compute = 4242:1073741824 4243:na`: process id and bytes. */
static int processes(const char *function, Device *device, const char *kind, const char *version, unsigned *count, Process *out) {
  char path[PATH_SIZE] = "", field[64], value[VALUE_SIZE] = "";
  unsigned room = *count, found = 0;
  snprintf(field, sizeof field, "processes.%s.%s", kind, version);
  int code = enter(device, field, path);
  snprintf(field, sizeof field, "processes.%s", kind);
  if (!code && !text_value(path, field, value)) code = NOT_SUPPORTED;
  if (code) return finish(function, path, code);
  char *rest = NULL;
  for (char *item = strtok_r(value, " ", &rest); item; item = strtok_r(NULL, " ", &rest), found++) {
    if (!out || found >= room) continue;
    const char *bytes = strchr(item, ':');
    out[found] = (Process){.pid = (unsigned)atoi(item), .used = !bytes || bytes[1] == 'n' ? NOT_AVAILABLE : strtoull(bytes + 1, NULL, 0)};
  }
  *count = found;
  return finish(function, path, found > room ? INSUFFICIENT_SIZE : SUCCESS);
}

#define PROCESSES(function, kind, version)                                         \
  int function(Device *device, unsigned *count, Process *out) {                    \
    return processes(#function, device, kind, version, count, out);                \
  }

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute", "v3")
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "compute", "v2")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", "v3")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", "v2")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps", "v3")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps", "v2")

/* `samples.utilization = 1000:50 2000:80`: microseconds and value, oldest first. Type 0 is total power (mW), 1 GPU utilization (%). */
int nvmlDeviceGetSamples(Device *device, int type, unsigned long long since_us, int *value_type, unsigned *count, Sample *out) {
  const char *field = type == 0 ? "samples.power" : "samples.utilization";
  char path[PATH_SIZE] = "", value[VALUE_SIZE] = "";
  int code = type > 1 ? INVALID_ARGUMENT : enter(device, field, path);
  if (!code && !text_value(path, field, value)) code = NOT_SUPPORTED;
  if (code) return finish("nvmlDeviceGetSamples", path, code);
  unsigned found = 0;
  char *rest = NULL;
  for (char *item = strtok_r(value, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
    Sample sample = {0, 0};
    unsigned whole_value = 0;
    sscanf(item, "%llu:%u", &sample.time_us, &whole_value);
    memcpy(&sample.value, &whole_value, sizeof whole_value);
    if (sample.time_us <= since_us) continue;
    if (out && found < *count) out[found] = sample;
    found++;
  }
  *value_type = 1;
  *count = found;
  return finish("nvmlDeviceGetSamples", path, SUCCESS);
}
