
/* Parts of the device's memory, from a byte on. */
static int driver_send_part(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes) {
  driver->error = driver->write(driver->queue, memory, 1, at, bytes, from, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_receive_part(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes) {
  driver->error = driver->read(driver->queue, memory, 1, at, bytes, to, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_copy(struct driver *driver, device_memory to, device_memory from, size_t bytes) {
  driver->error = driver->copy(driver->queue, from, to, 0, 0, bytes, 0, NULL, NULL);
  return driver->error != 0;
}

static int driver_zero(struct driver *driver, device_memory memory, size_t at, size_t bytes) {
  const uint32_t zero = 0;
  driver->error = driver->fill(driver->queue, memory, &zero, sizeof zero, at, bytes, 0, NULL, NULL);
  return driver->error != 0;
}
