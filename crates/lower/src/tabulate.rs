//! The procedure that gives a cell its table: what can be reached from it, each cell once, in depth-first order of fields.
//!
//! It walks with a stack on the heap, so that a list may be as long as memory is; where a cell went is remembered in a hash
//! table, since other iterations may walk over the same cells at the same time. Cells are copied to new rows in a run, and
//! their references changed to the copies.

use crate::cells::{
    Cells, column_name, count_name, first_name, table_name, table_of_name, tables_name, tag_name,
};
use crate::error::{Lowering, bug};
use almach_base::Span;
use almach_imp::{Proc, Stmt};
use std::fmt::Write;

/// `NAME$table_of(cell, out table)`.
pub(crate) fn table_of(cells: &Cells, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    let widest = cells
        .store
        .references
        .iter()
        .map(Vec::len)
        .max()
        .unwrap_or(0)
        .max(1);
    let places: [(&str, String); 13] = [
        ("@table_of@", table_of_name(name).to_string()),
        ("@tables@", tables_name(name).to_string()),
        ("@table@", table_name(name).to_string()),
        ("@first@", first_name(name).to_string()),
        ("@count@", count_name(name).to_string()),
        ("@tag@", tag_name(name).to_string()),
        ("@cells@", name.to_string()),
        ("@push_references@", push_references(cells)),
        ("@copy_columns@", copy_columns(cells)),
        ("@hash_here@", hash("here")),
        ("@hash_key@", hash("key")),
        ("@width@", widest.to_string()),
        // Doubled once, the stack has room for what one cell refers to.
        ("@height@", (2 * widest).max(64).to_string()),
    ];
    let mut text = TEXT.to_string();
    for (place, filling) in places {
        text = text.replace(place, &filling);
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
            Stmt::Alloc { span, .. } | Stmt::Reserve { span, .. } => *span = at,
            Stmt::For { body, .. } | Stmt::While { body, .. } => place(body, at),
            Stmt::If { then, otherwise, .. } => {
                place(then, at);
                place(otherwise, at);
            }
            _ => {}
        }
    }
}

/// Pushes what the cell `here` refers to, the last first.
fn push_references(cells: &Cells) -> String {
    let mut text = String::new();
    for (tag, columns) in cells.store.references.iter().enumerate() {
        if columns.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "if tag == {tag}u32 {{");
        for column in columns.iter().rev() {
            let column = column_name(cells.name(), *column);
            let _ = writeln!(text, "stack[depth] = {column}[here] depth = depth + 1i64");
        }
        let _ = writeln!(text, "}}");
    }
    text
}

/// Copies the cell `old` to the new row `row`; references go to the copies.
fn copy_columns(cells: &Cells) -> String {
    let mut text = String::new();
    let name = cells.name();
    for (tag, fields) in cells.constructors.iter().enumerate() {
        let columns: Vec<u32> = fields
            .iter()
            .flat_map(|field| &field.leaves)
            .map(|leaf| leaf.column)
            .collect();
        if columns.is_empty() {
            continue;
        }
        let _ = writeln!(text, "if kind == {tag}u32 {{");
        for column in columns {
            let own = cells
                .store
                .references
                .get(tag)
                .is_some_and(|own| own.contains(&column));
            let column_name = column_name(name, column);
            let _ = match own {
                false => writeln!(text, "{column_name}[row] = {column_name}[old]"),
                true => write!(
                    text,
                    "let to_{tag}_{column}: i64 = {column_name}[old]
                     var at_{tag}_{column}: i64 = {}
                     while keys[at_{tag}_{column}] != to_{tag}_{column} {{
                       at_{tag}_{column} = (at_{tag}_{column} + 1i64) & mask
                     }}
                     {column_name}[row] = new + positions[at_{tag}_{column}]\n",
                    hash(&format!("to_{tag}_{column}"))
                ),
            };
        }
        let _ = writeln!(text, "}}");
    }
    text
}

/// Neighbours stay neighbours, in groups of 16; the groups are spread.
fn hash(key: &str) -> String {
    format!("((((({key} >> 4i64) * 7046029254386353131i64) >> 17i64) * 16i64) + ({key} & 15i64)) & mask")
}

/// A table of `mask + 1` slots is at most half full. A slot that holds -1 is empty.
const TEXT: &str = "
proc @table_of@(cell: i64, table: out i64) {
  let known: i64 = @table@[cell]
  if known != 0i64 {
    table = known - 1i64
  } else {
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
      @table@[row] = {made + 1}
      @copy_columns@
    }
    @table@[cell] = {made + 1}
    table = {made}
    free larger
    free stack
    free order
    free positions
    free keys
  }
}
";
