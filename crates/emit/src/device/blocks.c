/* Of the functions below a program uses some. */
#if defined(__GNUC__)
#define SOMETIMES __attribute__((unused))
#else
#define SOMETIMES
#endif

/* What a kernel is given: a scalar, or the cells of a block, which it may write. `part`: from some cell on. */
enum passing { SCALAR, READS, WRITES };

struct argument {
  const void *data;
  size_t size; /* of the scalar, or of one cell */
  enum passing passing;
  bool part;
MIRRORED
};

static inline SOMETIMES struct argument scalar(const void *value, size_t size) {
  return (struct argument){.data = value, .size = size, .passing = SCALAR};
}

static inline SOMETIMES struct argument block_of(const void *cells, enum passing passing) {
  return (struct argument){.data = cells, .size = 1, .passing = passing};
}

static inline SOMETIMES struct argument part_of(const void *cells, size_t cell, enum passing passing) {
  return (struct argument){.data = cells, .size = cell, .passing = passing, .part = true};
}

/* Who has the cells of a block as they are now. New cells are the same everywhere. */
enum { ON_HOST = 1, ON_DEVICE = 2 };

/* Cells of the host, and their memory on the device. `stays`: an array of the caller's on the device, which outlives calls; `borrowed`:
 * so does its memory. */
struct block {
  char *cells;
  size_t bytes;
  int valid;
  bool stays, borrowed, has_memory;
  device_memory memory;
};

ROW_TYPES
/* What kernels tell the host: where the least iteration failed, and scalars. `state`: the launch in which one did, and its site. */
struct mailbox {
  int32_t lock, unused;
  uint64_t state;
  int64_t at;
  uint64_t values[VALUES], results[RESULTS];
};

enum { KEPT_MEMORIES = 16 };

/* What is measured: every kernel, transfers there and back, and calls from their first kernel to their last. */
enum { THERE = KERNELS, BACK, CALLS, MEASURED };

struct device {
  struct driver driver;
  struct block *blocks; /* in the order of their cells */
  size_t count, room;
  struct {
    device_memory memory;
    size_t bytes;
  } kept[KEPT_MEMORIES]; /* memory that was given back, the latest first */
  int kept_count;
  struct {
    double seconds, least;
    int64_t count;
  } times[MEASURED];
  int records[MOST_RECORDS]; /* the kernels that were started and whose times are not known yet */
  int record_count;
  device_memory mailbox;
  struct mailbox box;
  int32_t launch;
  bool pending; /* a kernel ran since the mailbox was looked at */
COPIED
MIRRORS
};

/* Notes that a call failed, for a reason that is not in the program. */
static int trouble(struct NAME_ctx *ctx, const char *text, const char *detail) {
  ctx->failure.site = -1;
  snprintf(ctx->trouble, sizeof ctx->trouble, "%s%s%s", text, detail[0] != 0 ? ": " : "", detail);
  return 1;
}

static int driver_open(struct NAME_ctx *ctx, struct driver *driver);
static void driver_close(struct driver *driver);
static int driver_take(struct driver *driver, size_t bytes, device_memory *memory);
static void driver_give(struct driver *driver, device_memory memory);
static int driver_send(struct driver *driver, device_memory memory, size_t at, const void *from, size_t bytes);
static int driver_receive(struct driver *driver, device_memory memory, size_t at, void *to, size_t bytes);
static device_memory driver_part(device_memory memory, int64_t from, size_t cell);
static void *driver_address(device_memory memory);
/* Calls may come from several threads, one after the other. */
static int driver_enter(struct driver *driver);
static int driver_wait(struct driver *driver);
static int driver_measure(struct driver *driver, bool measured);
/* `record`: where its time is noted; -1 where it is not. */
static int driver_launch(struct driver *driver, int kernel, int64_t items, int64_t of_group, struct start *start, int record);
/* Seconds from the start of one launch to the end of another, by the device's clock. */
static double driver_elapsed(struct driver *driver, int first, int last);

/* What `failure.site` says where the device has not enough memory. */
enum { NO_DEVICE_MEMORY = -2 };

static double seconds_now(void) {
  struct timespec now = {0};
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note_time(struct device *device, int number, double seconds) {
  if (device->times[number].count == 0 || seconds < device->times[number].least) device->times[number].least = seconds;
  device->times[number].seconds += seconds;
  device->times[number].count++;
}

/* The times of the kernels that were started: waits for them. */
static void note_kernels(struct device *device) {
  if (device->record_count == 0) return;
  for (int i = 0; i < device->record_count; i++) {
    note_time(device, device->records[i], driver_elapsed(&device->driver, i, i));
  }
  note_time(device, CALLS, driver_elapsed(&device->driver, 0, device->record_count - 1));
  device->record_count = 0;
}

/* Cells go to the device, and come back. Where this is measured, kernels on their way are none of its time. */
static int send_cells(struct NAME_ctx *ctx, device_memory memory, size_t at, const void *from, size_t bytes) {
  struct device *const device = ctx->device;
  if (ctx->timed && driver_wait(&device->driver) != 0) return 1;
  const double start = ctx->timed ? seconds_now() : 0;
  if (driver_send(&device->driver, memory, at, from, bytes) != 0) return 1;
  if (ctx->timed) note_time(device, THERE, seconds_now() - start);
  return 0;
}

static int receive_cells(struct NAME_ctx *ctx, device_memory memory, size_t at, void *to, size_t bytes) {
  struct device *const device = ctx->device;
  if (ctx->timed && driver_wait(&device->driver) != 0) return 1;
  const double start = ctx->timed ? seconds_now() : 0;
  if (driver_receive(&device->driver, memory, at, to, bytes) != 0) return 1;
  if (ctx->timed) note_time(device, BACK, seconds_now() - start);
  return 0;
}

static void close_device(struct NAME_ctx *ctx) {
  struct device *const device = ctx->device;
  if (device == NULL) return;
  (void)driver_enter(&device->driver);
  for (size_t i = 0; i < device->count; i++) {
    if (device->blocks[i].has_memory && !device->blocks[i].borrowed) driver_give(&device->driver, device->blocks[i].memory);
  }
  for (int i = 0; i < device->kept_count; i++) driver_give(&device->driver, device->kept[i].memory);
  if (device->launch != 0) driver_give(&device->driver, device->mailbox);
  driver_close(&device->driver);
  free(device->blocks);
  free(device);
  ctx->device = NULL;
}

/* Memory that was given back, to the system. */
static void drop_kept(struct device *device) {
  for (int i = 0; i < device->kept_count; i++) driver_give(&device->driver, device->kept[i].memory);
  device->kept_count = 0;
}

static int take_memory(struct device *device, size_t bytes, device_memory *memory) {
  for (int i = 0; i < device->kept_count; i++) {
    if (device->kept[i].bytes < bytes || device->kept[i].bytes / 2 > bytes) continue;
    *memory = device->kept[i].memory;
    for (; i + 1 < device->kept_count; i++) device->kept[i] = device->kept[i + 1];
    device->kept_count--;
    return 0;
  }
  if (driver_take(&device->driver, bytes, memory) == 0) return 0;
  drop_kept(device);
  return driver_take(&device->driver, bytes, memory);
}

static void give_memory(struct device *device, device_memory memory, size_t bytes) {
  if (device->kept_count == KEPT_MEMORIES) {
    driver_give(&device->driver, device->kept[KEPT_MEMORIES - 1].memory);
    device->kept_count--;
  }
  for (int i = device->kept_count; i > 0; i--) device->kept[i] = device->kept[i - 1];
  device->kept[0].memory = memory;
  device->kept[0].bytes = bytes;
  device->kept_count++;
}

/* How many bytes the memory of a block has: some more than its cells, so that words can be used where cells are bytes. */
static size_t memory_bytes(size_t bytes) {
  return (bytes + 63) / 64 * 64 + 64;
}

static int open_device(struct NAME_ctx *ctx) {
  if (ctx->device != NULL) {
    if (driver_enter(&ctx->device->driver) == 0) return 0;
    return trouble(ctx, "the device is not there any more", driver_message(&ctx->device->driver));
  }
  struct device *const device = calloc(1, sizeof *device);
  if (device == NULL) return trouble(ctx, "not enough memory for a device", "");
  if (driver_open(ctx, &device->driver) != 0) {
    driver_close(&device->driver);
    free(device);
    return 1;
  }
  ctx->device = device;
  if (driver_take(&device->driver, sizeof device->box, &device->mailbox) != 0) {
    close_device(ctx);
    return trouble(ctx, "the device has no memory", "");
  }
  device->launch = 1;
  if (driver_send(&device->driver, device->mailbox, 0, &device->box, sizeof device->box) != 0) {
    close_device(ctx);
    return trouble(ctx, "the device takes no data", "");
  }
  return 0;
}

/* The number of blocks that start at or before a cell. */
static size_t blocks_up_to(const struct device *device, const char *cell) {
  size_t low = 0, high = device->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (device->blocks[middle].cells <= cell) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The block that a cell is in, or ends at; NULL where there is none. */
static struct block *find_block(struct NAME_ctx *ctx, const void *cell) {
  struct device *const device = ctx->device;
  if (device == NULL || cell == NULL) return NULL;
  const size_t after = blocks_up_to(device, (const char *)cell);
  if (after == 0) return NULL;
  struct block *const block = &device->blocks[after - 1];
  return (size_t)((const char *)cell - block->cells) <= block->bytes ? block : NULL;
}

static int add_block(struct NAME_ctx *ctx, struct block block) {
  struct device *const device = ctx->device;
  if (device->count == device->room) {
    const size_t room = device->room == 0 ? 16 : 2 * device->room;
    struct block *const blocks = realloc(device->blocks, room * sizeof *blocks);
    if (blocks == NULL) return 1;
    device->blocks = blocks;
    device->room = room;
  }
  const size_t at = blocks_up_to(device, block.cells);
  for (size_t i = device->count; i > at; i--) device->blocks[i] = device->blocks[i - 1];
  device->blocks[at] = block;
  device->count++;
  return 0;
}

static void remove_block(struct device *device, struct block *block) {
  if (block->has_memory && !block->borrowed) give_memory(device, block->memory, memory_bytes(block->bytes));
  const size_t at = (size_t)(block - device->blocks);
  for (size_t i = at; i + 1 < device->count; i++) device->blocks[i] = device->blocks[i + 1];
  device->count--;
}

/* Cells of the caller: on the host, where they are as long as the call lasts, or an array on the device, or a part of one. */
static SOMETIMES int attach(struct NAME_ctx *ctx, const void *cells, int64_t count, size_t cell) {
  if (open_device(ctx) != 0) return 1;
  /* No cells: a block of its own, unless it stands in one with cells. */
  if (cells == NULL || (count <= 0 && find_block(ctx, cells) != NULL)) return 0;
  char *from = (char *)(uintptr_t)cells, *to = from + (count > 0 ? (size_t)count * cell : 0);
  /* Arrays of the caller may overlap: what does is one block. */
  for (size_t i = 0; i < ctx->device->count; i++) {
    struct block *const other = &ctx->device->blocks[i];
    if (other->cells >= to || other->cells + other->bytes <= from) continue;
    if (other->stays && other->cells <= from && other->cells + other->bytes >= to) return 0;
    if (other->stays) return trouble(ctx, "an argument reaches beyond the end of the array on the device that it is in", "");
    if (other->cells < from) from = other->cells;
    if (other->cells + other->bytes > to) to = other->cells + other->bytes;
    remove_block(ctx->device, other);
    i--;
  }
  const struct block block = {.cells = from, .bytes = (size_t)(to - from), .valid = ON_HOST};
  return add_block(ctx, block) == 0 ? 0 : trouble(ctx, "not enough memory for a device", "");
}

/* A block of the host's heap; false where there is no memory to note it. */
static SOMETIMES bool know(struct NAME_ctx *ctx, void *cells, size_t bytes) {
  const struct block block = {.cells = (char *)cells, .bytes = bytes, .valid = ON_HOST};
  return ctx->device == NULL || add_block(ctx, block) == 0;
}

/* A block that was just allocated: nothing of it has to be sent. */
static SOMETIMES void fresh(struct NAME_ctx *ctx, const void *cells) {
  struct block *const block = find_block(ctx, cells);
  if (block != NULL) block->valid = ON_HOST | ON_DEVICE;
}

/* A block of the host's heap has become shorter, and may have moved: what is beyond its end does not come back from the device. */
static SOMETIMES void shrunk(struct NAME_ctx *ctx, uintptr_t from, void *to, size_t bytes) {
  struct device *const device = ctx == NULL ? NULL : ctx->device;
  if (device == NULL) return;
  const size_t after = blocks_up_to(device, (const char *)from);
  if (after == 0 || device->blocks[after - 1].cells != (char *)from) return;
  struct block block = device->blocks[after - 1];
  for (size_t i = after; i < device->count; i++) device->blocks[i - 1] = device->blocks[i];
  device->count--;
  block.cells = (char *)to;
  block.bytes = bytes;
  (void)add_block(ctx, block); /* there is room for it */
}

/* A block goes back to the host's heap. */
static SOMETIMES void forget(struct NAME_ctx *ctx, void *cells) {
  if (ctx == NULL || ctx->device == NULL) return;
  struct block *const block = find_block(ctx, cells);
  if (block != NULL && block->cells == (char *)cells) remove_block(ctx->device, block);
}

/* What kernels report up to now is nobody's business any more. Not 0 where the device takes no data. */
static SOMETIMES int empty_mailbox(struct device *device) {
  device->pending = false;
  memset(&device->box, 0, sizeof device->box);
FORGOTTEN
  return driver_send(&device->driver, device->mailbox, 0, &device->box, sizeof device->box);
}

/* Looks into the mailbox. Not 0 where a kernel failed. */
static SOMETIMES int collect(struct NAME_ctx *ctx) {
  struct device *const device = ctx->device;
  if (device == NULL || !device->pending) return ctx->failure.site != 0;
  device->pending = false;
  if (driver_receive(&device->driver, device->mailbox, 0, &device->box, sizeof device->box) != 0) {
    return trouble(ctx, "a kernel failed", driver_message(&device->driver));
  }
COLLECT
  if (device->box.state == 0) return 0;
  ctx->failure.site = (int32_t)(device->box.state & UINT32_MAX);
  memcpy(ctx->failure.values, device->box.values, sizeof ctx->failure.values);
  if (empty_mailbox(device) != 0) {
    return trouble(ctx, "the device takes no data", driver_message(&device->driver));
  }
  return 1;
}

/* The host uses cells: they come back from the device. */
static SOMETIMES int fetch(struct NAME_ctx *ctx, const void *cells, enum passing passing) {
  struct block *const block = find_block(ctx, cells);
  if (block == NULL) return 0;
  if ((block->valid & ON_HOST) == 0) {
    if (collect(ctx) != 0) return 1;
    if (receive_cells(ctx, block->memory, 0, block->cells, block->bytes) != 0) {
      return trouble(ctx, "data does not come back from the device", driver_message(&ctx->device->driver));
    }
    block->valid |= ON_HOST;
  }
  if (passing == WRITES) block->valid = ON_HOST;
  return 0;
}

/* A result for the caller: its cells come back, unless results stay on the device. */
static SOMETIMES int hand_over(struct NAME_ctx *ctx, const void *cells) {
  struct block *const block = find_block(ctx, cells);
  if (!ctx->keeps_results || block == NULL) return fetch(ctx, cells, READS);
  block->stays = true;
  return 0;
}

static int no_memory(struct NAME_ctx *ctx, size_t bytes) {
  char text[96];
  snprintf(text, sizeof text, "not enough memory on the device for %zu bytes", bytes);
  trouble(ctx, text, driver_message(&ctx->device->driver));
  ctx->failure.site = NO_DEVICE_MEMORY;
  return 1;
}

/* A block gets memory on the device, and its cells get there. */
static int bring(struct NAME_ctx *ctx, struct block *block) {
  struct device *const device = ctx->device;
  if (!block->has_memory) {
    if (take_memory(device, memory_bytes(block->bytes), &block->memory) != 0) return no_memory(ctx, block->bytes);
    block->has_memory = true;
  }
  if ((block->valid & ON_DEVICE) == 0) {
    if (send_cells(ctx, block->memory, 0, block->cells, block->bytes) != 0) {
      return trouble(ctx, "data does not get to the device", driver_message(&device->driver));
    }
    block->valid |= ON_DEVICE;
  }
  return 0;
}

/* What a kernel gets for cells. */
static int prepare(struct NAME_ctx *ctx, const struct argument *argument, device_memory *memory, int64_t *from) {
  struct block *const block = find_block(ctx, argument->data);
  *from = 0;
  if (argument->data == NULL) {
    /* It has no cells. */
    *memory = ctx->device->mailbox;
    return 0;
  }
  if (block == NULL) return trouble(ctx, "a kernel is given cells that nobody knows", "");
  if (bring(ctx, block) != 0) return 1;
  if (argument->passing == WRITES) block->valid = ON_DEVICE;
  *memory = block->memory;
  *from = (int64_t)((size_t)((const char *)argument->data - block->cells) / argument->size);
  return 0;
}

/* Starts a kernel of so many work-items, in groups of this size where it is not 0. */
static int launch(
    struct NAME_ctx *ctx, int kernel, int64_t items, int64_t of_group, const struct argument *arguments, int count) {
  if (items <= 0) return 0;
  if (open_device(ctx) != 0) return 1;
  struct device *const device = ctx->device;
  struct start start = {0};
  add_argument(&start, &device->mailbox, sizeof device->mailbox);
  device->launch = device->launch == INT32_MAX ? 1 : device->launch + 1;
  add_argument(&start, &device->launch, sizeof device->launch);
  for (int i = 0; i < count; i++) {
    if (arguments[i].passing == SCALAR) {
      add_argument(&start, arguments[i].data, arguments[i].size);
      continue;
    }
    device_memory memory = 0;
    int64_t from = 0;
PREPARE_ROWS
    if (prepare(ctx, &arguments[i], &memory, &from) != 0) return 1;
    if (arguments[i].part) memory = driver_part(memory, from, arguments[i].size);
    add_argument(&start, &memory, sizeof memory);
    if (arguments[i].part) add_argument(&start, &from, sizeof from);
  }
  device->pending = true;
  if (device->record_count == MOST_RECORDS) note_kernels(device);
  if (driver_launch(&device->driver, kernel, items, of_group, &start, ctx->timed ? device->record_count : -1) != 0) {
    return trouble(ctx, "a kernel does not start", driver_message(&device->driver));
  }
  if (ctx->timed) device->records[device->record_count++] = kernel;
  return 0;
}

FORGET_ROWS
/* The end of a call: arguments and results are the caller's. Where no kernel can fail, it does not wait for those that are on
 * their way. */
static int end_call(struct NAME_ctx *ctx) {
  struct device *const device = ctx->device;
  if (device == NULL) return ctx->failure.site != 0;
  /* A call that was given up says so itself; what its kernels report must not fail the next one. */
  if (ctx->failure.site < 0 && device->pending) (void)empty_mailbox(device);
  const int failed = ctx->failure.site < 0 ? 1 : KERNELS_REPORT ? collect(ctx) : ctx->failure.site != 0;
  size_t count = 0;
  for (size_t i = 0; i < device->count; i++) {
    struct block block = device->blocks[i];
    if (block.stays) {
      /* What the caller's own kernels may write has to be fetched again. */
      if ((block.valid & ON_DEVICE) != 0) block.valid = ON_DEVICE;
      device->blocks[count++] = block;
    } else if (block.has_memory) {
      give_memory(device, block.memory, memory_bytes(block.bytes));
    }
  }
  device->count = count;
  note_kernels(device);
END_OF_ROWS
  return failed;
}
