
/* Parts of the device's memory, from a byte on. */
static int driver_send_part(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes) {
  driver->error = driver->send(memory + at, from, bytes);
  return driver->error != 0;
}

static int driver_receive_part(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes) {
  driver->error = driver->receive(to, memory + at, bytes);
  return driver->error != 0;
}

static int driver_copy(struct driver *driver, device_memory to, device_memory from, size_t bytes) {
  driver->error = driver->copy(to, from, bytes);
  return driver->error != 0;
}

static int driver_zero(struct driver *driver, device_memory memory, size_t at, size_t bytes) {
  driver->error = driver->fill(memory + at, 0, bytes / 4, NULL);
  return driver->error != 0;
}
