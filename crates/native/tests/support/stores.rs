//! Procedures that work on stores.

pub const STORES: &str = r"
store List(List$tag: u32, List$table: settled i64, List$0: i64, List$1: i64, List$2: bool)
store List$tables(List$first: i64)

// Iterations make cells of their own.
proc cells(n: i64, out: write i64) {
  par for i < n {
    reserve nil = List[1]
    List$tag[nil] = 0u32
    var l: i64 = nil
    for j < i {
      reserve c = List[1]
      List$tag[c] = 1u32
      List$0[c] = j
      List$1[c] = l
      List$2[c] = List$2[l] == false
      l = c
    }
    var sum: i64 = 0i64
    while List$tag[l] != 0u32 {
      if List$2[l] { sum = sum + List$0[l] }
      l = List$1[l]
    }
    out[i] = sum
  }
}

// Whoever is first settles the table of a cell that all share.
proc shared(n: i64, out: write i64) {
  reserve cell = List[1]
  par for i < n {
    let known: i64 = List$table[cell]
    if known == 0i64 {
      reserve made = List$tables[1]
      List$first[made] = 7i64
      List$table[cell] = {made + 1}
    }
    let table: i64 = List$table[cell]
    out[i] = List$first[table - 1] + i
  }
}

// Runs of rows, filled at once, across chunks.
proc runs(n: i64, total: out i64) {
  var sum: i64 = 0i64
  for k < 5 {
    reserve first = List[n]
    par for i < n {
      List$0[first + i] = {i + k}
      List$1[first + i] = first
    }
    for j < n {
      sum = sum + (List$0[first + j] - (List$1[first + j] - first))
    }
  }
  total = sum
}

proc too_many(n: i64, out: out i64) {
  reserve first = List[n]
  List$0[first] = 1i64
  out = List$0[first]
}
";
