#include "word_statistics.h"
#include "word_statistics_seq.h"
#include "almach.h"

ALMACH(word_statistics)

struct statistics {
  int64_t words, letters, longest;
};

static int64_t n;
static uint8_t *text;
static struct statistics last, reference;

static inline bool is_letter(uint8_t c) { return (uint8_t)((c | 32) - 'a') < 26; }

/* Words that begin from `begin` on and before `end`. */
static struct statistics statistics(int64_t begin, int64_t end) {
  struct statistics all = {0, 0, 0};
  int64_t i = begin;
  if (i > 0 && is_letter(text[i - 1]))
    while (i < n && is_letter(text[i])) i++;
  while (i < end) {
    if (!is_letter(text[i])) {
      i++;
      continue;
    }
    const int64_t first = i;
    while (i < n && is_letter(text[i])) i++;
    all.words++;
    all.letters += i - first;
    if (i - first > all.longest) all.longest = i - first;
  }
  return all;
}

static bool setup(int64_t size) {
  n = size;
  text = room(n, sizeof *text);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = random_bits();
    text[i] = bits % 100 < 18 ? ' ' : (uint8_t)((bits >> 8 & 1 ? 'a' : 'A') + (bits >> 9) % 26);
  }
  reference = statistics(0, n);
  return true;
}

static void run_almach(void) { CALL(word_statistics, n, text, &last.words, &last.letters, &last.longest); }
static void run_almach_seq(void) { CALL(word_statistics_seq, n, text, &last.words, &last.letters, &last.longest); }
static void run_plain(void) { last = statistics(0, n); }

static void run_tuned(void) {
  enum { CHUNK = 1 << 16 };
  int64_t words = 0, letters = 0, longest = 0;
#pragma omp parallel for schedule(static) reduction(+ : words, letters) reduction(max : longest)
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    const struct statistics part = statistics(begin, begin + CHUNK < n ? begin + CHUNK : n);
    words += part.words;
    letters += part.letters;
    if (part.longest > longest) longest = part.longest;
  }
  last = (struct statistics){words, letters, longest};
}

static double error(void) {
  const bool is_right =
      last.words == reference.words && last.letters == reference.letters && last.longest == reference.longest;
  return is_right ? 0 : INFINITY;
}

static double bytes(void) { return (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
