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

static int driver_build(struct NAME_ctx *ctx, struct driver *driver) {
  const char *lines[sizeof kernel_source / sizeof *kernel_source];
  memcpy(lines, kernel_source, sizeof lines);
  driver->program =
      driver->create_program(driver->context, sizeof lines / sizeof *lines, lines, NULL, &driver->error);
  if (driver->program == NULL) return trouble(ctx, "kernels are not accepted", driver_message(driver));
  cl_bits single = 0;
  driver->get_device_info(driver->device, DEVICE_SINGLE, sizeof single, &single, NULL);
  /* Division and square roots are as exact as on the host where the device can do so. */
  const char *const exact = (single & 128) != 0 ? " -cl-fp32-correctly-rounded-divide-sqrt" : "";
  /* PoCL up to 3.1 makes a wrong loop over work-items of one that writes an array and then reads it. */
  char version[256] = "";
  driver->get_device_info(driver->device, DEVICE_VERSION, sizeof version - 1, version, NULL);
  const bool is_pocl = strstr(version, "PoCL") != NULL || strstr(version, "pocl") != NULL;
  char options[128];
  snprintf(options, sizeof options, "-cl-std=CL1.2%s%s", exact, is_pocl ? " -cl-opt-disable" : "");
  driver->error = driver->build_program(driver->program, 1, &driver->device, options, NULL, NULL);
  if (driver->error != 0) {
    char log[4096] = "";
    driver->get_build_info(driver->program, driver->device, 0x1183, sizeof log - 1, log, NULL);
    return trouble(ctx, "the device's compiler refuses the kernels", log);
  }
  return 0;
}

static int driver_open(struct NAME_ctx *ctx, struct driver *driver) {
  if (driver_load(ctx, driver) != 0 || driver_choose(ctx, driver) != 0) return 1;
  driver->context = driver->create_context(NULL, 1, &driver->device, NULL, NULL, &driver->error);
  if (driver->context == NULL) return trouble(ctx, "the device does not open", driver_message(driver));
  driver->queue = driver->create_queue(driver->context, driver->device, ctx->timed ? QUEUE_PROFILING : 0, &driver->error);
  if (driver->queue == NULL) return trouble(ctx, "the device does not open", driver_message(driver));
  return driver_build(ctx, driver);
}

static void driver_close(struct driver *driver) {
  for (int i = 0; i < KERNELS; i++) {
    if (driver->kernels[i] != NULL) driver->release_kernel(driver->kernels[i]);
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

static int driver_send(struct driver *driver, device_memory memory, const void *from, size_t bytes) {
  if (bytes == 0) return 0;
  driver->error = driver->write(driver->queue, memory, 1, 0, bytes, from, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_receive(struct driver *driver, device_memory memory, void *to, size_t bytes) {
  driver->error = bytes == 0 ? 0 : driver->read(driver->queue, memory, 1, 0, bytes, to, 0, NULL, NULL);
  return driver->error != 0;
}

/* Cells of a block from one on: the kernel counts from there. */
static device_memory driver_part(device_memory memory, int64_t from, size_t cell) {
  (void)from;
  (void)cell;
  return memory;
}

static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, double *seconds) {
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
  cl_event event = NULL;
  driver->error =
      driver->start(driver->queue, driver->kernels[kernel], 1, NULL, &all, &group, 0, NULL, seconds != NULL ? &event : NULL);
  if (event != NULL) {
    cl_bits from = 0, to = 0;
    driver->wait_for_events(1, &event);
    driver->get_profile(event, PROFILE_START, sizeof from, &from, NULL);
    driver->get_profile(event, PROFILE_END, sizeof to, &to, NULL);
    *seconds = 1e-9 * (double)(to - from);
    driver->release_event(event);
  }
  return driver->error != 0;
}

