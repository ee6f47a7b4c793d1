//! The procedure that gives a cell its table: what can be reached from it, each cell once, in depth-first order of fields.
//!
//! It walks with a stack on the heap, so that a list may be as long as memory is; where a cell went is remembered in a hash
//! table, since other iterations may walk over the same cells at the same time. Cells are copied to new rows in a run, and
//! their references changed to the copies. Arrays that hold references are copied with them; all others are shared.

mod group;
mod lists;

pub(crate) use group::{group_of, into_tables};
pub(crate) use lists::order_in;

use crate::cells::{
    Cells, Elements, Leaf, Refers, column_name, copy_of_name, count_name, first_name, table_name,
    table_of_name, tables_name, tag_name,
};
use crate::error::{Lowering, bug};
use almach_base::{Name, Span};
use almach_dpia::store::Reference;
use almach_imp::{Proc, Stmt};

/// Which of the procedures on tables a program calls.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) table_of: bool,
    pub(crate) reach_of: bool,
    pub(crate) order_of: bool,
}

/// The procedures that find or make tables.
pub(crate) fn tables(cells: &Cells, wanted: Wanted, span: Span) -> Lowering<Vec<Proc>> {
    let makes_tables = wanted.table_of || wanted.reach_of;
    let mut procs = Vec::new();
    if makes_tables || wanted.order_of {
        procs.extend(lists::order_of(cells, span)?);
    }
    if !makes_tables {
        return Ok(procs);
    }
    procs.push(lists::copy_of(cells, span)?);
    let name = cells.name();
    let places = [
        ("@table_of@", table_of_name(name).to_string()),
        ("@copy_of@", copy_of_name(name).to_string()),
    ];
    procs.push(procedure(TABLE_OF, name, &places, span)?);
    if wanted.reach_of {
        procs.push(lists::reach_of(cells, span)?);
    }
    Ok(procs)
}

/// A procedure `(cell, out table)` that copies what can be reached from a cell to a new table.
fn walk(cells: &Cells, called: Name, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    let widest = cells.store.references.iter().map(|references| direct(references));
    let widest = widest.max().unwrap_or(0).max(1);
    let places = [
        ("@walk_of@", called.to_string()),
        (
            "@push_references@",
            push_references(name, "here", &cells.store.references),
        ),
        ("@copy_columns@", copy_columns(cells, 0)),
        ("@hash_here@", hash("here")),
        ("@hash_key@", hash("key")),
        ("@width@", widest.to_string()),
        // Doubled once, the stack has room for what one cell refers to.
        ("@height@", (2 * widest).max(64).to_string()),
    ];
    procedure(TEXT, name, &places, span)
}

/// The procedure of a text; names of the store's columns, and other places, are filled in.
fn procedure(text: &str, name: &Name, places: &[(&str, String)], span: Span) -> Lowering<Proc> {
    let columns = [
        ("@tables@", tables_name(name).to_string()),
        ("@table@", table_name(name).to_string()),
        ("@first@", first_name(name).to_string()),
        ("@count@", count_name(name).to_string()),
        ("@tag@", tag_name(name).to_string()),
        ("@cells@", name.to_string()),
    ];
    let mut text = text.to_string();
    for (place, filling) in places.iter().chain(&columns) {
        text = text.replace(place, filling);
    }
    let parsed = almach_imp::parse(&text).map(|program| <[Proc; 1]>::try_from(program.procs));
    match parsed {
        Ok(Ok([mut proc])) => {
            proc.span = span;
            place(&mut proc.body, span);
            Ok(proc)
        }
        Ok(Err(_)) => bug("a text that is not one procedure", span),
        Err(error) => bug(format!("the procedure of `{name}`'s tables: {error:?}"), span),
    }
}

/// Where running out of memory is reported.
fn place(stmts: &mut [Stmt], at: Span) {
    for stmt in stmts {
        match stmt {
            Stmt::Alloc { span, .. } | Stmt::Reserve { span, .. } | Stmt::Call { span, .. } => *span = at,
            Stmt::For { body, .. } | Stmt::While { body, .. } => place(body, at),
            Stmt::If { then, otherwise, .. } => {
                place(then, at);
                place(otherwise, at);
            }
            _ => {}
        }
    }
}

/// How many references stand outside of arrays.
fn direct(references: &[Reference]) -> usize {
    let counts = references.iter().map(|reference| match reference {
        Reference::Cell(_) => 1,
        Reference::Under { within, .. } => direct(within),
        Reference::Rows { .. } => 0,
    });
    counts.sum()
}

/// Pushes what a cell refers to, the last first.
fn push_references(store: &Name, cell: &str, references: &[Vec<Reference>]) -> String {
    let mut writer = Writer::of("push", OwnCopies::LookedUp);
    for (tag, references) in references.iter().enumerate() {
        if references.is_empty() {
            continue;
        }
        writer.line(format!("if tag == {tag}u32 {{"));
        writer.push(store, cell, references, 0);
        writer.line("}");
    }
    writer.text
}

/// Copies the cell `old` to the new row `row`, from a field on; references go to the copies.
fn copy_columns(cells: &Cells, first: usize) -> String {
    let mut writer = Writer::of("copy", OwnCopies::LookedUp);
    for (tag, fields) in cells.constructors.iter().enumerate() {
        let leaves = fields.iter().skip(first).flat_map(|field| &field.leaves);
        let leaves: Vec<Leaf> = leaves.cloned().collect();
        if leaves.is_empty() {
            continue;
        }
        writer.line(format!("if kind == {tag}u32 {{"));
        writer.copy(cells, cells.name(), ("old", "row"), &leaves);
        writer.line("}");
    }
    writer.text
}

/// Where the copy of a cell is that another one refers to.
#[derive(Clone, Copy)]
enum OwnCopies {
    /// In a hash table.
    LookedUp,
    /// In the row that `behind` says.
    Behind,
}

/// Statements with names of their own.
struct Writer {
    text: String,
    /// Which part of the procedure it writes.
    part: &'static str,
    names: usize,
    own: OwnCopies,
}

impl Writer {
    fn of(part: &'static str, own: OwnCopies) -> Writer {
        Writer {
            text: String::new(),
            part,
            names: 0,
            own,
        }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{}_{stem}_{}", self.part, self.names)
    }

    /// Pushes what a row refers to. There is room for the references that stand outside of arrays, and for some more.
    fn push(&mut self, store: &Name, row: &str, references: &[Reference], more: usize) {
        let here = direct(references) + more;
        for reference in references.iter().rev() {
            match reference {
                Reference::Cell(column) => {
                    let column = column_name(store, *column);
                    self.line(format!("stack[depth] = {column}[{row}] depth = depth + 1i64"));
                }
                Reference::Under { tag, number, within } => {
                    let tag = column_name(store, *tag);
                    self.line(format!("if {tag}[{row}] == {number}u32 {{"));
                    // What is counted here is not counted again inside.
                    self.push(store, row, within, here - direct(within));
                    self.line("}");
                }
                Reference::Rows {
                    begin,
                    end,
                    store: array,
                    within,
                } => {
                    let (next, first, at) = (self.fresh("next"), self.fresh("first"), self.fresh("element"));
                    let (begin, end) = (column_name(store, *begin), column_name(store, *end));
                    self.line(format!("let {first}: i64 = {begin}[{row}]"));
                    self.line(format!("var {next}: i64 = {end}[{row}]"));
                    self.line(format!("while {next} > {first} {{"));
                    self.line(format!("{next} = {next} - 1i64"));
                    self.line(format!("let {at}: i64 = {next}"));
                    self.room(direct(within) + here);
                    self.push(array, &at, within, here);
                    self.line("}");
                }
            }
        }
    }

    /// Room on the stack.
    fn room(&mut self, count: usize) {
        self.line(format!("while (depth + {count}i64) > height {{"));
        self.line("alloc larger[2*height]");
        self.line("copy larger[0] = stack[0] for depth");
        self.line("swap stack, larger");
        self.line("height = height * 2i64");
        self.line("}");
    }

    /// Copies scalars from a row of a store to another.
    fn copy(&mut self, cells: &Cells, store: &Name, (old, new): (&str, &str), leaves: &[Leaf]) {
        let mut rest = leaves.iter();
        while let Some(leaf) = rest.next() {
            let column = column_name(store, leaf.column);
            match leaf.refers {
                Refers::Own => match self.own {
                    OwnCopies::LookedUp => self.look_up_where_there(store, leaf, (old, new)),
                    OwnCopies::Behind => self.line(format!("{column}[{new}] = behind")),
                },
                Refers::Begin(array) => match (rest.next(), cells.arrays.get(array)) {
                    (Some(end), Some(elements)) if refers_to_cells(cells, elements) => {
                        let end = column_name(store, end.column);
                        self.copy_array(cells, elements, (&column, &end), (old, new));
                    }
                    (end, _) => {
                        for leaf in std::iter::once(leaf).chain(end) {
                            let column = column_name(store, leaf.column);
                            self.line(format!("{column}[{new}] = {column}[{old}]"));
                        }
                    }
                },
                Refers::Nothing | Refers::Other(_) | Refers::End(_) => {
                    self.line(format!("{column}[{new}] = {column}[{old}]"));
                }
            }
        }
    }

    /// The copy of the cell that a column refers to, if it does: its sums must have the constructors that hold it.
    fn look_up_where_there(&mut self, store: &Name, leaf: &Leaf, (old, new): (&str, &str)) {
        let column = column_name(store, leaf.column);
        let tests = leaf.sums.iter().map(|sum| {
            let tag = column_name(store, sum.tag);
            format!("({tag}[{old}] == {}u32)", sum.number)
        });
        let Some(test) = tests.reduce(|all, test| format!("({all} & {test})")) else {
            return self.look_up(&column, old, new);
        };
        self.line(format!("if {test} {{"));
        self.look_up(&column, old, new);
        self.line("} else {");
        self.line(format!("{column}[{new}] = {column}[{old}]"));
        self.line("}");
    }

    /// The copy of the cell that a column refers to.
    fn look_up(&mut self, column: &Name, old: &str, new: &str) {
        let (to, at) = (self.fresh("to"), self.fresh("at"));
        self.line(format!("let {to}: i64 = {column}[{old}]"));
        self.line(format!("var {at}: i64 = {}", hash(&to)));
        self.line(format!("while keys[{at}] != {to} {{"));
        self.line(format!("{at} = ({at} + 1i64) & mask"));
        self.line("}");
        self.line(format!("{column}[{new}] = new + positions[{at}]"));
    }

    fn copy_array(
        &mut self,
        cells: &Cells,
        elements: &Elements,
        (begin, end): (&Name, &Name),
        (old, new): (&str, &str),
    ) {
        let (first, count) = (self.fresh("first"), self.fresh("count"));
        let (made, element) = (self.fresh("made"), self.fresh("element"));
        let (from, to) = (self.fresh("from"), self.fresh("to"));
        let store = &elements.store.name;
        self.line(format!("let {first}: i64 = {begin}[{old}]"));
        self.line(format!("let {count}: i64 = {end}[{old}] - {first}"));
        self.line(format!("reserve {made} = {store}[{count}]"));
        self.line(format!("{begin}[{new}] = {made}"));
        self.line(format!("{end}[{new}] = {made} + {count}"));
        self.line(format!("for {element} < {count} {{"));
        self.line(format!("let {from}: i64 = {{{first} + {element}}}"));
        self.line(format!("let {to}: i64 = {{{made} + {element}}}"));
        self.copy(cells, store, (&from, &to), &elements.leaves);
        self.line("}");
    }
}

/// Whether elements hold references to cells of the type, in arrays in them too.
fn refers_to_cells(cells: &Cells, elements: &Elements) -> bool {
    elements.leaves.iter().any(|leaf| match leaf.refers {
        Refers::Own => true,
        Refers::Begin(array) => cells
            .arrays
            .get(array)
            .is_some_and(|elements| refers_to_cells(cells, elements)),
        Refers::End(_) | Refers::Nothing | Refers::Other(_) => false,
    })
}

/// Neighbours stay neighbours, in groups of 16; the groups are spread.
fn hash(key: &str) -> String {
    format!("((((({key} >> 4i64) * 7046029254386353131i64) >> 17i64) * 16i64) + ({key} & 15i64)) & mask")
}

/// A cell remembers its table.
const TABLE_OF: &str = "
proc @table_of@(cell: i64, table: out i64) {
  let known: i64 = @table@[cell]
  if known != 0i64 {
    table = known - 1i64
  } else {
    var made: i64
    call @copy_of@(cell, out made)
    @table@[cell] = made + 1i64
    table = made
  }
}
";

/// A table of `mask + 1` slots is at most half full. A slot that holds -1 is empty.
const TEXT: &str = "
proc @walk_of@(cell: i64, table: out i64) {
  var mask: i64 = 31i64
  buffer keys: i64
  alloc keys[32]
  buffer positions: i64
  alloc positions[32]
  for slot < 32 {
    keys[slot] = -1i64
    positions[slot] = 0i64
  }
  var count: i64 = 0i64
  var room: i64 = 16i64
  buffer order: i64
  alloc order[16]
  var height: i64 = @height@i64
  buffer stack: i64
  alloc stack[@height@]
  stack[0] = cell
  var depth: i64 = 1i64
  buffer larger: i64
  while depth > 0i64 {
    depth = depth - 1i64
    let here: i64 = stack[depth]
    var at: i64 = @hash_here@
    while (keys[at] != here) & (keys[at] != -1i64) {
      at = (at + 1i64) & mask
    }
    if keys[at] == -1i64 {
      keys[at] = here
      positions[at] = count
      if count == room {
        alloc larger[2*room]
        copy larger[0] = order[0] for room
        swap order, larger
        room = room * 2i64
      }
      order[count] = here
      count = count + 1i64
      if (depth + @width@i64) > height {
        alloc larger[2*height]
        copy larger[0] = stack[0] for depth
        swap stack, larger
        height = height * 2i64
      }
      let tag: u32 = @tag@[here]
      @push_references@
      if (count * 2i64) > mask {
        let slots: i64 = (mask + 1i64) * 2i64
        mask = slots - 1i64
        alloc keys[slots]
        alloc positions[slots]
        for slot_2 < slots {
          keys[slot_2] = -1i64
          positions[slot_2] = 0i64
        }
        for old_position < count {
          let key: i64 = order[old_position]
          var place: i64 = @hash_key@
          while keys[place] != -1i64 {
            place = (place + 1i64) & mask
          }
          keys[place] = key
          positions[place] = old_position
        }
      }
    }
  }
  reserve new = @cells@[count]
  reserve made = @tables@[1]
  @first@[made] = new
  @count@[made] = {count}
  for position < count {
    let old: i64 = order[position]
    let row: i64 = {new + position}
    let kind: u32 = @tag@[old]
    @tag@[row] = kind
    @table@[new + position] = {made + 1}
    @copy_columns@
  }
  table = {made}
  free larger
  free stack
  free order
  free positions
  free keys
}
";
