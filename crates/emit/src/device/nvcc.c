/* CUDA's run time, which nvcc links. */
typedef char *device_memory;

/* How many launches are measured before their times are looked at. */
enum { MOST_RECORDS = 256 };

struct driver {
  int device;
  cudaEvent_t events[MOST_RECORDS][2]; /* before and behind a launch */
  device_memory before;                /* filled before launches that are measured */
  cudaError_t error;
};

enum { MOST_ARGUMENTS = 256, MOST_ARGUMENT_BYTES = 16 };

/* The arguments of a kernel, as they are now. */
struct start {
  int count;
  char values[MOST_ARGUMENTS][MOST_ARGUMENT_BYTES];
};

static void add_argument(struct start *start, const void *value, size_t size) {
  memcpy(start->values[start->count++], value, size);
}

static const char *driver_message(struct driver *driver) {
  return cudaGetErrorString(driver->error);
}

