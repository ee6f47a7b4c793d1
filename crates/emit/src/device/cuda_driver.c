static void *open_first(const char *const *names) {
  void *found = NULL;
  for (; *names != NULL && found == NULL; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  return found;
}

static int driver_load(struct NAME_ctx *ctx, struct driver *driver) {
  static const char *const libraries[] = {"libcuda.so.1", "libcuda.so", NULL};
  static const char *const compilers[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL};
  driver->library = open_first(libraries);
  if (driver->library == NULL) {
    return trouble(ctx, "there is no CUDA driver on this machine (libcuda.so.1): install NVIDIA's", "");
  }
  driver->compiler = open_first(compilers);
  if (driver->compiler == NULL) {
    return trouble(ctx, "CUDA's run-time compiler is missing (libnvrtc.so): install the CUDA toolkit, or put it into LD_LIBRARY_PATH", "");
  }
  const struct {
    void *library;
    const char *name;
    void *place;
  } functions[] = {
    {driver->library, "cuInit", &driver->init},
    {driver->library, "cuDeviceGetCount", &driver->get_count},
    {driver->library, "cuDeviceGet", &driver->get_device},
    {driver->library, "cuDeviceGetName", &driver->get_name},
    {driver->library, "cuDeviceGetAttribute", &driver->get_attribute},
    {driver->library, "cuDevicePrimaryCtxRetain", &driver->retain_context},
    {driver->library, "cuDevicePrimaryCtxRelease_v2", &driver->release_context},
    {driver->library, "cuCtxSetCurrent", &driver->set_context},
    {driver->library, "cuModuleLoadData", &driver->load_module},
    {driver->library, "cuModuleUnload", &driver->unload_module},
    {driver->library, "cuModuleGetFunction", &driver->get_function},
    {driver->library, "cuMemAlloc_v2", &driver->take},
    {driver->library, "cuMemFree_v2", &driver->give},
    {driver->library, "cuMemcpyHtoD_v2", &driver->send},
    {driver->library, "cuMemcpyDtoH_v2", &driver->receive},
    {driver->library, "cuMemsetD32Async", &driver->fill},
    {driver->library, "cuMemcpyDtoD_v2", &driver->copy},
    {driver->library, "cuLaunchKernel", &driver->start},
    {driver->library, "cuEventCreate", &driver->create_event},
    {driver->library, "cuEventRecord", &driver->record_event},
    {driver->library, "cuEventSynchronize", &driver->wait_for_event},
    {driver->library, "cuEventElapsedTime", &driver->get_elapsed},
    {driver->library, "cuEventDestroy_v2", &driver->destroy_event},
    {driver->library, "cuGetErrorString", &driver->get_text},
    {driver->compiler, "nvrtcCreateProgram", &driver->create_program},
    {driver->compiler, "nvrtcCompileProgram", &driver->compile_program},
    {driver->compiler, "nvrtcGetCUBINSize", &driver->get_size},
    {driver->compiler, "nvrtcGetCUBIN", &driver->get_code},
    {driver->compiler, "nvrtcGetProgramLogSize", &driver->get_log_size},
    {driver->compiler, "nvrtcGetProgramLog", &driver->get_log},
    {driver->compiler, "nvrtcDestroyProgram", &driver->destroy_program},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *const found = dlsym(functions[i].library, functions[i].name);
    if (found == NULL) return trouble(ctx, "CUDA lacks a function", functions[i].name);
    memcpy(functions[i].place, &found, sizeof found);
  }
  return 0;
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

static int refused(struct NAME_ctx *ctx, struct driver *driver, nvrtcProgram program) {
  size_t size = 0;
  char *log = NULL;
  if (driver->get_log_size(program, &size) == 0 && size > 0 && (log = malloc(size)) != NULL) {
    log[0] = 0;
    driver->get_log(program, log);
  }
  trouble(ctx, "CUDA's compiler refuses the kernels", log == NULL ? "" : log);
  free(log);
  return 1;
}

/* Machine code of the kernels for this device; no contraction, divisions and roots as exact as on the host. */
static int driver_build(struct NAME_ctx *ctx, struct driver *driver) {
  int major = 0, minor = 0;
  driver->get_attribute(&major, 75, driver->device);
  driver->get_attribute(&minor, 76, driver->device);
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  const char *const options[] = {architecture, "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false",
                                 "--device-as-default-execution-space"};
  char *const text = whole_source();
  if (text == NULL) return trouble(ctx, "not enough memory for the kernels", "");
  nvrtcProgram program = NULL;
  int failed = driver->create_program(&program, text, "kernels.cu", 0, NULL, NULL);
  free(text);
  if (failed != 0) return trouble(ctx, "CUDA's compiler does not start", "");
  size_t size = 0;
  char *code = NULL;
  failed = driver->compile_program(program, sizeof options / sizeof *options, options) != 0 ||
           driver->get_size(program, &size) != 0 || (code = malloc(size)) == NULL || driver->get_code(program, code) != 0;
  if (failed) {
    refused(ctx, driver, program);
  } else {
    driver->error = driver->load_module(&driver->module, code);
    failed = driver->error != 0;
    if (failed) trouble(ctx, "the device does not take the kernels", driver_message(driver));
  }
  free(code);
  driver->destroy_program(&program);
  return failed;
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

static int driver_send(struct driver *driver, device_memory memory, const void *from, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->send(memory, from, bytes);
  return driver->error != 0;
}

static int driver_receive(struct driver *driver, device_memory memory, void *to, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->receive(to, memory, bytes);
  return driver->error != 0;
}

/* Keeps the device busy while a kernel is on its way, so that its time has nothing of the way in it. */
static void stay_busy(struct driver *driver) {
  enum { CELLS = 16 << 20 };
  if (driver->before == 0 && driver->take(&driver->before, 4 * (size_t)CELLS) != 0) driver->before = 0;
  if (driver->before != 0) driver->fill(driver->before, 0, CELLS, NULL);
}

/* Cells of a block from one on. */
static device_memory driver_part(device_memory memory, int64_t from, size_t cell) {
  return memory + (device_memory)from * cell;
}

static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, double *seconds) {
  if (driver->functions[kernel] == NULL) {
    driver->error = driver->get_function(&driver->functions[kernel], driver->module, kernel_names[kernel]);
    if (driver->error != 0) return 1;
  }
  void *arguments[MOST_ARGUMENTS];
  for (int i = 0; i < start->count; i++) arguments[i] = start->values[i];
  const unsigned group = of_group != 0 ? (unsigned)of_group : items < GROUP ? (unsigned)items : GROUP;
  const int64_t groups = (items + group - 1) / group;
  if (groups > INT32_MAX) return 1;
  CUevent events[2] = {NULL, NULL};
  for (int i = 0; i < 2 && seconds != NULL; i++) driver->create_event(&events[i], 0);
  if (events[0] != NULL) stay_busy(driver);
  if (events[0] != NULL) driver->record_event(events[0], NULL);
  driver->error = driver->start(driver->functions[kernel], (unsigned)groups, 1, 1, group, 1, 1, 0, NULL, arguments, NULL);
  const int failed = driver->error != 0;
  if (events[1] != NULL) {
    float milliseconds = 0;
    driver->record_event(events[1], NULL);
    driver->wait_for_event(events[1]);
    driver->get_elapsed(&milliseconds, events[0], events[1]);
    *seconds = 1e-3 * (double)milliseconds;
  }
  for (int i = 0; i < 2; i++) {
    if (events[i] != NULL) driver->destroy_event(events[i]);
  }
  return failed;
}

