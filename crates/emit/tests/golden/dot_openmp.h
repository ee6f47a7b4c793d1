/* Made by Almach 0.1.0. */

#ifndef DOT_H
#define DOT_H

#include <stdbool.h>
#include <stdint.h>

#define DOT_ALMACH_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* What calls need besides their arguments. One context serves one call at a time. */
struct dot_ctx;

/* A new context; NULL where there is no memory for it. */
struct dot_ctx *dot_new(void);
void dot_free(struct dot_ctx *ctx);

/* How many threads calls use. 0: as many as the environment variable ALMACH_NUM_THREADS says, else one for each
 * processor. Results do not depend on it. */
void dot_set_threads(struct dot_ctx *ctx, int threads);

/* How many calls may wait for others before a recursion is stopped with an error. 0: ten million. */
void dot_set_max_depth(struct dot_ctx *ctx, int64_t depth);

/* Why the last call failed, with the place in the source: valid until the next call. NULL where it did not fail. */
const char *dot_error(struct dot_ctx *ctx);

/* The number of the place where the last call failed, from 1, or 0; and the values its message mentions, each in 64
 * bits: signed integers sign-extended, the bits of floats. */
int dot_failure(const struct dot_ctx *ctx, const uint64_t **values);

/* Blocks that calls give as results: how many elements one has, and giving it back (NULL is fine), to the context of the
 * call, while no call of it runs. Without a context (NULL), which may be gone by then, it is freed. */
int64_t dot_size(const void *block);
void dot_release(struct dot_ctx *ctx, void *block);

/* A context keeps a few large blocks that were given back for the next calls; this frees them. */
void dot_trim(struct dot_ctx *ctx);

/* Every function below has a second form, dot_call_…, for callers that only know its type when they run. args[i]
 * points to the i-th argument: to a scalar, to a pointer to elements, or to where a scalar or a pointer to a block is to be
 * put. */

/* dot_dot is 0, or not where it failed: then dot_error says why, and no result was written.
 * xs is read
 * ys is read
 * result receives a result
 */
int dot_dot(struct dot_ctx *ctx, int64_t n, const float *xs, const float *ys, float *result);
int dot_call_dot(struct dot_ctx *ctx, void **args);

#ifdef __cplusplus
}
#endif

#endif
