/* OpenCL, as far as it is used here. The library is looked for when a device is opened. */
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bits;
typedef struct cl_platform *cl_platform_id;
typedef struct cl_device *cl_device_id;
typedef struct cl_context_ *cl_context;
typedef struct cl_queue *cl_command_queue;
typedef struct cl_memory *cl_mem;
typedef struct cl_program_ *cl_program;
typedef struct cl_kernel_ *cl_kernel;
typedef struct cl_event_ *cl_event;
typedef cl_mem device_memory;

/* How many launches are measured before their times are looked at. */
enum { MOST_RECORDS = 256 };

struct driver {
  void *library;
  cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
  cl_int (*get_devices)(cl_platform_id, cl_bits, cl_uint, cl_device_id *, cl_uint *);
  cl_int (*get_device_info)(cl_device_id, cl_uint, size_t, void *, size_t *);
  cl_context (*create_context)(
      const intptr_t *, cl_uint, const cl_device_id *, void (*)(const char *, const void *, size_t, void *), void *, cl_int *);
  cl_int (*release_context)(cl_context);
  cl_command_queue (*create_queue)(cl_context, cl_device_id, cl_bits, cl_int *);
  cl_int (*release_queue)(cl_command_queue);
  cl_program (*create_program)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
  cl_program (*create_from_binary)(
      cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *);
  cl_int (*get_program_info)(cl_program, cl_uint, size_t, void *, size_t *);
  cl_int (*build_program)(
      cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), void *);
  cl_int (*get_build_info)(cl_program, cl_device_id, cl_uint, size_t, void *, size_t *);
  cl_int (*release_program)(cl_program);
  cl_kernel (*create_kernel)(cl_program, const char *, cl_int *);
  cl_int (*release_kernel)(cl_kernel);
  cl_int (*set_argument)(cl_kernel, cl_uint, size_t, const void *);
  cl_int (*start)(
      cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const void *, void *);
  cl_mem (*create_buffer)(cl_context, cl_bits, size_t, void *, cl_int *);
  cl_int (*release_memory)(cl_mem);
  cl_int (*read)(cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const void *, void *);
  cl_int (*write)(cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const void *, void *);
  cl_int (*copy)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const void *, void *);
  cl_int (*fill)(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const void *, void *);
  cl_int (*finish)(cl_command_queue);
  cl_int (*wait_for_events)(cl_uint, const cl_event *);
  cl_int (*get_profile)(cl_event, cl_uint, size_t, void *, size_t *);
  cl_int (*release_event)(cl_event);
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernels[KERNELS];
  cl_event events[MOST_RECORDS]; /* of launches that are measured */
  cl_int error;
  char message[64];
};

enum { MOST_ARGUMENTS = 256, MOST_ARGUMENT_BYTES = 16 };

/* The arguments of a kernel, as they are now. */
struct start {
  int count;
  size_t sizes[MOST_ARGUMENTS];
  char values[MOST_ARGUMENTS][MOST_ARGUMENT_BYTES];
};

static void add_argument(struct start *start, const void *value, size_t size) {
  memcpy(start->values[start->count], value, size);
  start->sizes[start->count++] = size;
}

static const char *driver_message(struct driver *driver) {
  const char *text = "";
  switch (driver->error) {
    case -4: text = " (not enough memory on the device)"; break;
    case -5: text = " (out of resources)"; break;
    case -6: text = " (not enough memory on the host)"; break;
    case -36: text = " (the queue is lost)"; break;
    case -52: text = " (wrong arguments)"; break;
    case -54: text = " (groups too large)"; break;
    case -61: text = " (too large a buffer)"; break;
    default: break;
  }
  snprintf(driver->message, sizeof driver->message, "OpenCL's error %d%s", (int)driver->error, text);
  return driver->message;
}

