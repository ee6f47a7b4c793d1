//! What every emitted file has around its procedures: the context, failures, memory.

use crate::device::{ARRAYS, Kernels};
use crate::print::string_literal;
use crate::sites::FailureSite;
use crate::{Accounting, Form, Target, nvcc};
use almach_base::SourceMap;
use almach_value::ScalarType;
use almach_value::failure::{RECURSION_BYTES, RECURSION_DEPTH};

/// The functions of every header.
pub const FUNCTIONS: [&str; 20] = [
    "ctx",
    "new",
    "free",
    "set_threads",
    "set_max_depth",
    "error",
    "failure",
    "size",
    "release",
    "trim",
    // Of devices.
    "set_device",
    "new_array",
    "borrow_array",
    "write_array",
    "read_array",
    "device_memory",
    "keep_results",
    "wait",
    "time_kernels",
    "kernel_time",
];

pub struct Runtime<'a> {
    pub name: &'a str,
    pub target: Target,
    pub form: Form,
    pub accounting: Accounting,
    pub sites: &'a [FailureSite],
    pub sources: &'a SourceMap,
    /// Whether memory from the heap is used.
    pub allocates: bool,
    /// Whether there are blocks to give back; a procedure that always fails has some that it never allocates.
    pub releases: bool,
    pub recursion: Recursion,
    /// Whether threads wait for each other.
    pub waits: bool,
    /// Whether instructions of processors are used by name.
    pub vectors: bool,
    /// Whether there are stores.
    pub stores: bool,
    pub kernels: Option<&'a Kernels>,
    /// Whether something in a kernel can fail.
    pub kernels_fail: bool,
}

/// Whether a file has procedures that wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recursion {
    Absent,
    Present,
}

impl Runtime<'_> {
    fn fill(&self, template: &str) -> String {
        template.replace("NAME", self.name)
    }

    pub fn includes(&self) -> String {
        if self.form == Form::Nvcc {
            let text = self.fill(INCLUDES).replace("Compile with FLAGS", NVCC_FLAGS);
            let text = text.replace("OMP\n", NVCC_INCLUDES).replace("SCHED\n", "");
            let text = text.replace("VECTORS\n", "");
            return [&text, nvcc::CONVERSIONS].concat();
        }
        let (flags, omp) = match self.target {
            Target::C => ("-ffp-contract=off", ""),
            Target::OpenCl | Target::Cuda => (
                "-ffp-contract=off -ldl",
                "#include <dirent.h>\n#include <dlfcn.h>\n#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n",
            ),
            Target::OpenMp => ("-ffp-contract=off -fopenmp", OPENMP_INCLUDES),
        };
        let sched = if self.waits { "#include <sched.h>\n" } else { "" };
        let text = self.fill(INCLUDES).replace("FLAGS", flags);
        let vectors = if self.vectors { VECTOR_INCLUDES } else { "" };
        let text = text.replace("OMP\n", omp).replace("SCHED\n", sched);
        text.replace("VECTORS\n", vectors)
    }

    /// The context and the functions that every header has.
    pub fn context(&self) -> String {
        let values = self.values();
        let message = self
            .sites
            .iter()
            .map(|site| self.message_bound(site))
            .max()
            .unwrap_or(1);
        let threads = match self.target {
            Target::C | Target::OpenCl | Target::Cuda => SEQUENTIAL_THREADS,
            Target::OpenMp => OPENMP_THREADS,
        };
        let stores = if self.stores {
            "  struct stores *stores;\n"
        } else {
            ""
        };
        let (count, fields, open) = match self.allocates || self.releases {
            // Blocks that are kept would count as used.
            true if self.accounting == Accounting::On => (KEPT_COUNT, KEPT_FIELDS, ""),
            true => (KEPT_COUNT, KEPT_FIELDS, OPEN_KEPT),
            false => ("", "", ""),
        };
        let device = if self.target.has_device() {
            DEVICE_FIELDS
        } else {
            ""
        };
        let context = CONTEXT
            .replace("STORES\n", stores)
            .replace("DEVICE\n", device)
            .replace("KEPT\n", fields);
        let functions = CONTEXT_FUNCTIONS.replace("OPEN_KEPT\n", open);
        let text = format!("{count}{context}\n{threads}\n{functions}");
        self.fill(
            &text
                .replace("MOST_CALLS", &RECURSION_DEPTH.to_string())
                .replace("VALUES", &values.to_string())
                .replace("MESSAGE", &message.to_string()),
        )
    }

    /// The most values that a message mentions; never none.
    fn values(&self) -> usize {
        let counts = self.sites.iter().map(|site| site.types.len());
        counts.max().unwrap_or(0).max(1)
    }

    pub fn kernel_source(&self) -> String {
        self.kernels
            .map_or(String::new(), |kernels| kernels.source(self.values()))
    }

    /// What starts kernels.
    pub fn device(&self) -> Option<String> {
        if !self.target.has_device() {
            return None;
        }
        let runtime = match self.kernels {
            Some(kernels) => kernels.runtime(self.target, self.form, self.values(), self.kernels_fail),
            None => [NO_KERNELS, NO_TIMES].concat(),
        };
        Some(self.fill(&[&runtime, SET_DEVICE].concat()))
    }

    /// Arrays that stay on the device between calls.
    pub fn arrays(&self) -> Option<String> {
        let arrays = match self.kernels {
            Some(_) => [ARRAYS, TIME_KERNELS].concat(),
            None => HOST_ARRAYS.to_owned(),
        };
        self.target.has_device().then(|| self.fill(&arrays))
    }

    /// How many bytes a site's message takes at most.
    fn message_bound(&self, site: &FailureSite) -> usize {
        let file = self
            .sources
            .file(site.site.span.file)
            .map_or(0, |file| file.name.len());
        file + site.site.text.len() + 32 * site.types.len() + 64
    }

    pub fn memory(&self) -> Option<String> {
        let text = match (self.allocates, self.releases) {
            (true, _) => [HEAD, TRIM, ALLOCATE, RELEASE].concat(),
            (false, true) => [HEAD, TRIM, RELEASE].concat(),
            (false, false) => NO_MEMORY.to_owned(),
        };
        let (account, take, undo, give) = match self.accounting {
            Accounting::Off => ("", "", "", ""),
            Accounting::On => (ACCOUNT, TAKE, UNDO, GIVE),
        };
        let (know, forget, close) = match self.kernels {
            Some(_) => (KNOW, FORGET, CLOSE_DEVICE),
            None => ("", "", ""),
        };
        let text = text.replace("KNOW\n", know).replace("FORGET\n", forget);
        let text = text.replace("CLOSE\n", close);
        let text = text.replace("TAKE\n", take).replace("UNDO\n", undo);
        Some(self.fill(&[account, &text.replace("GIVE\n", give)].concat()))
    }

    /// The stack of frames, where there is recursion.
    pub fn stack(&self) -> Option<String> {
        let text = STACK.replace("MOST_BYTES", &RECURSION_BYTES.to_string());
        (self.recursion == Recursion::Present).then(|| self.fill(&text))
    }

    pub fn failure(&self) -> Option<String> {
        let (first, trouble) = match self.kernels {
            Some(_) => (FAILED_BEFORE, TROUBLE),
            None => ("", ""),
        };
        if self.sites.is_empty() {
            let text = match self.kernels {
                Some(_) => ONLY_TROUBLE,
                None => NO_FAILURE,
            };
            return Some(self.fill(text));
        }
        let rows: String = self.sites.iter().map(|site| self.row(site)).collect();
        let floats = self
            .sites
            .iter()
            .any(|site| site.types.iter().any(|ty| ty.is_float()));
        let (float_function, float_case) = if floats {
            (FLOAT_TEXT, FLOAT_CASE)
        } else {
            ("", "")
        };
        Some(
            self.fill(FAILURE)
                .replace("FIRST\n", first)
                .replace("TROUBLE\n", trouble)
                .replace("ROWS", &rows)
                .replace("FLOAT_FUNCTION\n", float_function)
                .replace("FLOAT_CASE\n", float_case),
        )
    }

    /// One row of the table of sites.
    fn row(&self, site: &FailureSite) -> String {
        let FailureSite { site, types } = site;
        let file = self.sources.file(site.span.file).map_or("", |file| &file.name);
        let (line, column) = self
            .sources
            .position(site.span)
            .map_or((0, 0), |at| (at.line, at.column));
        let types: String = types.iter().map(|ty| type_letter(*ty)).collect();
        format!(
            "  {{{}, {}, {line}, {column}, {}, {}}},\n",
            string_literal(site.code.0),
            string_literal(file),
            long_string(&site.text),
            string_literal(&types)
        )
    }
}

/// How a value of a type is read back from 64 bits.
fn type_letter(ty: ScalarType) -> char {
    match ty {
        ScalarType::Bool => 'b',
        ScalarType::F32 => 'f',
        ScalarType::F64 => 'd',
        _ if ty.is_unsigned_integer() => 'u',
        _ => 'i',
    }
}

/// C compilers need not take string literals of more than 4095 characters.
fn long_string(text: &str) -> String {
    if text.len() < 4000 {
        return string_literal(text);
    }
    let bytes: Vec<String> = text
        .bytes()
        .chain([0])
        .map(|byte| (byte as i8).to_string())
        .collect();
    format!("(const char[]){{{}}}", bytes.join(", "))
}

const VECTOR_INCLUDES: &str = "#if defined(__SSE2__)\n#include <immintrin.h>\n#endif\n";

const INCLUDES: &str = r#"/* Compile with FLAGS: results are those of IEEE 754, operation by operation. */

#include "NAME.h"

#include <inttypes.h>
#include <math.h>
SCHED
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
OMP
VECTORS
#if defined(__FAST_MATH__)
#error "this file needs IEEE 754 arithmetic: compile it without -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
"#;

/// A loop that is no good for a vector unit is no reason for a warning.
const OPENMP_INCLUDES: &str = r#"
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
"#;

const NVCC_FLAGS: &str = "Compile with nvcc -std=c++20 -fmad=false -Xcompiler -ffp-contract=off";

const NVCC_INCLUDES: &str = "#include <cuda_runtime.h>\n#include <initializer_list>\n#include <time.h>\n";

const CONTEXT: &str = r"/* Where a call failed (0: it did not), and the values that the message mentions. */
struct failure {
  int site;
  uint64_t values[VALUES];
};

struct NAME_ctx {
  int threads;
  int64_t max_depth;
  struct failure failure;
KEPT
STORES
DEVICE
  char message[MESSAGE];
};
";

const SEQUENTIAL_THREADS: &str = r"void NAME_set_threads(struct NAME_ctx *ctx, int threads) {
  ctx->threads = threads > 0 ? threads : 1;
}
";

const OPENMP_THREADS: &str = r#"void NAME_set_threads(struct NAME_ctx *ctx, int threads) {
  if (threads <= 0) {
    const char *text = getenv("ALMACH_NUM_THREADS");
    const long wanted = text == NULL ? 0 : strtol(text, NULL, 10);
    threads = wanted > 0 && wanted <= 65536 ? (int)wanted : 0;
  }
#ifdef _OPENMP
  ctx->threads = threads > 0 ? threads : omp_get_max_threads();
#else
  ctx->threads = 1;
#endif
}
"#;

const CONTEXT_FUNCTIONS: &str = r"void NAME_set_max_depth(struct NAME_ctx *ctx, int64_t depth) {
  ctx->max_depth = depth > 0 ? depth : INT64_C(MOST_CALLS);
}

struct NAME_ctx *NAME_new(void) {
  struct NAME_ctx *ctx = calloc(1, sizeof *ctx);
  if (ctx == NULL) return NULL;
  NAME_set_threads(ctx, 0);
  NAME_set_max_depth(ctx, 0);
OPEN_KEPT
  return ctx;
}

int NAME_failure(const struct NAME_ctx *ctx, const uint64_t **values) {
  *values = ctx->failure.values;
  return ctx->failure.site;
}
";

/// Blocks that a context keeps. The contexts of threads in a parallel loop keep none: `kept` is NULL there.
const KEPT_FIELDS: &str =
    "  void **kept; /* large blocks that were given back, the latest first */\n  void *slots[KEPT_BLOCKS];\n";

const KEPT_COUNT: &str = "enum { KEPT_BLOCKS = 8 };\n\n";

const OPEN_KEPT: &str = "  ctx->kept = ctx->slots;\n";

const ACCOUNT: &str = r"/* What was done to memory, by all threads of all contexts. */
static struct {
  int64_t allocations, copied, held, peak, most;
} account = {.most = INT64_MAX};

/* Bytes that kernels copied. */
static int64_t copied_by_kernels;

void NAME_account(int64_t *numbers);
void NAME_set_max_bytes(int64_t bytes);

/* The allocations so far, the most bytes that blocks took at once, and the bytes that were copied from block to block. */
void NAME_account(int64_t *numbers) {
  numbers[0] = account.allocations;
  numbers[1] = account.peak;
  numbers[2] = account.copied + copied_by_kernels;
}

/* How many bytes blocks may take at once. */
void NAME_set_max_bytes(int64_t bytes) {
  account.most = bytes;
}

static inline bool account_take(size_t bytes) {
  const int64_t held = __atomic_add_fetch(&account.held, (int64_t)bytes, __ATOMIC_RELAXED);
  if (held > account.most) {
    __atomic_sub_fetch(&account.held, (int64_t)bytes, __ATOMIC_RELAXED);
    return false;
  }
  __atomic_add_fetch(&account.allocations, 1, __ATOMIC_RELAXED);
  int64_t peak = __atomic_load_n(&account.peak, __ATOMIC_RELAXED);
  while (held > peak &&
         !__atomic_compare_exchange_n(&account.peak, &peak, held, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return true;
}

static inline void account_give(size_t bytes) {
  __atomic_sub_fetch(&account.held, (int64_t)bytes, __ATOMIC_RELAXED);
}

static inline void count_copied(size_t bytes) {
  __atomic_add_fetch(&account.copied, (int64_t)bytes, __ATOMIC_RELAXED);
}

static inline void counted_copy(void *to, const void *from, size_t bytes) {
  count_copied(bytes);
  memmove(to, from, bytes);
}

";

const TAKE: &str = "  if (!account_take(bytes)) return NULL;\n";

const UNDO: &str = "    if (memory == NULL) account_give(bytes);\n";

const GIVE: &str = "  account_give(block->bytes);\n";

const HEAD: &str = r"/* In front of a block, in as many bytes as a line of the cache: how many cells it has, the memory that it is in, and how many
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

";

const ALLOCATE: &str = r"/* A kept block with room for so many bytes, but not for many more; NULL where there is none. */
static struct head *reused(struct NAME_ctx *ctx, size_t bytes) {
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
static void *allocate(struct NAME_ctx *ctx, int64_t count, size_t cell) {
  if (count < 0 || (uint64_t)count > (PTRDIFF_MAX - 2 * PAGE) / cell) return NULL;
  const size_t front = (size_t)count * cell < LARGE ? BLOCK_HEAD : PAGE;
  const size_t bytes = ((size_t)count * cell + 2 * front - 1) / front * front;
TAKE
  struct head *block = reused(ctx, bytes);
  if (block == NULL) {
    char *memory = memory_for(bytes, front);
    if (memory == NULL) {
      NAME_trim(ctx);
      memory = memory_for(bytes, front);
    }
UNDO
    if (memory == NULL) return NULL;
    const size_t before = (BLOCK_HEAD - (uintptr_t)memory % BLOCK_HEAD) % BLOCK_HEAD;
    block = (struct head *)(void *)(memory + before + front - BLOCK_HEAD);
    block->bytes = bytes;
    block->memory = memory;
  }
  block->count = count;
KNOW
  return (char *)block + BLOCK_HEAD;
}

";

const RELEASE: &str = r"static void release(struct NAME_ctx *ctx, void *cells) {
  if (cells == NULL) return;
FORGET
  struct head *const block = (struct head *)(void *)((char *)cells - BLOCK_HEAD);
GIVE
  if (ctx == NULL || ctx->kept == NULL || block->bytes < LARGE + PAGE) {
    free(block->memory);
    return;
  }
  struct head *const oldest = (struct head *)ctx->kept[KEPT_BLOCKS - 1];
  if (oldest != NULL) free(oldest->memory);
  for (int i = KEPT_BLOCKS - 1; i > 0; i--) ctx->kept[i] = ctx->kept[i - 1];
  ctx->kept[0] = block;
}

int64_t NAME_size(const void *block) {
  return block == NULL ? 0 : ((const struct head *)(const void *)((const char *)block - BLOCK_HEAD))->count;
}

void NAME_release(struct NAME_ctx *ctx, void *block) {
  release(ctx, block);
}
";

const TRIM: &str = r"void NAME_trim(struct NAME_ctx *ctx) {
  for (int i = 0; ctx->kept != NULL && i < KEPT_BLOCKS && ctx->kept[i] != NULL; i++) {
    free(((struct head *)ctx->kept[i])->memory);
    ctx->kept[i] = NULL;
  }
}

void NAME_free(struct NAME_ctx *ctx) {
  if (ctx != NULL) NAME_trim(ctx);
CLOSE
  free(ctx);
}

";

const NO_MEMORY: &str = r"void NAME_trim(struct NAME_ctx *ctx) {
  (void)ctx;
}

void NAME_free(struct NAME_ctx *ctx) {
CLOSE
  free(ctx);
}

int64_t NAME_size(const void *block) {
  (void)block;
  return 0;
}

void NAME_release(struct NAME_ctx *ctx, void *block) {
  (void)ctx;
  (void)block;
}
";

const NO_FAILURE: &str = r"const char *NAME_error(struct NAME_ctx *ctx) {
  (void)ctx;
  return NULL;
}
";

const STACK: &str = r"/* Procedures that wait for others of their group do so in frames, on a stack of chunks that stay where they are: how
 * deep a recursion goes is up to the context. */
struct stack;

struct frame {
  int (*run)(struct NAME_ctx *ctx, struct stack *stack); /* goes on with it; not 0 where it failed */
  struct frame *caller;
  int at; /* where to go on; -1 where the procedure it waited for failed */
};

struct chunk {
  struct chunk *previous, *next;
  size_t size, used;
  _Alignas(max_align_t) char cells[];
};

struct stack {
  struct frame *top;
  int64_t depth;
  struct chunk *chunk; /* of the top */
  size_t bytes;        /* of all chunks */
};

static void release_chunks(struct stack *stack, struct chunk *chunk) {
  while (chunk != NULL) {
    struct chunk *const next = chunk->next;
    stack->bytes -= chunk->size;
    free(chunk);
    chunk = next;
  }
}

/* Makes the next chunk the one of the top, with room for so many bytes. */
static bool grow_stack(struct stack *stack, size_t bytes) {
  struct chunk *const last = stack->chunk;
  struct chunk *chunk = last == NULL ? NULL : last->next;
  if (chunk == NULL || chunk->size < bytes) {
    release_chunks(stack, chunk);
    if (last != NULL) last->next = NULL;
    size_t size = last == NULL ? 960 : 2 * last->size;
    if (size > ((size_t)1 << 26)) size = (size_t)1 << 26;
    if (size < bytes) size = bytes;
    chunk = size > MOST_BYTES - stack->bytes ? NULL : malloc(sizeof *chunk + size);
    if (chunk == NULL) return false;
    chunk->size = size;
    chunk->next = NULL;
    chunk->previous = last;
    stack->bytes += size;
    if (last != NULL) last->next = chunk;
  }
  chunk->used = 0;
  stack->chunk = chunk;
  return true;
}

/* A new frame on top; NULL where the recursion is too deep. */
static inline void *push_frame(
    struct NAME_ctx *ctx, struct stack *stack, int (*run)(struct NAME_ctx *ctx, struct stack *stack), size_t size) {
  const size_t bytes = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
  if (stack->depth >= ctx->max_depth) return NULL;
  struct chunk *chunk = stack->chunk;
  if (chunk == NULL || chunk->size - chunk->used < bytes) {
    if (!grow_stack(stack, bytes)) return NULL;
    chunk = stack->chunk;
  }
  struct frame *const frame = (void *)(chunk->cells + chunk->used);
  memset(frame, 0, size);
  frame->run = run;
  frame->caller = stack->top;
  chunk->used += bytes;
  stack->top = frame;
  stack->depth++;
  return frame;
}

static inline void pop_frame(struct stack *stack) {
  struct chunk *const chunk = stack->chunk;
  chunk->used = (size_t)((char *)stack->top - chunk->cells);
  if (chunk->used == 0 && chunk->previous != NULL) stack->chunk = chunk->previous;
  stack->top = stack->top->caller;
  stack->depth--;
}

/* Whether a function goes on with the frame on top. */
static inline bool resumes(const struct stack *stack, int (*run)(struct NAME_ctx *ctx, struct stack *stack)) {
  return stack->top != NULL && stack->top->run == run;
}

/* Runs until no frame is left. Where one fails, those that wait for it release what they hold. */
static int run_frames(struct NAME_ctx *ctx, struct stack *stack) {
  int failed = 0;
  while (stack->top != NULL) {
    if (failed) stack->top->at = -1;
    failed |= stack->top->run(ctx, stack);
  }
  release_chunks(stack, stack->chunk);
  return failed;
}
";

const FAILURE: &str = r#"/* Code, file, line and column, message, types of the values in it. */
static const struct {
  const char *code, *file;
  int line, column;
  const char *text, *types;
} sites[] = {
ROWS};

/* Notes that a call failed. */
static void fail(struct NAME_ctx *ctx, int site, int count, const uint64_t *values) {
FIRST
  ctx->failure.site = site;
  for (int i = 0; i < count; i++) ctx->failure.values[i] = values[i];
}

FLOAT_FUNCTION
/* A value of a message as text. */
static int value_text(char *to, size_t size, char type, uint64_t raw) {
  switch (type) {
    case 'b': return snprintf(to, size, "%s", raw ? "true" : "false");
    case 'u': return snprintf(to, size, "%" PRIu64, raw);
FLOAT_CASE
    default: return snprintf(to, size, "%" PRId64, (int64_t)raw);
  }
}

const char *NAME_error(struct NAME_ctx *ctx) {
  if (ctx->failure.site == 0) return NULL;
TROUBLE
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
"#;

const FLOAT_TEXT: &str = r#"/* The shortest text that reads back as the same float. */
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

"#;

const FLOAT_CASE: &str = r"    case 'f':
    case 'd': return float_text(to, size, type, raw);
";

const DEVICE_FIELDS: &str = "  struct device *device; /* NULL before it is needed */\n  char device_name[128];\n  bool timed; /* whether kernels are */\n  bool keeps_results; /* on the device */\n  char trouble[4608];\n";

const KNOW: &str = "  if (!know(ctx, (char *)block + BLOCK_HEAD, (size_t)count * cell)) {\n    free(block->memory);\n    return NULL;\n  }\n";

const FORGET: &str = "  forget(ctx, cells);\n";

const CLOSE_DEVICE: &str = "  if (ctx != NULL) close_device(ctx);\n";

/// A kernel that failed came first.
const FAILED_BEFORE: &str = "  if (collect(ctx) != 0) return;\n";

const TROUBLE: &str = "  if (ctx->failure.site < 0) return ctx->trouble;\n";

const ONLY_TROUBLE: &str = r"const char *NAME_error(struct NAME_ctx *ctx) {
  return ctx->failure.site < 0 ? ctx->trouble : NULL;
}
";

/// A program for a device that has no use for one.
const NO_KERNELS: &str = r"static void close_device(struct NAME_ctx *ctx) {
  (void)ctx;
}

";

/// Times of kernels where there are none.
const NO_TIMES: &str = r"int NAME_kernel_time(struct NAME_ctx *ctx, int number, const char **name, double *seconds, double *least, int64_t *count) {
  (void)ctx, (void)number, (void)name, (void)seconds, (void)least, (void)count;
  return 1;
}

";

const SET_DEVICE: &str = r#"void NAME_set_device(struct NAME_ctx *ctx, const char *device) {
  close_device(ctx);
  snprintf(ctx->device_name, sizeof ctx->device_name, "%s", device == NULL ? "" : device);
}

void NAME_keep_results(struct NAME_ctx *ctx, bool kept) {
  ctx->keeps_results = kept;
}
"#;

const TIME_KERNELS: &str = r#"
int NAME_time_kernels(struct NAME_ctx *ctx, bool timed) {
  ctx->failure.site = 0;
  ctx->timed = timed;
  struct device *const device = ctx->device;
  if (device == NULL) return 0;
  if (open_device(ctx) != 0) return 1;
  note_kernels(device);
  memset(device->times, 0, sizeof device->times);
  if (driver_measure(&device->driver, timed) == 0) return 0;
  return trouble(ctx, "the device does not measure", driver_message(&device->driver));
}
"#;

/// A program for a device that has no use for one: its arrays are on the host.
const HOST_ARRAYS: &str = r#"void *NAME_new_array(struct NAME_ctx *ctx, int64_t count, size_t size) {
  return allocate(ctx, count, size);
}

void *NAME_borrow_array(struct NAME_ctx *ctx, void *memory, int64_t count, size_t size) {
  (void)memory;
  return allocate(ctx, count, size);
}

int NAME_write_array(struct NAME_ctx *ctx, void *cells, const void *from, size_t bytes) {
  (void)ctx;
  if (bytes > 0) memcpy(cells, from, bytes);
  return 0;
}

int NAME_read_array(struct NAME_ctx *ctx, const void *cells, void *to, size_t bytes) {
  (void)ctx;
  if (bytes > 0) memcpy(to, cells, bytes);
  return 0;
}

void *NAME_device_memory(struct NAME_ctx *ctx, const void *array) {
  (void)ctx, (void)array;
  return NULL;
}

int NAME_wait(struct NAME_ctx *ctx) {
  (void)ctx;
  return 0;
}

int NAME_time_kernels(struct NAME_ctx *ctx, bool timed) {
  ctx->timed = timed;
  return 0;
}
"#;
