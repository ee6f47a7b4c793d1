/* Scans, filters, histograms, text, indices, rows of different lengths, and lists. */
#include "hand.cuh"
#include "libraries.h"

namespace {

void scans() {
  {
    const Array<float> xs(mega(128)), ys(xs.count), expected(xs.count);
    /* Quarters, in a walk that does not go far: all sums are exact, whatever is added first. */
    fill(xs, [] __device__(int64_t i) { return ((i & 1) == 0 ? 0.25f : -0.25f) * (float)(mixed(i >> 1) & 3); });
    const float *x = xs.data;
    cub_scan(x, expected.data, xs.count);
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count, 1e-6); };
    const auto right = [&] { return difference(ys.data, expected.data, xs.count, 1e-6); };
    Workload w("scan_f32", text("%lldM", xs.count >> 20), 8.0 * xs.count, xs.count);
    OURS(w, scan_f32_, wrong, xs.count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line("CUB", [&] { cub_scan(x, ys.data, xs.count); }, right);
    w.line("Thrust", [&] { thrust_scan(x, ys.data, xs.count); }, right);
    w.measure();
  }
  {
    const Array<int32_t> xs(mega(128)), ys(xs.count), expected(xs.count);
    fill(xs, [] __device__(int64_t i) { return (int32_t)mixed(i); });
    const int32_t *x = xs.data;
    cub_scan(x, expected.data, xs.count);
    Results<int32_t> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count); };
    const auto right = [&] { return difference(ys.data, expected.data, xs.count); };
    Workload w("scan_i32", text("%lldM", xs.count >> 20), 8.0 * xs.count, xs.count);
    OURS(w, scan_i32_, wrong, xs.count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line("CUB", [&] { cub_scan(x, ys.data, xs.count); }, right);
    w.line("Thrust", [&] { thrust_scan(x, ys.data, xs.count); }, right);
    w.measure();
  }
}

void filters() {
  const Array<int32_t> xs(mega(128)), ys(xs.count), expected(xs.count);
  const Array<int64_t> kept(1);
  fill(xs, [] __device__(int64_t i) { return (int32_t)mixed(i); });
  const int32_t *x = xs.data;
  for (const int32_t below : {32768, 655}) {
    const auto host = on_host(x, xs.count);
    std::vector<int32_t> right_ones;
    for (int32_t v : host) {
      if ((v & 65535) < below) right_ones.push_back(v);
    }
    const int64_t count = (int64_t)right_ones.size();
    TRY(cudaMemcpy(expected.data, right_ones.data(), 4 * (size_t)count, cudaMemcpyHostToDevice));
    Results<int32_t> out;
    const auto wrong = [&](Side s) {
      return out[s].sizes[0] != count ? 2 : difference(out[s].data(), expected.data, count);
    };
    const auto right = [&] {
      return on_host(kept.data, 1)[0] != count ? 2 : difference(ys.data, expected.data, count);
    };
    Workload w(below == 32768 ? "filter_50%" : "filter_1%", text("%lldM", xs.count >> 20), 4.0 * xs.count + 4.0 * count, xs.count);
    if (below == 32768) {
      OURS(w, filtered, wrong, xs.count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    } else {
      OURS(w, filtered_few, wrong, xs.count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    }
    w.line("CUB", [&, below] { cub_filter(x, ys.data, kept.data, xs.count, below); }, right);
    w.measure();
  }
}

enum { BINS = 256, PARTS = 8 };

/* Bins of each warp in local memory; keys come four at a time, several times in flight. */
__global__ void __launch_bounds__(32 * PARTS) histogram_kernel(const uint4 *keys, int32_t *bins, int64_t quads) {
  __shared__ int32_t mine[PARTS][BINS];
  for (int i = threadIdx.x; i < PARTS * BINS; i += blockDim.x) mine[0][i] = 0;
  __syncthreads();
  int32_t *const own = mine[threadIdx.x / 32];
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  const auto count = [=](uint4 v) {
    atomicAdd(own + (v.x & 255), 1);
    atomicAdd(own + (v.y & 255), 1);
    atomicAdd(own + (v.z & 255), 1);
    atomicAdd(own + (v.w & 255), 1);
  };
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < quads; i += 4 * step) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = __ldcs(keys + i + k * step);
#pragma unroll
    for (int k = 0; k < 4; k++) count(v[k]);
  }
  for (; i < quads; i += step) count(__ldcs(keys + i));
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    int32_t sum = 0;
    for (int part = 0; part < PARTS; part++) sum += mine[part][bin];
    atomicAdd(bins + bin, sum);
  }
}

__global__ void many_bins_kernel(const uint4 *keys, int32_t *bins, int64_t quads) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const uint4 v = __ldcs(keys + i);
  atomicAdd(bins + (v.x & 1048575), 1);
  atomicAdd(bins + (v.y & 1048575), 1);
  atomicAdd(bins + (v.z & 1048575), 1);
  atomicAdd(bins + (v.w & 1048575), 1);
}

void histograms() {
  const Array<int32_t> keys(mega(64));
  const int64_t count = keys.count;
  for (int kind = 0; kind < 3; kind++) {
    const int32_t bin_count = kind == 2 ? 1048576 : 256;
    fill(keys, [kind, bin_count] __device__(int64_t i) {
      const float u = uniform(i);
      return kind == 1 ? (int32_t)(u * u * u * u * 256) : (int32_t)(mixed(i) & (uint32_t)(bin_count - 1));
    });
    std::vector<int32_t> bins((size_t)bin_count, 0);
    for (int32_t key : on_host(keys.data, count)) bins[(size_t)key]++;
    const Array<int32_t> found(bin_count), expected(bin_count);
    TRY(cudaMemcpy(expected.data, bins.data(), 4 * bins.size(), cudaMemcpyHostToDevice));
    const auto right = [&] { return difference(found.data, expected.data, bin_count); };
    Results<int32_t> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, bin_count); };
    const char *const names[] = {"hist_256", "hist_256_skew", "hist_1M"};
    Workload w(names[kind], text("%lldM", count >> 20), 4.0 * count + 4.0 * bin_count, count);
    const uint4 *quads = (const uint4 *)keys.data;
    const auto clear = [&] { TRY(cudaMemsetAsync(found.data, 0, 4 * (size_t)bin_count, 0)); };
    if (kind < 2) {
      OURS(w, hist_256, wrong, count, keys.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
      w.line(
          "hand shared/warp", [&] { clear(), histogram_kernel<<<full_grid(), 32 * PARTS>>>(quads, found.data, count / 4); }, right);
    } else {
      OURS(w, hist_1M, wrong, count, keys.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
      w.line(
          "hand atomics", [&] { clear(), many_bins_kernel<<<groups(count / 4), GROUP>>>(quads, found.data, count / 4); }, right);
    }
    w.line("CUB", [&] { cub_histogram(keys.data, found.data, count, bin_count); }, right);
    w.measure();
  }
}

/* Of four bytes those that are letters: 0xff, the others 0. */
__device__ uint32_t letters(uint32_t four) { return __vcmpltu4(__vsub4(four | 0x20202020u, 0x61616161u), 0x1a1a1a1au); }

struct Count {
  static __device__ int none() { return 0; }
  static __device__ int of(int a, int b) { return a + b; }
  static __device__ int down(int a, int step) { return __shfl_down_sync(0xffffffff, a, step); }
};

void wordcount() {
  const Array<uint8_t> letters_of(mega(256));
  const Array<int64_t> words(1);
  const int64_t count = letters_of.count;
  fill(letters_of, [] __device__(int64_t i) { return (uint8_t)(mixed(i) % 100 < 18 ? ' ' : 'a' + mixed(~i) % 26); });
  const uint8_t *t = letters_of.data;
  const double expected = exact_sum(count, [t] __device__(int64_t i) {
    const bool is_letter = (uint8_t)((t[i] | 32) - 97) < 26, was = i > 0 && (uint8_t)((t[i - 1] | 32) - 97) < 26;
    return is_letter && !was ? 1.0 : 0.0;
  });
  const Partials<int> partials;
  int64_t ours[SIDES] = {-1, -1}, *out = words.data;
  const auto wrong = [&](Side s) { return (double)ours[s] == expected ? 0.0 : 2.0; };
  const auto right = [&] { return (double)on_host(out, 1)[0] == expected ? 0.0 : 2.0; };
  Workload w("wordcount", text("%lldMB", count >> 20), count, count);
  OURS(w, wordcount, wrong, count, letters_of.at(SIDE), &ours[SIDE]);
  w.line(
      "hand uint4",
      [&] {
        const auto load = [t] __device__(int64_t i) {
          const uint4 v = __ldcs((const uint4 *)t + i);
          const uint32_t before = i == 0 ? 0 : (uint32_t)t[16 * i - 1] << 24;
          const uint32_t a = letters(v.x), b = letters(v.y), c = letters(v.z), d = letters(v.w), p = letters(before);
          const int bits = __popc(a & ~__byte_perm(p, a, 0x6543)) + __popc(b & ~__byte_perm(a, b, 0x6543)) +
                           __popc(c & ~__byte_perm(b, c, 0x6543)) + __popc(d & ~__byte_perm(c, d, 0x6543));
          return bits / 8;
        };
        reduce<Count, int>(partials, count / 16, load, [out] __device__(int all) { *out = all; });
      },
      right);
  w.line("CUB", [&] { cub_count_words(t, out, count); }, right);
  w.measure();
}

/* A permutation of all numbers below a power of two: steps that can be undone, one by one. */
__host__ __device__ int32_t permuted(int64_t i, int bits) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t x = (uint32_t)i;
  for (uint32_t round = 0; round < 4; round++) {
    x = (x * 2654435761u + 0x9E3779B9u * round) & mask;
    x ^= x >> (bits / 2);
    x = (x * 2246822519u) & mask;
    x ^= x >> (bits / 2 + 1);
  }
  return (int32_t)x;
}

int bits_of(int64_t count) {
  int bits = 0;
  while (((int64_t)1 << bits) < count) bits++;
  return bits;
}

__global__ void gather_kernel(const int4 *from, const int32_t *xs, int4 *ys, int64_t quads) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const int4 at = __ldcs(from + i);
  __stcs(ys + i, int4{xs[at.x], xs[at.y], xs[at.z], xs[at.w]});
}

__global__ void scatter_kernel(const int4 *to, const int4 *xs, int32_t *ys, int64_t quads) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const int4 at = __ldcs(to + i), x = __ldcs(xs + i);
  ys[at.x] = x.x, ys[at.y] = x.y, ys[at.z] = x.z, ys[at.w] = x.w;
}

void indices() {
  const Array<int32_t> xs(mega(64)), is(xs.count), ys(xs.count), expected(xs.count);
  const int64_t count = xs.count;
  const int bits = bits_of(count);
  fill(xs, [] __device__(int64_t i) { return (int32_t)mixed(i); });
  fill(is, [bits] __device__(int64_t i) { return permuted(i, bits); });
  const int32_t *x = xs.data, *p = is.data;
  const auto right = [&] { return difference(ys.data, expected.data, count); };
  Results<int32_t> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, count); };
  {
    fill(expected, [x, p] __device__(int64_t i) { return x[p[i]]; });
    Workload w("gather", text("%lldM", count >> 20), 12.0 * count);
    OURS(w, gathered, wrong, count, is.at(SIDE), count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line("hand int4", [&] { gather_kernel<<<groups(count / 4), GROUP>>>((const int4 *)p, x, (int4 *)ys.data, count / 4); }, right);
    w.line("Thrust", [&] { thrust_gather(p, x, ys.data, count); }, right);
    w.measure();
  }
  {
    int32_t *to = expected.data;
    const Array<int32_t> unused(count);
    fill(unused, [x, p, to] __device__(int64_t i) { return to[p[i]] = x[i]; });
    Workload w("scatter", text("%lldM", count >> 20), 12.0 * count);
    OURS(w, scattered, wrong, count, is.at(SIDE), count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line(
        "hand int4", [&] { scatter_kernel<<<groups(count / 4), GROUP>>>((const int4 *)p, (const int4 *)x, ys.data, count / 4); }, right);
    w.line("Thrust", [&] { thrust_scatter(p, x, ys.data, count); }, right);
    w.measure();
  }
}

enum { EACH = 16, CHUNK = 256 * EACH };

/* A chunk of cells for a group, through local memory; a work-item has some neighbours, and adds at the end of each row what it has of it. */
__global__ void __launch_bounds__(256) segments_kernel(const float *cells, const int64_t *offsets, float *sums, int64_t count, int64_t rows) {
  __shared__ float chunk[CHUNK + CHUNK / EACH];
  __shared__ int64_t bounds[2];
  const int64_t first = (int64_t)blockIdx.x * CHUNK, last = first + CHUNK < count ? first + CHUNK : count;
  for (int i = threadIdx.x; first + i < last; i += 256) chunk[i + i / EACH] = cells[first + i];
  /* The row of a cell: the last one that starts at or before it and is not empty. */
  const auto row_of = [=](int64_t cell, int64_t low, int64_t high) {
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (offsets[middle] <= cell) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  if (threadIdx.x < 2) bounds[threadIdx.x] = row_of(threadIdx.x == 0 ? first : last - 1, 0, rows - 1);
  __syncthreads();
  const int64_t from = first + (int64_t)threadIdx.x * EACH;
  if (from >= last) return;
  const int64_t to = from + EACH < last ? from + EACH : last;
  int64_t row = row_of(from, bounds[0], bounds[1]), end = offsets[row + 1];
  bool is_whole = offsets[row] == from;
  float sum = 0;
  for (int64_t cell = from; cell < to; cell++) {
    while (cell == end) {
      if (is_whole) sums[row] = sum;
      else atomicAdd(sums + row, sum);
      sum = 0;
      is_whole = true;
      end = offsets[++row + 1];
    }
    const int at = (int)(cell - first);
    sum += chunk[at + at / EACH];
  }
  if (is_whole && end == to) sums[row] = sum;
  else atomicAdd(sums + row, sum);
}

void sumrows() {
  const int64_t count = mega(64);
  std::vector<int64_t> offsets = {0};
  for (uint64_t i = 0; offsets.back() < count; i++) {
    const double u = (mixed(i) + 1.0) / 4294967296.0;
    const int64_t length = (int64_t)(4 * pow(u, -2.0 / 3)), most = count / 64;
    const int64_t end = offsets.back() + (length < most ? length : most);
    offsets.push_back(end < count ? end : count);
  }
  const int64_t rows = (int64_t)offsets.size() - 1;
  const Array<float> cells(count), found(rows), expected(rows);
  const Array<int64_t> ends(rows + 1);
  TRY(cudaMemcpy(ends.data, offsets.data(), 8 * offsets.size(), cudaMemcpyHostToDevice));
  fill(cells, [] __device__(int64_t i) { return uniform(i); });
  const float *x = cells.data;
  const int64_t *o = ends.data;
  {
    const auto host = on_host(x, count);
    std::vector<float> sums((size_t)rows);
    for (int64_t row = 0; row < rows; row++) {
      double sum = 0;
      for (int64_t i = offsets[(size_t)row]; i < offsets[(size_t)row + 1]; i++) sum += host[(size_t)i];
      sums[(size_t)row] = (float)sum;
    }
    TRY(cudaMemcpy(expected.data, sums.data(), 4 * sums.size(), cudaMemcpyHostToDevice));
  }
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, rows, 1e-4); };
  const auto right = [&] { return difference(found.data, expected.data, rows, 1e-4); };
  Workload w("sumrows_irr", text("%lldM, %lld rows", count >> 20, rows), 4.0 * count + 8.0 * rows, count);
  OURS(w, sumrows, wrong, rows, ends.at(SIDE), count, cells.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
  w.line(
      "hand chunks, atomics",
      [&] {
        TRY(cudaMemsetAsync(found.data, 0, 4 * (size_t)rows, 0));
        segments_kernel<<<groups(count, CHUNK), 256>>>(x, o, found.data, count, rows);
      },
      right);
  w.line("CUB segmented", [&] { cub_segment_sums(x, o, found.data, rows); }, right);
  w.measure();
}

/* One round of Wyllie's: value and link of a node are one word. */
__global__ void jump_kernel(const uint64_t *from, uint64_t *to, int64_t count) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint64_t mine = from[i], next = from[mine >> 32];
  to[i] = (next & 0xffffffff00000000ull) | (uint32_t)((uint32_t)mine + (uint32_t)next);
}

__global__ void pack_kernel(const int32_t *next, const int32_t *values, uint64_t *to, int64_t count) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = (uint64_t)(uint32_t)next[i] << 32 | (uint32_t)values[i];
}

__global__ void unpack_kernel(const uint64_t *from, int32_t *sums, int64_t count) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = (int32_t)(uint32_t)from[i];
}

void listrank() {
  const int64_t count = mega(16);
  const int bits = bits_of(count);
  const Array<int32_t> next(count), values(count), found(count), expected(count), unused(count);
  const Array<uint64_t> one(count), two(count);
  int32_t *link = next.data, *value = values.data, *sums = expected.data;
  /* The node at place i of the list is permuted(i); its sum is that of the places from there on. */
  fill(unused, [=] __device__(int64_t i) {
    const int32_t node = permuted(i, bits);
    const bool is_last = i + 1 == count;
    link[node] = is_last ? node : permuted(i + 1, bits);
    value[node] = is_last ? 0 : 1;
    sums[node] = (int32_t)(count - 1 - i);
    return 0;
  });
  Results<int32_t> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, count); };
  const auto right = [&] { return difference(found.data, expected.data, count); };
  Workload w("listrank (Wyllie)", text("%lldM", count >> 20), 12.0 * count);
  OURS(w, listrank, wrong, count, next.at(SIDE), count, values.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
  w.line(
      "hand, packed",
      [&] {
        pack_kernel<<<groups(count), GROUP>>>(link, value, one.data, count);
        uint64_t *from = one.data, *to = two.data;
        for (int round = 0; round < bits; round++) {
          jump_kernel<<<groups(count), GROUP>>>(from, to, count);
          uint64_t *const done = to;
          to = from;
          from = done;
        }
        unpack_kernel<<<groups(count), GROUP>>>(from, found.data, count);
      },
      right);
  w.measure();
}

} // namespace

void lists() {
  scans();
  filters();
  histograms();
  wordcount();
  indices();
  sumrows();
  listrank();
}
