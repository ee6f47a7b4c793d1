static int driver_load(struct NAME_ctx *ctx, struct driver *driver) {
  const char *const wanted = getenv("ALMACH_OPENCL");
  const char *const names[] = {
    wanted != NULL ? wanted : "libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL"};
  const size_t count = wanted != NULL ? 1 : sizeof names / sizeof *names;
  for (size_t i = 0; i < count && driver->library == NULL; i++) driver->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (driver->library == NULL) {
    return trouble(ctx, "there is no OpenCL here; install the driver of your device, or PoCL. Missing is", names[0]);
  }
  const struct {
    const char *name;
    void *place;
  } functions[] = {
    {"clGetPlatformIDs", &driver->get_platforms},
    {"clGetDeviceIDs", &driver->get_devices},
    {"clGetDeviceInfo", &driver->get_device_info},
    {"clCreateContext", &driver->create_context},
    {"clReleaseContext", &driver->release_context},
    {"clCreateCommandQueue", &driver->create_queue},
    {"clReleaseCommandQueue", &driver->release_queue},
    {"clCreateProgramWithSource", &driver->create_program},
    {"clCreateProgramWithBinary", &driver->create_from_binary},
    {"clGetProgramInfo", &driver->get_program_info},
    {"clBuildProgram", &driver->build_program},
    {"clGetProgramBuildInfo", &driver->get_build_info},
    {"clReleaseProgram", &driver->release_program},
    {"clCreateKernel", &driver->create_kernel},
    {"clReleaseKernel", &driver->release_kernel},
    {"clSetKernelArg", &driver->set_argument},
    {"clEnqueueNDRangeKernel", &driver->start},
    {"clCreateBuffer", &driver->create_buffer},
    {"clReleaseMemObject", &driver->release_memory},
    {"clEnqueueReadBuffer", &driver->read},
    {"clEnqueueWriteBuffer", &driver->write},
    {"clEnqueueCopyBuffer", &driver->copy},
    {"clEnqueueFillBuffer", &driver->fill},
    {"clFinish", &driver->finish},
    {"clWaitForEvents", &driver->wait_for_events},
    {"clGetEventProfilingInfo", &driver->get_profile},
    {"clReleaseEvent", &driver->release_event},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *const found = dlsym(driver->library, functions[i].name);
    if (found == NULL) return trouble(ctx, "OpenCL lacks a function", functions[i].name);
    memcpy(functions[i].place, &found, sizeof found);
  }
  return 0;
}

enum { MOST_DEVICES = 64, DEVICE_NAME = 0x102B, DEVICE_TYPE = 0x1000, DEVICE_VERSION = 0x102F, DEVICE_EXTENSIONS = 0x1030, DEVICE_SINGLE = 0x101B };
enum { DRIVER_VERSION = 0x102D, PROGRAM_SIZES = 0x1165, PROGRAM_BINARIES = 0x1166, BUILD_LOG = 0x1183 };
enum { QUEUE_PROFILING = 2, PROFILE_START = 0x1282, PROFILE_END = 0x1283 };

/* The device that was asked for: by its number, or by a part of its name. Else the first GPU, else the first of all. */
static int driver_choose(struct NAME_ctx *ctx, struct driver *driver) {
  cl_platform_id platforms[MOST_DEVICES];
  cl_device_id devices[MOST_DEVICES];
  cl_uint platform_count = 0, count = 0;
  driver->error = driver->get_platforms(MOST_DEVICES, platforms, &platform_count);
  if (driver->error != 0) platform_count = 0;
  for (cl_uint i = 0; i < platform_count && i < MOST_DEVICES; i++) {
    cl_uint more = 0;
    if (driver->get_devices(platforms[i], 0xFFFFFFFF, MOST_DEVICES - count, devices + count, &more) != 0) continue;
    count = count + more < MOST_DEVICES ? count + more : MOST_DEVICES;
  }
  if (count == 0) return trouble(ctx, "OpenCL finds no device: install the driver of your device, or PoCL", "");
  const char *const wanted = wanted_device(ctx);
  char *end = NULL;
  const long number = wanted == NULL ? -1 : strtol(wanted, &end, 10);
  for (cl_uint i = 0; i < count; i++) {
    char name[256] = "";
    cl_bits type = 0;
    driver->get_device_info(devices[i], DEVICE_NAME, sizeof name - 1, name, NULL);
    driver->get_device_info(devices[i], DEVICE_TYPE, sizeof type, &type, NULL);
    const bool chosen = wanted == NULL ? (type & 4) != 0 : *end == 0 ? number == (long)i : strstr(name, wanted) != NULL;
    if (!chosen) continue;
    driver->device = devices[i];
    return 0;
  }
  if (wanted != NULL) return trouble(ctx, "OpenCL finds no such device", wanted);
  driver->device = devices[0];
  return 0;
}

/* The kernels as they were built before; false where they were not, or where this does not work any more. */
static bool driver_rebuild(struct driver *driver, const uint64_t key[2], const char *options) {
  size_t size = 0;
  char *const code = kept_read(key, &size);
  if (code == NULL) return false;
  const unsigned char *const cells = (const unsigned char *)code;
  const unsigned char *programs[] = {cells};
  cl_int status = 0;
  driver->program = driver->create_from_binary(driver->context, 1, &driver->device, &size, programs, &status, &driver->error);
  free(code);
  if (driver->program == NULL) return false;
  if (status == 0 && driver->build_program(driver->program, 1, &driver->device, options, NULL, NULL) == 0) return true;
  driver->release_program(driver->program);
  driver->program = NULL;
  return false;
}

static void driver_keep(struct driver *driver, const uint64_t key[2]) {
  size_t size = 0;
  if (driver->get_program_info(driver->program, PROGRAM_SIZES, sizeof size, &size, NULL) != 0 || size == 0) return;
  char *code = malloc(size);
  if (code == NULL) return;
  char *programs[] = {code};
  if (driver->get_program_info(driver->program, PROGRAM_BINARIES, sizeof programs, programs, NULL) == 0) kept_write(key, code, size);
  free(code);
}

/* What the compiler says of kernels that it refuses. */
static int refused(struct NAME_ctx *ctx, struct driver *driver) {
  size_t size = 0;
  char *log = NULL;
  if (driver->get_build_info(driver->program, driver->device, BUILD_LOG, 0, NULL, &size) == 0 && (log = malloc(size + 1)) != NULL) {
    log[0] = log[size] = 0;
    driver->get_build_info(driver->program, driver->device, BUILD_LOG, size, log, NULL);
  }
  trouble(ctx, "the device's compiler refuses the kernels", log == NULL || log[0] == 0 ? driver_message(driver) : log);
  free(log);
  return 1;
}

static int driver_build(struct NAME_ctx *ctx, struct driver *driver) {
  cl_bits single = 0;
  driver->get_device_info(driver->device, DEVICE_SINGLE, sizeof single, &single, NULL);
  /* Division and square roots are as exact as on the host where the device can do so. */
  const char *const exact = (single & 128) != 0 ? " -cl-fp32-correctly-rounded-divide-sqrt" : "";
  /* PoCL up to 3.1 makes a wrong loop over work-items of one that writes an array and then reads it. */
  char version[256] = "", name[256] = "", of_driver[256] = "";
  driver->get_device_info(driver->device, DEVICE_VERSION, sizeof version - 1, version, NULL);
  driver->get_device_info(driver->device, DEVICE_NAME, sizeof name - 1, name, NULL);
  driver->get_device_info(driver->device, DRIVER_VERSION, sizeof of_driver - 1, of_driver, NULL);
  const bool is_pocl = strstr(version, "PoCL") != NULL || strstr(version, "pocl") != NULL;
  char options[128];
  snprintf(options, sizeof options, "-cl-std=CL1.2%s%s", exact, is_pocl ? " -cl-opt-disable" : "");
  const char *const texts[] = {options, version, name, of_driver};
  uint64_t key[2];
  kept_key(key, texts, sizeof texts / sizeof *texts);
  /* PoCL keeps kernels itself, and takes long to give them away: here it has to be asked for. */
  const bool is_kept = !is_pocl || getenv("ALMACH_KERNELS") != NULL;
  if (is_kept && driver_rebuild(driver, key, options)) return 0;
  const char *lines[sizeof kernel_source / sizeof *kernel_source];
  memcpy(lines, kernel_source, sizeof lines);
  driver->program =
      driver->create_program(driver->context, sizeof lines / sizeof *lines, lines, NULL, &driver->error);
  if (driver->program == NULL) return trouble(ctx, "kernels are not accepted", driver_message(driver));
  driver->error = driver->build_program(driver->program, 1, &driver->device, options, NULL, NULL);
  if (driver->error != 0) return refused(ctx, driver);
  if (is_kept) driver_keep(driver, key);
  return 0;
}

static int driver_open(struct NAME_ctx *ctx, struct driver *driver) {
  if (driver_load(ctx, driver) != 0 || driver_choose(ctx, driver) != 0) return 1;
  driver->context = driver->create_context(NULL, 1, &driver->device, NULL, NULL, &driver->error);
  if (driver->context == NULL) return trouble(ctx, "the device does not open", driver_message(driver));
  if (driver_measure(driver, ctx->timed) != 0) return trouble(ctx, "the device does not open", driver_message(driver));
  return driver_build(ctx, driver);
}

static void driver_close(struct driver *driver) {
  for (int i = 0; i < KERNELS; i++) {
    if (driver->kernels[i] != NULL) driver->release_kernel(driver->kernels[i]);
  }
  for (int i = 0; i < MOST_RECORDS; i++) {
    if (driver->events[i] != NULL) driver->release_event(driver->events[i]);
  }
  if (driver->program != NULL) driver->release_program(driver->program);
  if (driver->queue != NULL) driver->release_queue(driver->queue);
  if (driver->context != NULL) driver->release_context(driver->context);
}

static int driver_take(struct driver *driver, size_t bytes, device_memory *memory) {
  *memory = driver->create_buffer(driver->context, 1, bytes, NULL, &driver->error);
  return *memory == NULL;
}

static void driver_give(struct driver *driver, device_memory memory) {
  driver->release_memory(memory);
}

static int driver_send(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->write(driver->queue, memory, 1, at, bytes, from, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_receive(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->read(driver->queue, memory, 1, at, bytes, to, 0, NULL, NULL);
  return driver->error != 0;
}

/* Cells of a block from one on: the kernel counts from there. */
static device_memory driver_part(device_memory memory, int64_t from, size_t cell) {
  (void)from;
  (void)cell;
  return memory;
}

static void *driver_address(device_memory memory) {
  return memory;
}

static int driver_enter(struct driver *driver) {
  (void)driver;
  return 0;
}

static int driver_wait(struct driver *driver) {
  driver->error = driver->finish(driver->queue);
  return driver->error != 0;
}

/* A queue that measures, or one that does not. */
static int driver_measure(struct driver *driver, bool measured) {
  if (driver->queue != NULL && driver_wait(driver) != 0) return 1;
  if (driver->queue != NULL) driver->release_queue(driver->queue);
  driver->queue = driver->create_queue(driver->context, driver->device, measured ? QUEUE_PROFILING : 0, &driver->error);
  return driver->queue == NULL;
}

static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, int record) {
  if (driver->kernels[kernel] == NULL) {
    driver->kernels[kernel] = driver->create_kernel(driver->program, kernel_names[kernel], &driver->error);
    if (driver->kernels[kernel] == NULL) return 1;
  }
  for (int i = 0; i < start->count; i++) {
    driver->error = driver->set_argument(driver->kernels[kernel], (cl_uint)i, start->sizes[i], start->values[i]);
    if (driver->error != 0) return 1;
  }
  const size_t group = of_group != 0 ? (size_t)of_group : items < GROUP ? (size_t)items : GROUP;
  const size_t all = ((size_t)items + group - 1) / group * group;
  cl_event *const event = record < 0 ? NULL : &driver->events[record];
  if (event != NULL && *event != NULL) driver->release_event(*event);
  if (event != NULL) *event = NULL;
  driver->error = driver->start(driver->queue, driver->kernels[kernel], 1, NULL, &all, &group, 0, NULL, event);
  return driver->error != 0;
}

static double driver_elapsed(struct driver *driver, int first, int last) {
  cl_bits from = 0, to = 0;
  driver->wait_for_events(1, &driver->events[last]);
  driver->get_profile(driver->events[first], PROFILE_START, sizeof from, &from, NULL);
  driver->get_profile(driver->events[last], PROFILE_END, sizeof to, &to, NULL);
  return 1e-9 * (double)(to - from);
}
