/* A stand-in for the NVIDIA driver's libnvidia-ml.so.1 whose answers come from a text file, read again at every call.
 *
 * FAKE_NVML_STATE names that file, FAKE_NVML_LOG (optional) a file that gets a line per call. README.md has the format. Signatures
 * and codes are those of NVIDIA's public nvml.h, as far as nvidia-ml-py calls them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15,
       ARGUMENT_VERSION_MISMATCH = 25 };
enum { PATH_SIZE = 128, VALUE_SIZE = 4096, DEVICES = 1024 };
#define NOT_AVAILABLE (~0ULL)

typedef struct { int session; char uuid[96]; int index; int slice; } Device; /* slice -1: the whole GPU */
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;
typedef struct { unsigned long long time_us; unsigned long long value; } Sample;

static Device devices[DEVICES];
static int device_count, session, users; /* users: successful inits not yet shut down */
static int descriptors[64];
static char reload_token[64];

/* ---- the state file ---- */

static char *load(void) {
  const char *path = getenv("FAKE_NVML_STATE");
  FILE *file = path ? fopen(path, "rb") : NULL;
  char *text = calloc(1, 1 << 20);
  if (file) {
    if (fread(text, 1, (1 << 20) - 1, file) == 0) text[0] = 0;
    fclose(file);
  }
  return text;
}

static int find(const char *text, const char *key, char *out) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    if (strncmp(line, key, length) != 0 || strncmp(line + length, " = ", 3) != 0) continue;
    const char *value = line + length + 3;
    snprintf(out, VALUE_SIZE, "%.*s", (int)strcspn(value, "\r\n"), value);
    return 1;
  }
  return 0;
}

/* `gpu.0.name`, else `gpu.*.name`: what is said of every GPU. */
static int lookup(const char *text, const char *path, const char *field, char *out) {
  char key[PATH_SIZE * 2], wild[PATH_SIZE * 2 + 8];
  snprintf(key, sizeof key, field[0] ? "%s.%s" : "%s", path, field);
  if (find(text, key, out)) return 1;
  if (strncmp(key, "gpu.", 4) != 0 || !strchr(key + 4, '.')) return 0;
  snprintf(wild, sizeof wild, "gpu.*%s", strchr(key + 4, '.'));
  return find(text, wild, out);
}

/* A fault on `gpu.0.memory` holds for `gpu.0.memory.v2` too, and one on `gpu.0` for all of it. */
static long fault(const char *text, const char *path, const char *kind) {
  char prefix[PATH_SIZE], value[VALUE_SIZE];
  snprintf(prefix, sizeof prefix, "%s", path);
  for (;;) {
    if (lookup(text, prefix, kind, value)) return strtol(value, NULL, 10);
    char *dot = strrchr(prefix, '.');
    if (!dot || strcmp(prefix, "gpu") == 0) return 0;
    *dot = 0;
  }
}

/* ---- what every call passes through ---- */

static void note(const char *function, const char *path, int code) {
  const char *log = getenv("FAKE_NVML_LOG");
  FILE *file = log ? fopen(log, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %s %d users=%d\n", function, path, code, users);
  fclose(file);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Crash, wait or fail as the state says. The state is read again while waiting, so that a test can end a hang. */
static int gate(const char *path) {
  double start = now_ms();
  for (;;) {
    char *text = load();
    if (fault(text, path, "crash")) raise(SIGSEGV);
    if (fault(text, path, "print")) puts("NVRM: a library that prints"), fflush(stdout);
    long delay = fault(text, path, "delay_ms"), code = fault(text, path, "return");
    free(text);
    if (now_ms() - start >= delay) return (int)code;
    usleep(5000);
  }
}

static int text_value(const char *path, const char *field, char *out) {
  char *text = load();
  int found = lookup(text, path, field, out);
  free(text);
  return found;
}

static unsigned long long number(const char *path, const char *field, unsigned long long otherwise) {
  char value[VALUE_SIZE];
  return text_value(path, field, value) ? strtoull(value, NULL, 0) : otherwise;
}

static int finish(const char *function, const char *path, int code) { note(function, path, code); return code; }

/* After a reload of the driver (`driver.reload` changed) nothing answers until the library is shut down and initialised again. */
static int reloaded(void) {
  char value[VALUE_SIZE] = "";
  text_value("driver", "reload", value);
  return strcmp(value, reload_token) != 0 ? (int)number("driver", "reload.return", GPU_IS_LOST) : SUCCESS;
}

/* Where the state speaks of this handle's GPU now: the driver's handle stays with its GPU while indices shift. */
static int locate(const Device *device, char *path) {
  if (device < devices || device >= devices + device_count || device->session != session) raise(SIGSEGV); /* as drivers do: nvitop#145 */
  int code = reloaded(), index = device->index;
  if (code) return code;
  if (device->uuid[0]) {
    char at[PATH_SIZE], uuid[VALUE_SIZE];
    int count = (int)number("count", "", 0);
    for (index = 0; index < count; index++) {
      snprintf(at, sizeof at, "gpu.%d", index);
      if (text_value(at, "uuid", uuid) && strcmp(uuid, device->uuid) == 0) break;
    }
    if (index == count) return GPU_IS_LOST;
  }
  if (device->slice < 0) snprintf(path, PATH_SIZE, "gpu.%d", index);
  else snprintf(path, PATH_SIZE, "gpu.%d.mig.%d", index, device->slice);
  return SUCCESS;
}

static int enter(const Device *device, const char *field, char *path) {
  if (!users) return UNINITIALIZED;
  int code = locate(device, path);
  if (code) return code;
  char full[PATH_SIZE * 2];
  snprintf(full, sizeof full, "%s.%s", path, field);
  return gate(full);
}

static Device *handle(const char *uuid, int index, int slice) {
  for (int i = 0; i < device_count; i++)
    if (devices[i].session == session && devices[i].index == index && devices[i].slice == slice && !strcmp(devices[i].uuid, uuid))
      return &devices[i];
  if (device_count == DEVICES) abort();
  devices[device_count] = (Device){.session = session, .index = index, .slice = slice};
  snprintf(devices[device_count].uuid, sizeof devices[0].uuid, "%s", uuid);
  return &devices[device_count++];
}

static int copy_text(const char *path, const char *field, char *out, unsigned size) {
  char value[VALUE_SIZE];
  if (!text_value(path, field, value)) return NOT_SUPPORTED;
  memset(out, 0, size);
  if (strncmp(value, "hex:", 4) != 0) {
    strncpy(out, value, size - 1);
    return SUCCESS;
  }
  for (unsigned i = 0; i + 1 < size && sscanf(value + 4 + 2 * i, "%2hhx", (unsigned char *)&out[i]) == 1; i++);
  return SUCCESS;
}

/* ---- the library ---- */

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  int code = gate("init");
  if (code == SUCCESS) {
    if (users++ == 0) {
      session++;
      reload_token[0] = 0;
      char value[VALUE_SIZE];
      if (text_value("driver", "reload", value)) snprintf(reload_token, sizeof reload_token, "%.63s", value);
    }
    descriptors[users % 64] = open("/dev/null", O_RDONLY | O_CLOEXEC); /* a driver holds its device files the same way */
  }
  return finish("nvmlInit", "init", code);
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
  if (!users) return finish("nvmlShutdown", "shutdown", UNINITIALIZED);
  int code = gate("shutdown");
  if (code == SUCCESS) close(descriptors[users-- % 64]);
  return finish("nvmlShutdown", "shutdown", code);
}

const char *nvmlErrorString(int code) { (void)code; return "fake NVML error"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size) {
  int code = users ? gate("driver.version") : UNINITIALIZED;
  return finish("nvmlSystemGetDriverVersion", "driver.version", code ? code : copy_text("driver", "version", out, size));
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  int code = users ? gate("count") : UNINITIALIZED;
  if (!code && reloaded() == UNINITIALIZED) code = UNINITIALIZED;
  if (!code) *count = (unsigned)number("count", "", 0);
  return finish("nvmlDeviceGetCount", "count", code);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
  char path[PATH_SIZE], uuid[VALUE_SIZE] = "";
  snprintf(path, sizeof path, "gpu.%u.handle", index);
  int code = users ? gate(path) : UNINITIALIZED;
  if (!code && index >= number("count", "", 0)) code = INVALID_ARGUMENT;
  if (!code) {
    snprintf(path, sizeof path, "gpu.%u", index);
    text_value(path, "uuid", uuid);
    uuid[95] = 0;
    *out = handle(uuid, (int)index, -1);
  }
  return finish("nvmlDeviceGetHandleByIndex", path, code);
}

int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) {
  char path[PATH_SIZE] = "";
  int code = enter(device, "mig.max", path);
  if (!code) *count = (unsigned)number(path, "mig.max", 0);
  return finish("nvmlDeviceGetMaxMigDeviceCount", path, code);
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **out) {
  char path[PATH_SIZE] = "", field[64], value[VALUE_SIZE];
  snprintf(field, sizeof field, "mig.%u.handle", index);
  int code = enter(device, field, path);
  snprintf(field, sizeof field, "mig.%u.uuid", index);
  if (!code && !text_value(path, field, value)) code = NOT_FOUND;
  if (!code) *out = handle(device->uuid, device->index, (int)index);
  return finish("nvmlDeviceGetMigDeviceHandleByIndex", path, code);
}

#include "fields.h"
