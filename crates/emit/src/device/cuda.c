/* CUDA's driver and its compiler, as far as they are used here. The libraries are looked for when a device is opened. */
typedef int CUresult;
typedef int CUdevice;
typedef struct cuda_context *CUcontext;
typedef struct cuda_module *CUmodule;
typedef struct cuda_function *CUfunction;
typedef struct cuda_event *CUevent;
typedef struct nvrtc_program *nvrtcProgram;
typedef uint64_t device_memory;

/* How many launches are measured before their times are looked at. */
enum { MOST_RECORDS = 256 };

struct driver {
  void *library, *compiler;
  CUresult (*init)(unsigned);
  CUresult (*get_count)(int *);
  CUresult (*get_device)(CUdevice *, int);
  CUresult (*get_name)(char *, int, CUdevice);
  CUresult (*get_attribute)(int *, int, CUdevice);
  CUresult (*get_version)(int *);
  CUresult (*retain_context)(CUcontext *, CUdevice);
  CUresult (*release_context)(CUdevice);
  CUresult (*set_context)(CUcontext);
  CUresult (*wait)(void);
  CUresult (*load_module)(CUmodule *, const void *);
  CUresult (*unload_module)(CUmodule);
  CUresult (*get_function)(CUfunction *, CUmodule, const char *);
  CUresult (*take)(device_memory *, size_t);
  CUresult (*give)(device_memory);
  CUresult (*send)(device_memory, const void *, size_t);
  CUresult (*receive)(void *, device_memory, size_t);
  CUresult (*fill)(device_memory, unsigned, size_t, void *);
  CUresult (*copy)(device_memory, device_memory, size_t);
  CUresult (*start)(
      CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  CUresult (*create_event)(CUevent *, unsigned);
  CUresult (*record_event)(CUevent, void *);
  CUresult (*wait_for_event)(CUevent);
  CUresult (*get_elapsed)(float *, CUevent, CUevent);
  CUresult (*destroy_event)(CUevent);
  CUresult (*get_text)(CUresult, const char **);
  int (*create_program)(nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile_program)(nvrtcProgram, int, const char *const *);
  int (*get_size)(nvrtcProgram, size_t *);
  int (*get_code)(nvrtcProgram, char *);
  int (*get_log_size)(nvrtcProgram, size_t *);
  int (*get_log)(nvrtcProgram, char *);
  int (*destroy_program)(nvrtcProgram *);
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction functions[KERNELS];
  CUevent events[MOST_RECORDS][2]; /* before and behind a launch */
  device_memory before;            /* filled before launches that are measured */
  CUresult error;
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
  const char *text = NULL;
  if (driver->get_text == NULL || driver->get_text(driver->error, &text) != 0 || text == NULL) return "CUDA failed";
  return text;
}

