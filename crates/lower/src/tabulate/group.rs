//! Types that refer to each other share a store. These procedures bring what can be reached from a cell, whosever it is, to a
//! run of rows, and put the rows of such a run into their tables again.
//!
//! Which table a row is in is in its first column: the position of that table's first row, counted from 1, or 0 for what a
//! constructor made. So `nodes` counts the same on both sides of the border, and what was shared or cyclic stays so.

use super::{copy_columns, direct, hash, procedure, push_references};
use crate::cells::{Cells, column_name, group_of_name, into_tables_name};
use crate::error::Lowering;
use almach_base::Span;
use almach_imp::Proc;

/// The column that says which table a row is in.
const MARK: u32 = 0;

/// `NAME$group_of(cell, out there)`.
pub(crate) fn group_of(cells: &Cells, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    let widest = cells.store.links.iter().map(|links| direct(links));
    let widest = widest.max().unwrap_or(0).max(1);
    let places = [
        ("@group_of@", group_of_name(name).to_string()),
        ("@mark@", column_name(name, MARK).to_string()),
        (
            "@push_references@",
            push_references(name, "source", &cells.store.links),
        ),
        ("@copy_columns@", copy_columns(cells, 1)),
        ("@hash_here@", hash("here")),
        ("@hash_key@", hash("key")),
        ("@hash_member@", hash("member")),
        ("@hash_cell@", hash("cell")),
        ("@width@", widest.to_string()),
        ("@height@", (2 * widest).max(64).to_string()),
    ];
    procedure(GROUP_OF, name, &places, span)
}

/// `NAME$into_tables(made, count)`.
pub(crate) fn into_tables(cells: &Cells, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    let places = [
        ("@into_tables@", into_tables_name(name).to_string()),
        ("@mark@", column_name(name, MARK).to_string()),
    ];
    procedure(INTO_TABLES, name, &places, span)
}

/// Rows of a table follow each other and say the same.
const INTO_TABLES: &str = "
proc @into_tables@(made: i64, count: i64) {
  var last: i64 = 0i64
  var table: i64 = 0i64
  var size: i64 = 0i64
  for position < count {
    let row: i64 = {made + position}
    let mark: i64 = @mark@[row]
    if mark != 0i64 {
      if mark != last {
        reserve fresh = @tables@[1]
        table = fresh
        size = 0i64
        @first@[table] = row
      }
      size = size + 1i64
      @count@[table] = size
      @table@[row] = table + 1i64
    }
    last = mark
  }
}
";

/// As the walk of one type, but a row that is in a table brings all rows of that table, in their order.
const GROUP_OF: &str = "
proc @group_of@(cell: i64, there: out i64) {
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
  buffer marks: i64
  alloc marks[16]
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
      var first: i64 = here
      var size: i64 = 1i64
      var mark: i64 = 0i64
      let known: i64 = @table@[here]
      if known != 0i64 {
        let from: i64 = @first@[known - 1]
        let many: i64 = @count@[known - 1]
        if (here >= from) & (here < (from + many)) {
          first = from
          size = many
          mark = count + 1i64
        }
      }
      while (count + size) > room {
        alloc larger[2*room]
        copy larger[0] = order[0] for count
        swap order, larger
        alloc larger[2*room]
        copy larger[0] = marks[0] for count
        swap marks, larger
        room = room * 2i64
      }
      while ((count + size) * 2i64) > mask {
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
      for step < size {
        let member: i64 = first + step
        var free_slot: i64 = @hash_member@
        while keys[free_slot] != -1i64 {
          free_slot = (free_slot + 1i64) & mask
        }
        keys[free_slot] = member
        positions[free_slot] = count
        order[count] = member
        marks[count] = mark
        count = count + 1i64
      }
      var next: i64 = size
      while next > 0i64 {
        next = next - 1i64
        let source: i64 = first + next
        if (depth + @width@i64) > height {
          alloc larger[2*height]
          copy larger[0] = stack[0] for depth
          swap stack, larger
          height = height * 2i64
        }
        let tag: u32 = @tag@[source]
        @push_references@
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
    @mark@[row] = marks[position]
    @copy_columns@
  }
  var found: i64 = @hash_cell@
  while keys[found] != cell {
    found = (found + 1i64) & mask
  }
  there = new + positions[found]
  free larger
  free stack
  free marks
  free order
  free positions
  free keys
}
";
