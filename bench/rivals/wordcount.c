#include "wordcount.h"
#include "wordcount_seq.h"
#include "almach.h"

ALMACH(wordcount)

static int64_t n;
static uint8_t *text;
static int64_t words;
static int64_t reference;

static inline bool is_letter(uint8_t c) { return (uint8_t)((c | 32) - 'a') < 26; }

static bool setup(int64_t size) {
  n = size;
  text = room(n, sizeof *text);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = random_bits();
    text[i] = bits % 100 < 18 ? ' ' : (uint8_t)((bits >> 8 & 1 ? 'a' : 'A') + (bits >> 9) % 26);
  }
  reference = 0;
  for (int64_t i = 0; i < n; i++) reference += is_letter(text[i]) && (i == 0 || !is_letter(text[i - 1]));
  return true;
}

static void run_almach(void) { CALL(wordcount, n, text, &words); }
static void run_almach_seq(void) { CALL(wordcount_seq, n, text, &words); }

static void run_plain(void) {
  int64_t count = 0;
  bool inside = false;
  for (int64_t i = 0; i < n; i++) {
    const bool letter = is_letter(text[i]);
    count += letter && !inside;
    inside = letter;
  }
  words = count;
}

static void run_tuned(void) {
  /* Counts of up to 255 fit into bytes: as many lanes as a register has. */
  enum { LANES = 64, STEPS = 255, CHUNK = LANES * STEPS };
  if (n == 0) {
    words = 0;
    return;
  }
  const int64_t chunks = (n - 1) / CHUNK;
  int64_t count = is_letter(text[0]);
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const uint8_t *at = text + 1 + chunk * CHUNK;
    uint8_t lanes[LANES] = {0};
    for (int step = 0; step < STEPS; step++, at += LANES)
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = (uint8_t)(lanes[lane] + (is_letter(at[lane]) & !is_letter(at[lane - 1])));
    for (int lane = 0; lane < LANES; lane++) count += lanes[lane];
  }
  for (int64_t i = 1 + chunks * CHUNK; i < n; i++) count += is_letter(text[i]) && !is_letter(text[i - 1]);
  words = count;
}

static double error(void) { return words == reference ? 0 : INFINITY; }
static double bytes(void) { return (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
