/* Columns grow: memory is copied on the device, and what is new is zero. */
static int driver_copy(struct driver *driver, device_memory to, device_memory from, size_t bytes) {
  driver->error = driver->copy(driver->queue, from, to, 0, 0, bytes, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_zero(struct driver *driver, device_memory memory, size_t at, size_t bytes) {
  const uint32_t zero = 0;
  driver->error = driver->fill(driver->queue, memory, &zero, sizeof zero, at, bytes, 0, NULL, NULL);
  return driver->error != 0;
}
