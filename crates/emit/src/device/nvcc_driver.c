/* The device that was asked for: by its number, or by a part of its name. Else the first. */
static int driver_open(struct NAME_ctx *ctx, struct driver *driver) {
  int count = 0;
  driver->error = cudaGetDeviceCount(&count);
  if (driver->error != cudaSuccess) return trouble(ctx, "CUDA does not start", driver_message(driver));
  const char *const wanted = wanted_device(ctx);
  char *end = NULL;
  const long number = wanted == NULL ? 0 : strtol(wanted, &end, 10);
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    if (wanted == NULL || *end == 0 ? number != i : strstr(properties.name, wanted) == NULL) continue;
    driver->device = i;
    driver->error = cudaSetDevice(i);
    return driver->error == cudaSuccess ? 0 : trouble(ctx, "the device does not open", driver_message(driver));
  }
  return trouble(ctx, "CUDA finds no such device", wanted == NULL ? "" : wanted);
}

static void driver_close(struct driver *driver) {
  cudaFree(driver->before);
  for (int i = 0; i < 2 * MOST_RECORDS; i++) {
    if (driver->events[i / 2][i % 2] != NULL) cudaEventDestroy(driver->events[i / 2][i % 2]);
  }
}

static int driver_take(struct driver *driver, size_t bytes, device_memory *memory) {
  driver->error = cudaMalloc((void **)memory, bytes);
  if (driver->error != cudaSuccess) (void)cudaGetLastError();
  return driver->error != cudaSuccess;
}

static void driver_give(struct driver *driver, device_memory memory) {
  (void)driver;
  cudaFree(memory);
}

static int driver_send(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes) {
  driver->error = bytes == 0 ? cudaSuccess : cudaMemcpy(memory + at, from, bytes, cudaMemcpyHostToDevice);
  return driver->error != cudaSuccess;
}

static int driver_receive(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes) {
  driver->error = bytes == 0 ? cudaSuccess : cudaMemcpy(to, memory + at, bytes, cudaMemcpyDeviceToHost);
  return driver->error != cudaSuccess;
}

static void *driver_address(device_memory memory) {
  return memory;
}

static int driver_enter(struct driver *driver) {
  driver->error = cudaSetDevice(driver->device);
  return driver->error != cudaSuccess;
}

static int driver_wait(struct driver *driver) {
  driver->error = cudaDeviceSynchronize();
  return driver->error != cudaSuccess;
}

static int driver_measure(struct driver *driver, bool measured) {
  (void)measured;
  return driver_wait(driver);
}

/* Keeps the device busy while kernels are on their way, so that times have nothing of the way in them. Its cells take the place of
 * others in the device's cache. */
static void stay_busy(struct driver *driver) {
  const size_t bytes = (size_t)256 << 20;
  if (driver->before == NULL && cudaMalloc((void **)&driver->before, bytes) != cudaSuccess) driver->before = NULL;
  if (driver->before != NULL) cudaMemsetAsync(driver->before, 0, bytes, 0);
}

/* Cells of a block from one on. */
static device_memory driver_part(device_memory memory, int64_t from, size_t cell) {
  return memory + (size_t)from * cell;
}

static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, int record) {
  void *arguments[MOST_ARGUMENTS];
  for (int i = 0; i < start->count; i++) arguments[i] = start->values[i];
  const unsigned group = of_group != 0 ? (unsigned)of_group : items < GROUP ? (unsigned)items : GROUP;
  const int64_t groups = items / group + (items % group != 0);
  if (groups > INT32_MAX) {
    driver->error = cudaErrorInvalidConfiguration;
    return 1;
  }
  cudaEvent_t *const events = record < 0 ? NULL : driver->events[record];
  for (int i = 0; i < 2 && events != NULL; i++) {
    if (events[i] != NULL) continue;
    driver->error = cudaEventCreate(&events[i]);
    if (driver->error != cudaSuccess) return 1;
  }
  if (record == 0) stay_busy(driver);
  if (events != NULL) cudaEventRecord(events[0], 0);
  driver->error = cudaLaunchKernel(kernel_functions[kernel], dim3((unsigned)groups), dim3(group), arguments, 0, 0);
  if (events != NULL) cudaEventRecord(events[1], 0);
  return driver->error != cudaSuccess;
}

static double driver_elapsed(struct driver *driver, int first, int last) {
  float milliseconds = 0;
  cudaEventSynchronize(driver->events[last][1]);
  cudaEventElapsedTime(&milliseconds, driver->events[first][0], driver->events[last][1]);
  return 1e-3 * (double)milliseconds;
}

