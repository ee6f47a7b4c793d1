/* Compile with -ffp-contract=off: results are those of IEEE 754, operation by operation. */

#include "dot.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__FAST_MATH__)
#error "this file needs IEEE 754 arithmetic: compile it without -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum { KEPT_BLOCKS = 8 };

/* Where a call failed (0: it did not), and the values that the message mentions. */
struct failure {
  int site;
  uint64_t values[1];
};

struct dot_ctx {
  int threads;
  int64_t max_depth;
  struct failure failure;
  void **kept; /* large blocks that were given back, the latest first */
  void *slots[KEPT_BLOCKS];
  char message[129];
};

void dot_set_threads(struct dot_ctx *ctx, int threads) {
  ctx->threads = threads > 0 ? threads : 1;
}

void dot_set_max_depth(struct dot_ctx *ctx, int64_t depth) {
  ctx->max_depth = depth > 0 ? depth : INT64_C(10000000);
}

struct dot_ctx *dot_new(void) {
  struct dot_ctx *ctx = calloc(1, sizeof *ctx);
  if (ctx == NULL) return NULL;
  dot_set_threads(ctx, 0);
  dot_set_max_depth(ctx, 0);
  ctx->kept = ctx->slots;
  return ctx;
}

int dot_failure(const struct dot_ctx *ctx, const uint64_t **values) {
  *values = ctx->failure.values;
  return ctx->failure.site;
}

/* In front of a block, in as many bytes as a line of the cache: how many cells it has, the memory that it is in, and how many
 * bytes that has. */
struct head {
  int64_t count;
  size_t bytes;
  void *memory;
};

/* Large blocks start with a page. The caller's arrays start there too, or a little behind: a line that is written never
 * seems to be one that is read soon after, which processors tell apart by their places in a page. */
enum { BLOCK_HEAD = 64, PAGE = 4096 };

/* Blocks from here on are kept when they are given back: to get new memory from the system costs more than to write it. */
static const size_t LARGE = (size_t)1 << 20;

void dot_trim(struct dot_ctx *ctx) {
  for (int i = 0; ctx->kept != NULL && i < KEPT_BLOCKS && ctx->kept[i] != NULL; i++) {
    free(((struct head *)ctx->kept[i])->memory);
    ctx->kept[i] = NULL;
  }
}

void dot_free(struct dot_ctx *ctx) {
  if (ctx != NULL) dot_trim(ctx);
  free(ctx);
}

/* A kept block with room for so many bytes, but not for many more; NULL where there is none. */
static struct head *reused(struct dot_ctx *ctx, size_t bytes) {
  if (bytes < LARGE + PAGE || ctx->kept == NULL) return NULL;
  for (int i = 0; i < KEPT_BLOCKS && ctx->kept[i] != NULL; i++) {
    struct head *const block = (struct head *)ctx->kept[i];
    if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
    for (; i + 1 < KEPT_BLOCKS; i++) ctx->kept[i] = ctx->kept[i + 1];
    ctx->kept[KEPT_BLOCKS - 1] = NULL;
    return block;
  }
  return NULL;
}

/* Memory for a block with so many bytes in front. For a small one it has room to begin with a line of the cache: the system takes long to
 * align many blocks. */
static char *memory_for(size_t bytes, size_t front) {
  return front == PAGE ? aligned_alloc(front, bytes) : malloc(bytes + BLOCK_HEAD);
}

/* NULL where there is not enough memory. */
static void *allocate(struct dot_ctx *ctx, int64_t count, size_t cell) {
  if (count < 0 || (uint64_t)count > (PTRDIFF_MAX - 2 * PAGE) / cell) return NULL;
  const size_t front = (size_t)count * cell < LARGE ? BLOCK_HEAD : PAGE;
  const size_t bytes = ((size_t)count * cell + 2 * front - 1) / front * front;
  struct head *block = reused(ctx, bytes);
  if (block == NULL) {
    char *memory = memory_for(bytes, front);
    if (memory == NULL) {
      dot_trim(ctx);
      memory = memory_for(bytes, front);
    }
    if (memory == NULL) return NULL;
    const size_t before = (BLOCK_HEAD - (uintptr_t)memory % BLOCK_HEAD) % BLOCK_HEAD;
    block = (struct head *)(void *)(memory + before + front - BLOCK_HEAD);
    block->bytes = bytes;
    block->memory = memory;
  }
  block->count = count;
  return (char *)block + BLOCK_HEAD;
}

static void release(struct dot_ctx *ctx, void *cells) {
  if (cells == NULL) return;
  struct head *const block = (struct head *)(void *)((char *)cells - BLOCK_HEAD);
  if (ctx == NULL || ctx->kept == NULL || block->bytes < LARGE + PAGE) {
    free(block->memory);
    return;
  }
  struct head *const oldest = (struct head *)ctx->kept[KEPT_BLOCKS - 1];
  if (oldest != NULL) free(oldest->memory);
  for (int i = KEPT_BLOCKS - 1; i > 0; i--) ctx->kept[i] = ctx->kept[i - 1];
  ctx->kept[0] = block;
}

int64_t dot_size(const void *block) {
  return block == NULL ? 0 : ((const struct head *)(const void *)((const char *)block - BLOCK_HEAD))->count;
}

void dot_release(struct dot_ctx *ctx, void *block) {
  release(ctx, block);
}

/* Code, file, line and column, message, types of the values in it. */
static const struct {
  const char *code, *file;
  int line, column;
  const char *text, *types;
} sites[] = {
  {"E0814", "dot.alm", 2, 3, "no {} elements", "i"},
  {"E0812", "", 0, 0, "not enough memory for {} elements", "i"},
  {"E0811", "dot.alm", 2, 3, "{} is not positive", "f"},
};

/* Notes that a call failed. */
static void fail(struct dot_ctx *ctx, int site, int count, const uint64_t *values) {
  ctx->failure.site = site;
  for (int i = 0; i < count; i++) ctx->failure.values[i] = values[i];
}

/* The shortest text that reads back as the same float. */
static int float_text(char *to, size_t size, char type, uint64_t raw) {
  const uint32_t half = (uint32_t)raw;
  float single;
  double value;
  memcpy(&single, &half, sizeof single);
  memcpy(&value, &raw, sizeof value);
  if (type == 'f') value = (double)single;
  if (isnan(value)) return snprintf(to, size, "nan");
  if (isinf(value)) return snprintf(to, size, value < 0 ? "-inf" : "inf");
  int length = 0;
  for (int digits = 1; digits <= 17; digits++) {
    length = snprintf(to, size, "%.*g", digits, value);
    if (type == 'f' ? strtof(to, NULL) == single : strtod(to, NULL) == value) break;
  }
  if (strpbrk(to, ".e") == NULL) length += snprintf(to + length, size - (size_t)length, ".0");
  return length;
}

/* A value of a message as text. */
static int value_text(char *to, size_t size, char type, uint64_t raw) {
  switch (type) {
    case 'b': return snprintf(to, size, "%s", raw ? "true" : "false");
    case 'u': return snprintf(to, size, "%" PRIu64, raw);
    case 'f':
    case 'd': return float_text(to, size, type, raw);
    default: return snprintf(to, size, "%" PRId64, (int64_t)raw);
  }
}

const char *dot_error(struct dot_ctx *ctx) {
  if (ctx->failure.site == 0) return NULL;
  const int site = ctx->failure.site - 1;
  char *to = ctx->message;
  const char *const end = ctx->message + sizeof ctx->message;
  if (sites[site].line > 0) {
    to += snprintf(to, (size_t)(end - to), "%s:%d:%d: ", sites[site].file, sites[site].line, sites[site].column);
  }
  to += snprintf(to, (size_t)(end - to), "error[%s]: ", sites[site].code);
  const char *type = sites[site].types;
  const uint64_t *value = ctx->failure.values;
  for (const char *text = sites[site].text; *text != 0; text++) {
    if (text[0] == '{' && text[1] == '}' && *type != 0) {
      to += value_text(to, (size_t)(end - to), *type++, *value++);
      text++;
    } else {
      *to++ = *text;
    }
  }
  *to = 0;
  return ctx->message;
}

static inline uint32_t to_bits_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return x != x ? 0x7fc00000u : bits;
}

int dot_dot(
    struct dot_ctx *ctx,
    int64_t n,
    const float *restrict xs,
    const float *restrict ys,
    float *restrict result_out) {
  ctx->failure.site = 0;
  float *tmp = NULL;
  if (n <= 0) {
    fail(ctx, 1, 1, (const uint64_t[]){(uint64_t)n});
    goto failed;
  }
  tmp = allocate(ctx, n, sizeof *tmp);
  if (tmp == NULL) {
    fail(ctx, 2, 1, (const uint64_t[]){(uint64_t)n});
    goto failed;
  }
  for (int64_t i = 0; i < n; i++) {
    if (!(xs[i] > 0.0f)) {
      fail(ctx, 3, 1, (const uint64_t[]){to_bits_f32(xs[i])});
      goto failed;
    }
    tmp[i] = xs[i] * ys[i];
  }
  float acc = 0.0f;
  for (int64_t j = 0; j < n; j++) {
    acc = acc + tmp[j];
  }
  *result_out = acc;
  release(ctx, tmp);
  return 0;
failed:
  release(ctx, tmp);
  return 1;
}

int dot_call_dot(struct dot_ctx *ctx, void **args) {
  return dot_dot(
    ctx,
    *(int64_t *)args[0],
    *(const float **)args[1],
    *(const float **)args[2],
    (float *)args[3]);
}
