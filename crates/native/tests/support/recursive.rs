//! Procedures that call each other in turn.

/// `ends` waits inside loops and branches; `sorted` hands memory up and down; `fails` fails deep inside.
pub const RECURSIVE: &str = r#"
proc fib(n: i64, result: out i64) {
  if n < 2i64 {
    result = n
  } else {
    var a: i64
    var b: i64
    call fib(n - 1i64, out a)
    call fib(n - 2i64, out b)
    result = a + b
  }
}

proc is_even(n: i64, result: out bool) {
  result = true
  if n > 0i64 { call is_odd(n - 1i64, out result) }
}

proc is_odd(n: i64, result: out bool) {
  result = false
  if n > 0i64 { call is_even(n - 1i64, out result) }
}

proc ends(n: i64, ways: write i32, result: out i64) {
  buffer small: i64
  alloc small[3]
  small[0] = n
  small[1] = 0i64
  var steps: i64 = 0i64
  for i < n {
    let local: i64 = {2*i + 1}
    let kept: i64 = local * 3i64
    var one: i64
    call ends(i, buffer ways[0], out one)
    small[1] = (small[1] + one) + kept
    var j: i64 = 0i64
    while j < 2i64 {
      if (i & 1i64) == j {
        var two: i64
        call ends(select(i > 1i64, 1i64, 0i64), buffer ways[0], out two)
        steps = steps + two
      } else {
        steps = steps + 1i64
      }
      j = j + 1i64
    }
  }
  ways[0] = ways[0] + 1i32
  result = (small[0] + small[1]) + steps
  free small
}

proc sorted(n: i64, xs: read i32, size: out i64, out: owned i32) {
  if n <= 1i64 {
    size = n
    alloc out[n]
    copy out[0] = xs[0] for n
  } else {
    buffer flags: bool
    alloc flags[n]
    par for i < n { flags[i] = xs[i] < xs[0] }
    var less: i64 = 0i64
    for i2 < n { if flags[i2] { less = less + 1i64 } }
    let below: i64 = less
    buffer low: i32
    buffer high: i32
    alloc low[below]
    alloc high[n - below - 1]
    var at: i64 = 0i64
    var to: i64 = 0i64
    for i3 < n - 1 {
      if flags[i3 + 1] {
        let place: i64 = at
        low[place] = xs[i3 + 1]
        at = at + 1i64
      } else {
        let place2: i64 = to
        high[place2] = xs[i3 + 1]
        to = to + 1i64
      }
    }
    free flags
    buffer first: i32
    buffer last: i32
    var first_size: i64
    var last_size: i64
    call sorted(below, buffer low[0], out first_size, owned first)
    call sorted({n - below - 1}, buffer high[0], out last_size, owned last)
    free low
    free high
    alloc out[n]
    let split: i64 = first_size
    copy out[0] = first[0] for split
    out[split] = xs[0]
    copy out[split + 1] = last[0] for n - split - 1
    size = n
    free first
    free last
  }
}

proc fails(n: i64, bad: i64, result: out i64) {
  buffer held: i64
  alloc held[n + 40]
  for i < n + 40 { held[i] = {i} }
  check n != bad else E0811("stopped at {}" 0:4-9, n)
  var below: i64 = 0i64
  if n > 0i64 { call fails(n - 1i64, bad, out below) }
  result = below + held[n]
  free held
}

proc each(n: i64, bad: i64, results: write i64) {
  par for i < n {
    var one: i64
    call fails(i, bad, out one)
    results[i] = one
  }
}

proc deep(n: i64, result: out i64) {
  var below: i64 = 0i64
  if n > 0i64 { call deep(n - 1i64, out below) }
  result = below + 1i64
}

proc deep_in_each(n: i64, depth: i64, results: write i64) {
  par for i < n {
    var one: i64
    call deep({depth + i}, out one)
    results[i] = one
  }
}
"#;
