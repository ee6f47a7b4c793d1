/* Columns grow: memory is copied on the device, and what is new is zero. */
static int driver_copy(struct driver *driver, device_memory to, device_memory from, size_t bytes) {
  driver->error = driver->copy(to, from, bytes);
  return driver->error != 0;
}

static int driver_zero(struct driver *driver, device_memory memory, size_t at, size_t bytes) {
  driver->error = driver->fill(memory + at, 0, bytes / 4, NULL);
  return driver->error != 0;
}
