//! Programs that use every statement.

/// The last procedure's names mean something in C.
pub const STATEMENTS: &str = r#"
proc scalars(x: i32, y: f64, result: out f64, other: out i32, unused: i64) {
  let doubled: i32 = x + x
  let ignored: i32 = x * 3i32
  var sum: f64
  var never: f32 = 1.5f32
  sum = y + to_f64(doubled)
  never = 2.5f32
  if sum < 0.0f64 {
    sum = neg(sum)
  } else {
    if sum > 100.0f64 { sum = 100.0f64 }
  }
  if x == 0i32 { } else { sum = sum + 1.0f64 }
  other = select(x > 0i32, doubled, neg(doubled))
  result = sum * y
}

proc loops(n: i64, result: out i64) {
  var total: i64 = 0i64
  for i < n {
    for j < i + 1 {
      total = total + {i*j - 2*i + 7}
    }
  }
  var rest: i64 = total
  var steps: i64 = 0i64
  while (rest > 1i64) & (steps < 100i64) {
    rest = select((rest & 1i64) == 1i64, (rest * 3i64) + 1i64, rest >> 1i64)
    steps = steps + 1i64
  }
  result = (total * 1000i64) + steps
}

proc fill(n: i64, from: i64, to: write i32) {
  for i < n {
    to[i] = to_i32({from + i*i})
  }
}

proc sum_of(n: i64, xs: read i32, result: out i32) {
  var total: i32 = 0i32
  for i < n { total = total + xs[i] }
  result = total
}

proc squares(n: i64, cells: owned i32, size: out i64) {
  alloc cells[n + 1]
  call fill(n + 1i64, 0i64, buffer cells[0])
  size = {n + 1}
}

proc calls(n: i64, result: write i32, total: out i32) {
  buffer made: i32
  buffer again: i32
  var size: i64
  call squares(n, owned made, out size)
  var sum: i32
  call sum_of(size, buffer made[0], out sum)
  call squares(size, owned made, out size)
  alloc again[2*n + 3]
  copy again[1] = made[0] for n + 2
  swap made, again
  for i < n + 2 { result[i] = made[i + 1] }
  free again
  call sum_of({n + 1}, buffer result[1], out sum)
  total = sum + 1i32
  free made
}

proc small(n: i64, result: write f32) {
  par for i < n {
    buffer lanes: private f32
    alloc lanes[4]
    simd for j < 4 { lanes[j] = to_f32({i*4 + j}) }
    var sum: f32 = 0.0f32
    for k < 4 { sum = sum + lanes[k] }
    result[i] = sum
    free lanes
  }
}

proc scratch(n: i64, m: i64, result: write i64) {
  par for i < n {
    buffer row: i64
    buffer other: i64
    alloc row[m]
    alloc other[m]
    for j < m { row[j] = {i*m + j} }
    for k < m { other[m - 1 - k] = row[k] * 2i64 }
    swap row, other
    var sum: i64 = 0i64
    for l < m { sum = sum + (row[l] * {l + 1}) }
    result[i] = sum
    free other
    free row
  }
}

proc grows(n: i64, result: owned i64, size: out i64) {
  var room: i64 = 1i64
  var used: i64 = 0i64
  buffer cells: i64
  buffer next: i64
  alloc cells[1]
  for i < n {
    if used == room {
      let doubled: i64 = room * 2i64
      alloc next[doubled]
      copy next[0] = cells[0] for used
      swap cells, next
      room = doubled
    }
    cells[used] = {i*i}
    used = used + 1i64
  }
  alloc result[used]
  copy result[0] = cells[0] for used
  size = used
  free next
  free cells
}

proc picks(n: i64, xs: read f32, flags: read bool, kept: write f32, count: out i64) {
  var at: i64 = 0i64
  for i < n {
    if flags[i] & (xs[i] > 0.5f32) {
      kept[at] = xs[i]
      at = at + 1i64
    }
  }
  count = at
}

proc nothing() { }

proc while(int: i64, free: read i32, exp: write i32, add_i32: out i32, ctx: i32, x': i32, é: i32) {
  for own < int { exp[own] = (free[own] * ctx) + (x' - é) }
  add_i32 = exp[int - 1]
}
"#;

pub const FAILING: &str = r#"
proc values(a: i8, b: u64, c: f32, d: f64, e: bool) {
  check e else E0811("{} {} {} {} {}: 100% \"sure\"??!" 0:12-15, a, b, c, d, e)
}

proc divide(n: i64, xs: read i32, ys: read i32, result: owned i32) {
  alloc result[n]
  par for i < n {
    check ys[i] != 0i32 else E0802("division by zero" 0:3-4)
    result[i] = xs[i] / ys[i]
  }
}

proc first(n: i64, bad: read bool, worse: read bool, result: write i64, done: out bool) {
  buffer kept: i64
  alloc kept[n + 1]
  par for i < n {
    buffer mine: i64
    alloc mine[i + 1]
    mine[i] = {i}
    check not(bad[i]) else E0811("bad {} of {}" 0:5-9, i, n)
    var got: i64
    call inner(i, worse[i], out got)
    result[i] = got + mine[i]
    free mine
  }
  for j < n {
    check not(worse[j]) else E0811("late {}" 0:13-14, j)
    kept[j] = result[j]
  }
  done = true
  free kept
}

proc inner(i: i64, worse: bool, result: out i64) {
  buffer cells: i64
  alloc cells[i + 2]
  cells[i] = 5i64
  if worse {
    check {i} < 0i64 else E0801("worse {}" 0:7-8, i)
  }
  result = cells[i] + 1i64
  free cells
}

proc simd_checks(n: i64, xs: read i32, result: write i32) {
  simd for i < n {
    check xs[i] >= 0i32 else E0806("negative {}" 0:1-2, xs[i])
    result[i] = xs[i]
  }
}

proc cubes(n: i64, m: i64, k: i64, result: out i64) {
  buffer cells: f64
  alloc cells[n*m*k]
  result = {n*m*k}
  free cells
}

proc measured(n: i64, m: i64, result: out i64) {
  let cells: i64 = max({n*m}, 0i64)
  buffer block: u8
  alloc block[cells]
  var more: i64
  call product(n, m, out more)
  buffer other: u8
  alloc other[more]
  call reserve({n*m + 1})
  result = {n*m}
  free other
  free block
}

proc product(n: i64, m: i64, result: out i64) { result = {n*m} }

proc reserve(cells: i64) {
  buffer block: u8
  alloc block[cells]
  free block
}
"#;

/// Iterations that communicate.
pub const CHAINS: &str = r#"
proc prefix(n: i64, xs: read i64, result: write i64, total: out i64) {
  buffer flag: i32
  buffer sum: i64
  alloc flag[n]
  alloc sum[n]
  for k < n { flag[k] = 0i32 }
  chain for c < n {
    var before: i64 = 7i64
    if {c} > 0i64 {
      await flag[c - 1], 1i32
      before = sum[c - 1]
    }
    sum[c] = (before * 3i64) + xs[c]
    atomic release store flag[c], 1i32
    result[c] = before
  }
  if n > 0i64 { total = sum[n - 1] } else { total = 7i64 }
  free sum
  free flag
}

proc fails(n: i64, early: read bool, late: read bool, result: write i64, done: out bool) {
  buffer flag: u8
  buffer sum: i64
  alloc flag[n]
  alloc sum[n]
  for k < n { flag[k] = 0u8 }
  chain for c < n {
    buffer own: i64
    alloc own[c + 1]
    own[c] = {c}
    check not(early[c]) else E0811("early {} of {}" 0:5-9, c, n)
    if {c} > 0i64 {
      await flag[c - 1], 2u8
      own[c] = sum[c - 1] + 1i64
    }
    sum[c] = own[c]
    var got: i64
    call late(c, late[c], out got)
    atomic release store flag[c], 2u8
    result[c] = got
    free own
  }
  done = true
  free sum
  free flag
}

proc late(c: i64, bad: bool, result: out i64) {
  check not(bad) else E0801("late {}" 0:7-8, c)
  result = c * c
}

proc updates(n: i64, cells: i64, is: read i64, xs: read i32, big: write i64, small: write u8, wide: write i32, flags: write bool, low: write f32, high: write f64) {
  par for i < n {
    let j: i64 = is[i]
    let x: i32 = xs[i]
    atomic relaxed add big[j], to_i64(x)
    atomic relaxed mul small[j], 3u8
    atomic acquire_release xor small[j + cells], to_u8(x)
    atomic relaxed and small[j + 2*cells], complement(shl(1u8, to_u8(x & 7i32)))
    atomic relaxed max wide[j], x
    atomic release min wide[j + cells], x
    atomic relaxed or flags[j], x > 5i32
    atomic relaxed min low[j], to_f32(x)
    atomic relaxed max high[j], to_f64(x)
  }
}

proc claims(n: i64, is: read i64, seen: write bool, count: write i64, again: write i32) {
  par for i < n {
    let j: i64 = is[i]
    atomic relaxed exchange old: bool = seen[j], true
    if old {
      atomic relaxed store again[0], 1i32
    } else {
      count[j] = count[j] + 1i64
    }
    atomic acquire load now: bool = seen[j]
    check now else E0811("lost {}" 0:1-2, j)
  }
}

proc halves(n: i64, result: owned f32, size: out i64) {
  alloc result[n]
  for i < n { result[i] = to_f32({i}) }
  shrink result[n/2]
  size = {n/2}
}

proc tasks(n: i64, m: i64, sizes: read i64, bad: read bool, result: write i64) {
  par for i < n {
    for j < m {
      let size: i64 = sizes[i*m + j]
      buffer row: i64
      alloc row[size + 1]
      row[0] = {i*m + j}
      check not(bad[i*m + j]) else E0811("row {} column {}" 0:5-9, i, j)
      result[i*m + j] = row[0]
      free row
    }
  }
}
"#;

/// C functions, and the program that calls them.
pub const FOREIGN: &str = r#"
proc main(n: i64, xs: read f64, size: out i64, out: owned f64) {
  par for i < n {
    var k: i64
    var flag: bool
    buffer part: f64
    foreign "(i64) -> ([f64], bool)" some(i, out k, owned part, out flag)
    trace "part" "([f64], bool)"(k, buffer part[0], flag)
    free part
  }
  var m: i64
  buffer a: f64
  buffer b: i32
  foreign "([f64]) -> [(f64, i32)]" both(n, buffer xs[0], out m, owned a, owned b)
  let cells: i64 = m
  alloc out[cells]
  for j < cells { out[j] = a[j] * to_f64(b[j]) }
  size = cells
  free a
  free b
}
"#;

/// What they do: `some` fails at 13, `both` gives no second array for 3 elements.
pub const FOREIGN_C: &str = r#"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void some(struct almach_tuple_array_f64_bool *result, int64_t n) {
  result->v0_size = n == 13 ? -1 : n;
  result->v0_data = malloc((size_t)(n + 1) * sizeof(double));
  for (int64_t i = 0; i < n; i++) result->v0_data[i] = (double)i;
  result->v1 = n > 3;
}

void both(int64_t *size, double **a, int32_t **b, int64_t n, const double *xs) {
  *size = n;
  *a = malloc((size_t)(n + 1) * sizeof **a);
  *b = n == 3 ? NULL : malloc((size_t)(n + 1) * sizeof **b);
  for (int64_t i = 0; i < n; i++) {
    (*a)[i] = xs[i] + 1;
    if (n != 3) (*b)[i] = (int32_t)i;
  }
}
"#;
