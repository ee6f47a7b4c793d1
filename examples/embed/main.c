/* A C program that calls the library. */
#include "blend.h"

#include <stdio.h>

int main(void) {
  const float xs[] = {4.0f, -1.0f, 2.5f, 7.0f};
  struct blend_ctx *ctx = blend_new();
  if (ctx == NULL) {
    return 1;
  }
  int64_t size;
  float *weighed;
  float sum;
  if (blend_main(ctx, 4, xs, 2.0f, &size, &weighed, &sum) != 0) {
    fprintf(stderr, "%s\n", blend_error(ctx));
    blend_free(ctx);
    return 1;
  }
  for (int64_t i = 0; i < size; i++) {
    printf("%g ", weighed[i]);
  }
  printf("sum %g\n", sum);
  blend_release(ctx, weighed);
  blend_free(ctx);
  return 0;
}
