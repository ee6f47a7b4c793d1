/* Columns of stores on the device: each is one piece of memory there, with a cell for every row. It grows with the store. */

static const struct column {
  size_t store;        /* where its store is in `struct stores` */
  size_t before, cell; /* bytes of a row in the columns before it, and of its own cell */
} columns[COLUMNS] = {
TABLE};

/* A column as a kernel's argument: no row before `first` is written. */
static inline SOMETIMES struct argument rows_of(int column, enum passing passing, int64_t first) {
  return (struct argument){.passing = passing, .is_column = true, .column = column, .first = first};
}

static inline SOMETIMES int64_t earlier_row(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static struct store *store_of(struct NAME_ctx *ctx, int column) {
  return (struct store *)((char *)ctx->stores + columns[column].store);
}

/* A row's cell on the host; `left` rows of it lie there, one behind the other. */
static void *row_cell(struct NAME_ctx *ctx, int column, int64_t row, int64_t *left) {
  const uint64_t place = (uint64_t)row + ((uint64_t)1 << FIRST_CHUNK);
  const int top = 63 - __builtin_clzll(place);
  const uint64_t in_chunk = place ^ ((uint64_t)1 << top);
  *left = (int64_t)(((uint64_t)1 << top) - in_chunk);
  return store_of(ctx, column)->chunks[top - FIRST_CHUNK] + (columns[column].before << top) + in_chunk * columns[column].cell;
}

/* Rows go to the device, or come back. */
static int move_rows(struct NAME_ctx *ctx, int column, int64_t from, int64_t to, int whereto) {
  struct device *const device = ctx->device;
  const device_memory memory = device->mirrors[column].memory;
  const size_t cell = columns[column].cell;
  while (from < to) {
    int64_t left = 0;
    void *const cells = row_cell(ctx, column, from, &left);
    if (left > to - from) left = to - from;
    const size_t at = (size_t)from * cell, bytes = (size_t)left * cell;
    const int failed =
        whereto == ON_DEVICE ? send_cells(ctx, memory, at, cells, bytes) : receive_cells(ctx, memory, at, cells, bytes);
    if (failed) return trouble(ctx, "rows do not get to or from the device", driver_message(&device->driver));
    from += left;
  }
  return 0;
}

static int64_t known_rows(const struct mirror *mirror) {
  return mirror->count == 0 ? 0 : mirror->runs[mirror->count - 1].end;
}

/* Says who has rows. What is known of those before and behind stays. */
static int mark_rows(struct NAME_ctx *ctx, struct mirror *mirror, int64_t from, int64_t to, int valid) {
  if (from >= to) return 0;
  if (mirror->room_for_runs < mirror->count + 3) {
    const size_t room = 2 * mirror->room_for_runs + 8;
    struct rows *const runs = realloc(mirror->runs, room * sizeof *runs);
    if (runs == NULL) return trouble(ctx, "not enough memory for a device", "");
    mirror->runs = runs;
    mirror->room_for_runs = room;
  }
  struct rows *const runs = mirror->runs;
  size_t first = 0;
  while (first < mirror->count && runs[first].end <= from) first++;
  size_t last = first;
  while (last < mirror->count && runs[last].end <= to) last++;
  /* Of runs `first` to `last` some rows may lie before, and some behind. */
  const int64_t begin = first == 0 ? 0 : runs[first - 1].end;
  const struct rows before = {from, first < mirror->count ? runs[first].valid : 0};
  struct rows added[2];
  size_t adds = 0;
  if (begin < from) added[adds++] = before;
  added[adds++] = (struct rows){to, valid};
  memmove(runs + first + adds, runs + last, (mirror->count - last) * sizeof *runs);
  memcpy(runs + first, added, adds * sizeof *runs);
  mirror->count += adds + first - last;
  /* Neighbours that are alike become one. */
  size_t kept = first == 0 ? 0 : first - 1;
  for (size_t i = kept + 1; i < mirror->count; i++) {
    if (runs[i].valid != runs[kept].valid) kept++;
    runs[kept] = runs[i];
  }
  mirror->count = kept + 1;
  return 0;
}

/* Rows that were reserved since: they are zero everywhere, unless the host has written them. */
static int catch_up(struct NAME_ctx *ctx, int column) {
  struct mirror *const mirror = &ctx->device->mirrors[column];
  const int valid = mirror->host_goes_on ? ON_HOST : ON_HOST | ON_DEVICE;
  return mark_rows(ctx, mirror, known_rows(mirror), store_of(ctx, column)->count, valid);
}

/* Brings all rows to where they are not. */
static int complete_rows(struct NAME_ctx *ctx, int column, int whereto) {
  struct mirror *const mirror = &ctx->device->mirrors[column];
  int64_t from = 0;
  for (size_t i = 0; i < mirror->count; i++) {
    struct rows *const run = &mirror->runs[i];
    if ((run->valid & whereto) == 0) {
      if (move_rows(ctx, column, from, run->end, whereto) != 0) return 1;
      run->valid = ON_HOST | ON_DEVICE;
    }
    from = run->end;
  }
  return 0;
}

static size_t mirror_bytes(int column, int64_t room) {
  return (size_t)room * columns[column].cell;
}

/* Gives a column memory for so many rows. What is beyond those that are known is zero. */
static int make_room(struct NAME_ctx *ctx, int column, int64_t rows) {
  struct device *const device = ctx->device;
  struct mirror *const mirror = &device->mirrors[column];
  if (rows <= mirror->room) return 0;
  int64_t room = mirror->room == 0 ? 64 : mirror->room;
  while (room < rows) room *= 2;
  const size_t before = mirror_bytes(column, mirror->room), bytes = mirror_bytes(column, room);
  device_memory memory = 0;
  if (take_memory(device, bytes, &memory) != 0) return no_memory(ctx, bytes);
  if ((before != 0 && driver_copy(&device->driver, memory, mirror->memory, before) != 0) ||
      driver_zero(&device->driver, memory, before, bytes - before) != 0) {
    give_memory(device, memory, bytes);
    return trouble(ctx, "rows do not move on the device", driver_message(&device->driver));
  }
  if (before != 0) give_memory(device, mirror->memory, before);
  mirror->memory = memory;
  mirror->room = room;
  return 0;
}

/* The memory of a column, with its rows, for a kernel that writes none before `argument->first`. */
static int prepare_rows(struct NAME_ctx *ctx, const struct argument *argument, device_memory *memory) {
  const int column = argument->column;
  struct mirror *const mirror = &ctx->device->mirrors[column];
  *memory = ctx->device->mailbox;
  if (catch_up(ctx, column) != 0) return 1;
  mirror->host_goes_on = false;
  const int64_t rows = known_rows(mirror);
  if (rows == 0) return 0;
  if (make_room(ctx, column, rows) != 0 || complete_rows(ctx, column, ON_DEVICE) != 0) return 1;
  *memory = mirror->memory;
  return argument->passing == WRITES ? mark_rows(ctx, mirror, argument->first, rows, ON_DEVICE) : 0;
}

/* The host uses rows: they come back from the device. */
static SOMETIMES int fetch_rows(struct NAME_ctx *ctx, int column, enum passing passing) {
  if (ctx->device == NULL) return 0;
  struct mirror *const mirror = &ctx->device->mirrors[column];
  if (catch_up(ctx, column) != 0) return 1;
  if (mirror->room != 0) {
    if (collect(ctx) != 0 || complete_rows(ctx, column, ON_HOST) != 0) return 1;
  }
  if (passing != WRITES) return 0;
  mirror->host_goes_on = true;
  return mark_rows(ctx, mirror, 0, known_rows(mirror), ON_HOST);
}

/* The host uses one row, where there is such a row. */
static SOMETIMES int fetch_row(struct NAME_ctx *ctx, int column, int64_t row, enum passing passing) {
  if (ctx->device == NULL) return 0;
  struct mirror *const mirror = &ctx->device->mirrors[column];
  if (catch_up(ctx, column) != 0) return 1;
  if (row < 0 || row >= known_rows(mirror)) return 0;
  size_t at = 0;
  while (mirror->runs[at].end <= row) at++;
  if ((mirror->runs[at].valid & ON_HOST) == 0) {
    if (collect(ctx) != 0 || move_rows(ctx, column, row, row + 1, ON_HOST) != 0) return 1;
  }
  return passing == WRITES ? mark_rows(ctx, mirror, row, row + 1, ON_HOST) : 0;
}

static void forget_rows(struct device *device) {
  for (int i = 0; i < COLUMNS; i++) {
    struct mirror *const mirror = &device->mirrors[i];
    if (mirror->room != 0) give_memory(device, mirror->memory, mirror_bytes(i, mirror->room));
    free(mirror->runs);
    *mirror = (struct mirror){0};
  }
}
