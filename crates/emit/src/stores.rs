//! Stores in C: memory of a call that only grows, and that other threads may read while it does.
//!
//! ```text
//! struct stores stores;                                   in the function that is called from outside
//! const int64_t cell = reserve(&ctx->stores->List, 1, 20);
//! *List_0(ctx->stores, cell) = x;
//! ```
//!
//! Chunk `k` of a store holds `64 * 2^k` rows, column behind column, so that rows never move and their number costs nothing
//! but a shift. Rows are reserved by one atomic addition; a chunk is put in place by whoever needs it first. Who reads a row
//! has its number from who reserved it, so the chunk is there: finding it needs no more than a load.

use crate::Target;
use crate::analysis::Uses;
use crate::helpers::Helpers;
use crate::names::Scope;
use crate::procedure::{Known, Role, Unit};
use crate::tree::{CExpr, CStmt, CType, CUnary, scalar_c_name};
use almach_base::Name;
use almach_imp::{Column, Proc, Program};
use std::collections::HashMap;

/// A store as C has it.
pub struct StoreText {
    pub name: Name,
    pub c_name: String,
    /// How many bytes a row has.
    pub bytes: usize,
    columns: Vec<ColumnText>,
}

impl StoreText {
    /// Where one of its columns is, as a row of a table in C.
    pub fn place_in_memory(&self, column: &Name) -> Option<String> {
        let found = self.columns.iter().find(|text| text.column.name == *column)?;
        let bytes = found.column.ty.bytes();
        Some(format!(
            "  {{offsetof(struct stores, {}), {}, {bytes}}},\n",
            self.c_name, found.before
        ))
    }
}

struct ColumnText {
    column: Column,
    /// The function that finds its cells.
    function: String,
    /// How many bytes of a row are in the columns before it.
    before: usize,
}

/// The stores that some procedure works on.
pub fn stores(program: &Program, procs: &[(&Proc, Uses)], scope: &mut Scope) -> Vec<StoreText> {
    match procs.iter().any(|(_, uses)| uses.touches_stores()) {
        true => program
            .stores
            .iter()
            .map(|store| store_text(store, scope))
            .collect(),
        false => Vec::new(),
    }
}

fn store_text(store: &almach_imp::Store, scope: &mut Scope) -> StoreText {
    // Wide ones first, so that every column is aligned.
    let mut columns: Vec<&Column> = store.columns.iter().collect();
    columns.sort_by_key(|column| std::cmp::Reverse(column.ty.bytes()));
    let mut bytes = 0;
    let columns = columns.into_iter().map(|column| {
        let before = bytes;
        bytes += column.ty.bytes();
        ColumnText {
            column: column.clone(),
            function: scope.fresh(&column.name),
            before,
        }
    });
    let columns = columns.collect();
    StoreText {
        name: store.name.clone(),
        c_name: scope.fresh(&store.name),
        // Even rows without columns are counted.
        bytes: bytes.max(1),
        columns,
    }
}

/// Columns as procedures know them.
pub fn columns(stores: &[StoreText]) -> HashMap<Name, Known> {
    let columns = stores.iter().flat_map(|store| &store.columns);
    let known = columns.map(|text| {
        let known = Known {
            c_name: text.function.clone(),
            ty: text.column.ty,
            role: Role::Column(text.column.writing),
        };
        (text.column.name.clone(), known)
    });
    known.collect()
}

/// What a call does before it uses its stores.
pub fn open() -> Vec<CStmt> {
    let stores = CExpr::name("stores");
    let address = CExpr::unary(CUnary::Address, stores);
    vec![
        CStmt::Declare {
            ty: CType::Named("struct stores".into()),
            name: "stores".into(),
            value: None,
        },
        CStmt::Do(CExpr::call(
            "memset",
            [
                address.clone(),
                CExpr::literal("0"),
                CExpr::literal("sizeof stores"),
            ],
        )),
        CStmt::Assign(CExpr::name("ctx").arrow("stores"), address),
    ]
}

/// What it does at its end.
pub fn close() -> CStmt {
    let address = CExpr::unary(CUnary::Address, CExpr::name("stores"));
    CStmt::Do(CExpr::call("release_stores", [address]))
}

/// The types and functions of stores.
pub fn texts(unit: &Unit<'_>, helpers: &Helpers, target: Target) -> Vec<String> {
    let mut stores: Vec<&StoreText> = unit.stores.values().collect();
    if stores.is_empty() {
        return Vec::new();
    }
    stores.sort_by(|a, b| a.name.cmp(&b.name));
    let fields: String = stores
        .iter()
        .map(|store| format!("  struct store {};\n", store.c_name))
        .collect();
    let releases: String = stores
        .iter()
        .map(|store| format!("    free(stores->{}.chunks[k]);\n", store.c_name))
        .collect();
    let mut texts = vec![
        STORES.replace("FIELDS", &fields),
        RELEASE.replace("RELEASES", &releases),
    ];
    if !helpers.reserved.is_empty() {
        texts.push(match target {
            Target::C | Target::OpenCl | Target::Cuda => RESERVE.to_string(),
            Target::OpenMp => RESERVE_AT_ONCE.to_string(),
        });
    }
    let used = stores
        .iter()
        .flat_map(|store| store.columns.iter().map(move |column| (store, column)))
        .filter(|(_, text)| helpers.columns.contains(&text.column.name));
    let mut used = used.peekable();
    if used.peek().is_some() {
        texts.push(PLACE.to_string());
    }
    texts.extend(used.map(|(store, column)| accessor(store, column)));
    let settled = |name: &Name| {
        unit.columns
            .get(name)
            .is_some_and(|known| known.role == Role::Column(almach_imp::Writing::Settled))
    };
    if helpers.columns.iter().any(settled) {
        texts.push(match target {
            Target::C | Target::OpenCl | Target::Cuda => SETTLED.to_string(),
            Target::OpenMp => SETTLED_AT_ONCE.to_string(),
        });
    }
    if helpers.settles {
        texts.push(match target {
            Target::C | Target::OpenCl | Target::Cuda => SETTLE.to_string(),
            Target::OpenMp => SETTLE_AT_ONCE.to_string(),
        });
    }
    if helpers.settles_own {
        texts.push(SETTLE_OWN.to_string());
    }
    texts
}

fn accessor(store: &StoreText, text: &ColumnText) -> String {
    ACCESSOR
        .replace("TYPE", scalar_c_name(text.column.ty))
        .replace("FUNCTION", &text.function)
        .replace("STORE", &store.c_name)
        .replace("BEFORE", &text.before.to_string())
}

const STORES: &str =
    "/* Memory that only grows: chunk k of a store holds 64 << k rows, one column behind the other. */
enum { FIRST_CHUNK = 6, CHUNKS = 42 };

struct store {
  int64_t count;
  char *chunks[CHUNKS];
};

struct stores {
FIELDS};
";

const RELEASE: &str = "static void release_stores(struct stores *stores) {
  for (int k = 0; k < CHUNKS; k++) {
RELEASES  }
}
";

const RESERVE: &str =
    "/* The first of so many new rows, which are zero; -1 where there is not enough memory. */
static int64_t reserve(struct store *store, int64_t count, size_t row) {
  const int64_t first = store->count;
  if (count < 0 || count > ((int64_t)1 << 46) - first) return -1;
  const uint64_t end = (uint64_t)first + (uint64_t)count + (((uint64_t)1 << FIRST_CHUNK) - 1);
  for (int k = 63 - __builtin_clzll(end) - FIRST_CHUNK; k >= 0 && store->chunks[k] == NULL; k--) {
    store->chunks[k] = calloc((size_t)1 << (k + FIRST_CHUNK), row);
    if (store->chunks[k] == NULL) return -1;
  }
  store->count = first + count;
  return first;
}
";

const RESERVE_AT_ONCE: &str = "static bool add_chunk(struct store *store, int k, size_t row) {
  char *chunk = calloc((size_t)1 << (k + FIRST_CHUNK), row), *none = NULL;
  if (chunk == NULL) return false;
  if (!__atomic_compare_exchange_n(&store->chunks[k], &none, chunk, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    free(chunk);
  }
  return true;
}

/* The first of so many new rows, which are zero; -1 where there is not enough memory. Threads get rows of their own. */
static int64_t reserve(struct store *store, int64_t count, size_t row) {
  const int64_t most = (int64_t)1 << 46;
  if (count < 0 || count > most || __atomic_load_n(&store->count, __ATOMIC_RELAXED) > most) return -1;
  const int64_t first = __atomic_fetch_add(&store->count, count, __ATOMIC_RELAXED);
  const uint64_t begin = (uint64_t)first + ((uint64_t)1 << FIRST_CHUNK);
  int k = 63 - __builtin_clzll(begin) - FIRST_CHUNK;
  const int last = 63 - __builtin_clzll(begin + (uint64_t)count - (count > 0)) - FIRST_CHUNK;
  for (; k <= last; k++) {
    if (__atomic_load_n(&store->chunks[k], __ATOMIC_ACQUIRE) == NULL && !add_chunk(store, k, row)) return -1;
  }
  return first;
}
";

const PLACE: &str = "/* Where a row's cell of a column is, with so many bytes of columns before it. */
static inline void *cell_place(const struct store *store, int64_t row, uint64_t before, size_t cell) {
  const uint64_t place = (uint64_t)row + ((uint64_t)1 << FIRST_CHUNK);
  const int top = 63 - __builtin_clzll(place);
  char *const chunk = __atomic_load_n(&store->chunks[top - FIRST_CHUNK], __ATOMIC_ACQUIRE);
  return chunk + (before << top) + (place ^ ((uint64_t)1 << top)) * cell;
}
";

const ACCESSOR: &str = "static inline TYPE *FUNCTION(const struct stores *stores, int64_t row) {
  return (TYPE *)cell_place(&stores->STORE, row, BEFORE, sizeof(TYPE));
}
";

const SETTLED: &str = "static inline int64_t settled(const int64_t *cell) {
  return *cell;
}
";

const SETTLED_AT_ONCE: &str = "static inline int64_t settled(const int64_t *cell) {
  return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}
";

const SETTLE: &str = "/* The first value that is not zero stays. */
static inline void settle(int64_t *cell, int64_t value) {
  if (*cell == 0) *cell = value;
}
";

const SETTLE_OWN: &str = "/* As settle, for a row that nobody else knows yet. */
static inline void settle_own(int64_t *cell, int64_t value) {
  if (*cell == 0) *cell = value;
}
";

const SETTLE_AT_ONCE: &str = "/* The first value that is not zero stays. */
static inline void settle(int64_t *cell, int64_t value) {
  int64_t none = 0;
  __atomic_compare_exchange_n(cell, &none, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
";
