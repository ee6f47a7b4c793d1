/* Columns grow: memory is copied on the device, and what is new is zero. */
static int driver_copy(struct driver *driver, device_memory to, device_memory from, size_t bytes) {
  driver->error = cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
  return driver->error != cudaSuccess;
}

static int driver_zero(struct driver *driver, device_memory memory, size_t at, size_t bytes) {
  driver->error = cudaMemsetAsync(memory + at, 0, bytes, 0);
  return driver->error != cudaSuccess;
}

