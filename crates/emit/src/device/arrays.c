void *NAME_new_array(struct NAME_ctx *ctx, int64_t count, size_t size) {
  ctx->failure.site = 0;
  if (open_device(ctx) != 0) return NULL;
  void *const cells = allocate(ctx, count, size);
  struct block *const block = find_block(ctx, cells);
  if (block == NULL) {
    trouble(ctx, "not enough memory for an array", "");
    return NULL;
  }
  /* Its cells are anything. */
  block->valid = ON_HOST | ON_DEVICE;
  if (bring(ctx, block) != 0) {
    release(ctx, cells);
    return NULL;
  }
  block->valid = ON_DEVICE;
  block->stays = true;
  return cells;
}

void *NAME_borrow_array(struct NAME_ctx *ctx, void *memory, int64_t count, size_t size) {
  ctx->failure.site = 0;
  if (open_device(ctx) != 0) return NULL;
  void *const cells = allocate(ctx, count, size);
  struct block *const block = find_block(ctx, cells);
  if (block == NULL) {
    trouble(ctx, "not enough memory for an array", "");
    return NULL;
  }
  block->memory = (device_memory)(uintptr_t)memory;
  block->has_memory = block->borrowed = block->stays = true;
  block->valid = ON_DEVICE;
  return cells;
}

/* The block of an array on the device that has so many bytes from a cell on; NULL where there is none. */
static struct block *array_at(struct NAME_ctx *ctx, const void *cells, size_t bytes) {
  ctx->failure.site = 0;
  if (open_device(ctx) != 0) return NULL;
  struct block *const block = find_block(ctx, cells);
  if (block == NULL || !block->stays) {
    trouble(ctx, "this is no array on the device", "");
    return NULL;
  }
  if (bytes > block->bytes - (size_t)((const char *)cells - block->cells)) {
    trouble(ctx, "this reaches beyond the end of the array on the device", "");
    return NULL;
  }
  return block;
}

int NAME_write_array(struct NAME_ctx *ctx, void *cells, const void *from, size_t bytes) {
  if (bytes == 0) return 0;
  struct block *const block = array_at(ctx, cells, bytes);
  if (block == NULL || bring(ctx, block) != 0) return 1;
  block->valid = ON_DEVICE;
  if (send_cells(ctx, block->memory, (size_t)((char *)cells - block->cells), from, bytes) == 0) return 0;
  return trouble(ctx, "data does not get to the device", driver_message(&ctx->device->driver));
}

int NAME_read_array(struct NAME_ctx *ctx, const void *cells, void *to, size_t bytes) {
  if (bytes == 0) return 0;
  struct block *const block = array_at(ctx, cells, bytes);
  if (block == NULL) return 1;
  if ((block->valid & ON_DEVICE) == 0) {
    memcpy(to, cells, bytes);
    return 0;
  }
  if (receive_cells(ctx, block->memory, (size_t)((const char *)cells - block->cells), to, bytes) == 0) return 0;
  return trouble(ctx, "data does not come back from the device", driver_message(&ctx->device->driver));
}

void *NAME_device_memory(struct NAME_ctx *ctx, const void *array) {
  struct block *const block = array_at(ctx, array, 0);
  if (block == NULL || bring(ctx, block) != 0) return NULL;
  block->valid = ON_DEVICE;
  return driver_address(block->memory);
}

int NAME_wait(struct NAME_ctx *ctx) {
  ctx->failure.site = 0;
  if (ctx->device == NULL) return 0;
  if (open_device(ctx) != 0) return 1;
  if (driver_wait(&ctx->device->driver) == 0) return collect(ctx);
  return trouble(ctx, "a kernel failed", driver_message(&ctx->device->driver));
}
