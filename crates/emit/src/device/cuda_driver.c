static void *open_first(const char *const *names) {
  void *found = NULL;
  for (; *names != NULL && found == NULL; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  return found;
}

struct wanted_function {
  const char *name;
  void *place;
};

static int find_functions(struct NAME_ctx *ctx, void *library, const struct wanted_function *functions, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *const found = dlsym(library, functions[i].name);
    if (found == NULL) return trouble(ctx, "CUDA lacks a function", functions[i].name);
    memcpy(functions[i].place, &found, sizeof found);
  }
  return 0;
}

static int driver_load(struct NAME_ctx *ctx, struct driver *driver) {
  static const char *const libraries[] = {"libcuda.so.1", "libcuda.so", NULL};
  driver->library = open_first(libraries);
  if (driver->library == NULL) {
    return trouble(ctx, "there is no CUDA driver on this machine (libcuda.so.1): install NVIDIA's", "");
  }
  const struct wanted_function functions[] = {
    {"cuInit", &driver->init},
    {"cuDeviceGetCount", &driver->get_count},
    {"cuDeviceGet", &driver->get_device},
    {"cuDeviceGetName", &driver->get_name},
    {"cuDeviceGetAttribute", &driver->get_attribute},
    {"cuDriverGetVersion", &driver->get_version},
    {"cuDevicePrimaryCtxRetain", &driver->retain_context},
    {"cuDevicePrimaryCtxRelease_v2", &driver->release_context},
    {"cuCtxSetCurrent", &driver->set_context},
    {"cuCtxSynchronize", &driver->wait},
    {"cuModuleLoadData", &driver->load_module},
    {"cuModuleUnload", &driver->unload_module},
    {"cuModuleGetFunction", &driver->get_function},
    {"cuMemAlloc_v2", &driver->take},
    {"cuMemFree_v2", &driver->give},
    {"cuMemcpyHtoD_v2", &driver->send},
    {"cuMemcpyDtoH_v2", &driver->receive},
    {"cuMemsetD32Async", &driver->fill},
    {"cuMemcpyDtoD_v2", &driver->copy},
    {"cuLaunchKernel", &driver->start},
    {"cuEventCreate", &driver->create_event},
    {"cuEventRecord", &driver->record_event},
    {"cuEventSynchronize", &driver->wait_for_event},
    {"cuEventElapsedTime", &driver->get_elapsed},
    {"cuEventDestroy_v2", &driver->destroy_event},
    {"cuGetErrorString", &driver->get_text},
  };
  return find_functions(ctx, driver->library, functions, sizeof functions / sizeof *functions);
}

/* The compiler is needed where the kernels were not built before. */
static int load_compiler(struct NAME_ctx *ctx, struct driver *driver) {
  static const char *const compilers[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL};
  driver->compiler = open_first(compilers);
  if (driver->compiler == NULL) {
    return trouble(ctx, "CUDA's run-time compiler is missing (libnvrtc.so): install the CUDA toolkit, or put it into LD_LIBRARY_PATH", "");
  }
  const struct wanted_function functions[] = {
    {"nvrtcCreateProgram", &driver->create_program},
    {"nvrtcCompileProgram", &driver->compile_program},
    {"nvrtcGetCUBINSize", &driver->get_size},
    {"nvrtcGetCUBIN", &driver->get_code},
    {"nvrtcGetProgramLogSize", &driver->get_log_size},
    {"nvrtcGetProgramLog", &driver->get_log},
    {"nvrtcDestroyProgram", &driver->destroy_program},
  };
  return find_functions(ctx, driver->compiler, functions, sizeof functions / sizeof *functions);
}

/* The device that was asked for: by its number, or by a part of its name. Else the first. */
static int driver_choose(struct NAME_ctx *ctx, struct driver *driver) {
  int count = 0;
  driver->error = driver->init(0);
  if (driver->error == 0) driver->error = driver->get_count(&count);
  if (driver->error != 0) return trouble(ctx, "CUDA does not start", driver_message(driver));
  if (count == 0) return trouble(ctx, "CUDA finds no device", "");
  const char *const wanted = wanted_device(ctx);
  char *end = NULL;
  const long number = wanted == NULL ? 0 : strtol(wanted, &end, 10);
  for (int i = 0; i < count; i++) {
    char name[256] = "";
    if (driver->get_device(&driver->device, i) != 0) continue;
    driver->get_name(name, sizeof name - 1, driver->device);
    if (wanted == NULL || *end == 0 ? number == i : strstr(name, wanted) != NULL) return 0;
  }
  return trouble(ctx, "CUDA finds no such device", wanted == NULL ? "" : wanted);
}

/* CUDA's number for a wrong argument. */
enum { TOO_MANY_GROUPS = 1 };

/* All lines of the kernels as one text. */
static char *whole_source(void) {
  size_t length = 1;
  for (size_t i = 0; i < sizeof kernel_source / sizeof *kernel_source; i++) length += strlen(kernel_source[i]);
  char *const text = malloc(length), *to = text;
  if (text == NULL) return NULL;
  for (size_t i = 0; i < sizeof kernel_source / sizeof *kernel_source; i++) {
    const size_t line = strlen(kernel_source[i]);
    memcpy(to, kernel_source[i], line);
    to += line;
  }
  *to = 0;
  return text;
}

static void refused(struct NAME_ctx *ctx, struct driver *driver, nvrtcProgram program) {
  size_t size = 0;
  char *log = NULL;
  if (driver->get_log_size(program, &size) == 0 && size > 0 && (log = malloc(size)) != NULL) {
    log[0] = 0;
    driver->get_log(program, log);
  }
  trouble(ctx, "CUDA's compiler refuses the kernels", log == NULL ? "" : log);
  free(log);
}

/* The compiler makes machine code of the kernels; NULL where it does not. */
static char *compiled(struct NAME_ctx *ctx, struct driver *driver, const char *const *options, int count, size_t *size) {
  if (load_compiler(ctx, driver) != 0) return NULL;
  char *const text = whole_source();
  if (text == NULL) {
    trouble(ctx, "not enough memory for the kernels", "");
    return NULL;
  }
  nvrtcProgram program = NULL;
  const int failed = driver->create_program(&program, text, "kernels.cu", 0, NULL, NULL);
  free(text);
  if (failed != 0) {
    trouble(ctx, "CUDA's compiler does not start", "");
    return NULL;
  }
  char *code = NULL;
  if (driver->compile_program(program, count, options) != 0 || driver->get_size(program, size) != 0) {
    refused(ctx, driver, program);
  } else if ((code = malloc(*size)) == NULL || driver->get_code(program, code) != 0) {
    trouble(ctx, "not enough memory for the kernels", "");
    free(code);
    code = NULL;
  }
  driver->destroy_program(&program);
  return code;
}

/* Machine code of the kernels for this device; no contraction, divisions and roots as exact as on the host. */
static int driver_build(struct NAME_ctx *ctx, struct driver *driver) {
  int major = 0, minor = 0, version = 0;
  driver->get_attribute(&major, 75, driver->device);
  driver->get_attribute(&minor, 76, driver->device);
  driver->get_version(&version);
  char architecture[64], for_driver[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  snprintf(for_driver, sizeof for_driver, "CUDA %d", version);
  const char *const options[] = {architecture, "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false",
                                 "--device-as-default-execution-space", for_driver};
  enum { ALL = sizeof options / sizeof *options };
  uint64_t key[2];
  size_t size = 0;
  kept_key(key, options, ALL);
  char *code = kept_read(key, &size);
  if (code != NULL) {
    driver->error = driver->load_module(&driver->module, code);
    free(code);
    if (driver->error == 0) return 0;
  }
  code = compiled(ctx, driver, options, ALL - 1, &size);
  if (code == NULL) return 1;
  driver->error = driver->load_module(&driver->module, code);
  if (driver->error == 0) kept_write(key, code, size);
  free(code);
  return driver->error == 0 ? 0 : trouble(ctx, "the device does not take the kernels", driver_message(driver));
}

static int driver_open(struct NAME_ctx *ctx, struct driver *driver) {
  if (driver_load(ctx, driver) != 0 || driver_choose(ctx, driver) != 0) return 1;
  driver->error = driver->retain_context(&driver->context, driver->device);
  if (driver->error == 0) driver->error = driver->set_context(driver->context);
  if (driver->error != 0) return trouble(ctx, "the device does not open", driver_message(driver));
  return driver_build(ctx, driver);
}

static void driver_close(struct driver *driver) {
  if (driver->before != 0) driver->give(driver->before);
  for (int i = 0; i < 2 * MOST_RECORDS; i++) {
    if (driver->events[i / 2][i % 2] != NULL) driver->destroy_event(driver->events[i / 2][i % 2]);
  }
  if (driver->module != NULL) driver->unload_module(driver->module);
  if (driver->context != NULL) driver->release_context(driver->device);
}

static int driver_take(struct driver *driver, size_t bytes, device_memory *memory) {
  driver->error = driver->take(memory, bytes);
  return driver->error != 0;
}

static void driver_give(struct driver *driver, device_memory memory) {
  driver->give(memory);
}

static int driver_send(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->send(memory + at, from, bytes);
  return driver->error != 0;
}

static int driver_receive(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->receive(to, memory + at, bytes);
  return driver->error != 0;
}

static void *driver_address(device_memory memory) {
  return (void *)(uintptr_t)memory;
}

static int driver_enter(struct driver *driver) {
  driver->error = driver->set_context(driver->context);
  return driver->error != 0;
}

static int driver_wait(struct driver *driver) {
  driver->error = driver->wait();
  return driver->error != 0;
}

static int driver_measure(struct driver *driver, bool measured) {
  (void)measured;
  return driver_wait(driver);
}

/* Keeps the device busy while kernels are on their way, so that times have nothing of the way in them. Its cells take the place of
 * others in the device's cache. */
static void stay_busy(struct driver *driver) {
  enum { CELLS = 64 << 20 };
  if (driver->before == 0 && driver->take(&driver->before, 4 * (size_t)CELLS) != 0) driver->before = 0;
  if (driver->before != 0) driver->fill(driver->before, 0, CELLS, NULL);
}

/* Cells of a block from one on. */
static device_memory driver_part(device_memory memory, int64_t from, size_t cell) {
  return memory + (device_memory)from * cell;
}

static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, int record) {
  if (driver->functions[kernel] == NULL) {
    driver->error = driver->get_function(&driver->functions[kernel], driver->module, kernel_names[kernel]);
    if (driver->error != 0) return 1;
  }
  void *arguments[MOST_ARGUMENTS];
  for (int i = 0; i < start->count; i++) arguments[i] = start->values[i];
  const unsigned group = of_group != 0 ? (unsigned)of_group : items < GROUP ? (unsigned)items : GROUP;
  const int64_t groups = items / group + (items % group != 0);
  if (groups > INT32_MAX) {
    driver->error = TOO_MANY_GROUPS;
    return 1;
  }
  CUevent *const events = record < 0 ? NULL : driver->events[record];
  for (int i = 0; i < 2 && events != NULL; i++) {
    if (events[i] != NULL) continue;
    driver->error = driver->create_event(&events[i], 0);
    if (driver->error != 0) return 1;
  }
  if (record == 0) stay_busy(driver);
  if (events != NULL) driver->record_event(events[0], NULL);
  driver->error = driver->start(driver->functions[kernel], (unsigned)groups, 1, 1, group, 1, 1, 0, NULL, arguments, NULL);
  if (events != NULL) driver->record_event(events[1], NULL);
  return driver->error != 0;
}

static double driver_elapsed(struct driver *driver, int first, int last) {
  float milliseconds = 0;
  driver->wait_for_event(driver->events[last][1]);
  driver->get_elapsed(&milliseconds, driver->events[first][0], driver->events[last][1]);
  return 1e-3 * (double)milliseconds;
}
