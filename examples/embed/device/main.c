/* A simulation whose data stays on the device: almach build heat.alm -o heat --backend opencl (or cuda), then cc heat.c main.c -lm -ldl. */
#include "heat.h"

#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 16, STEPS = 100 };

static int fail(struct heat_ctx *ctx) {
  const char *why = heat_error(ctx);
  fprintf(stderr, "%s\n", why == NULL ? "no memory" : why);
  return 1;
}

static void say_transfers(struct heat_ctx *ctx) {
  const char *name;
  double seconds, least;
  int64_t count, last[3] = {0, 0, 0};
  for (int number = 0; heat_kernel_time(ctx, number, &name, &seconds, &least, &count) == 0; number++) {
    last[0] = last[1];
    last[1] = last[2];
    last[2] = count;
  }
  printf("%d transfers there, %d back\n", (int)last[0], (int)last[1]);
}

int main(void) {
  struct heat_ctx *ctx = heat_new();
  float *rod = calloc(CELLS, sizeof *rod);
  if (ctx == NULL || rod == NULL) return 1;
  rod[CELLS / 2] = 1024;
  heat_time_kernels(ctx, true);

  /* The rod goes to the device once. */
  float *now = heat_new_array(ctx, CELLS, sizeof *now);
  if (now == NULL || heat_write_array(ctx, now, rod, CELLS * sizeof *rod) != 0) return fail(ctx);
  heat_keep_results(ctx, true);
  for (int step = 0; step < STEPS; step++) {
    float *next;
    int64_t count;
    if (heat_step(ctx, CELLS, now, &count, &next) != 0) return fail(ctx);
    heat_release(ctx, now);
    now = next;
  }

  /* Calls may use a part of it. */
  float all, half, middle[3];
  if (heat_total(ctx, CELLS, now, &all) != 0) return fail(ctx);
  if (heat_total(ctx, CELLS / 2, now + CELLS / 2 + 1, &half) == 0) return 1;
  printf("error: %s\n", heat_error(ctx));
  if (heat_total(ctx, CELLS / 2 - 1, now + CELLS / 2 + 1, &half) != 0) return fail(ctx);
  if (heat_read_array(ctx, now + CELLS / 2 - 1, middle, sizeof middle) != 0) return fail(ctx);
  printf("%.3f %.3f, in the middle %.3f %.3f %.3f\n", all, half, middle[0], middle[1], middle[2]);

  /* An error in a kernel ends the call, and nothing else. */
  float most;
  if (heat_warmest(ctx, 1.0f, CELLS, now, &most) == 0) return 1;
  printf("error: %s\n", heat_error(ctx));
  if (heat_warmest(ctx, 100.0f, CELLS, now, &most) != 0 || heat_wait(ctx) != 0) return fail(ctx);
  printf("warmest %.3f, of %d\n", most, (int)heat_size(now));
  say_transfers(ctx);
  heat_release(ctx, now);
  heat_free(ctx);
  free(rod);
  return 0;
}
