//! Lists: types whose constructors refer to a cell of the type once at most. What can be reached from a cell is then a walk, and nothing has to
//! be looked up to know whether a cell was there before.
//!
//! A walk waits for memory at every step. Where the list is in a table, it is cut into sublists that begin at cells drawn at random, one in every
//! block of the table (Reid-Miller, "List ranking and list scan on the Cray C90", 1996). A task follows several of them in turn, so that it waits for all at
//! once, and writes down where it went:
//!
//! ```text
//! next[i] = where node i refers to; -1 at the end; -3 - that where i is the start of a sublist
//! par for task { in 24 lanes: log the nodes of a sublist until another one starts }
//! follow the sublists from the root on: how many nodes come before each
//! par for part { copy its log to its place in the result }
//! ```
//!
//! Lanes that are done take no turns: the last one takes their place.
//!
//! Work is linear in the table, and the cells of the list are visited once. A sublist that does not fit its log (there is room for twice the expected) is
//! followed in order. What is not part of the list may be anything, and go round in circles: it is logged and forgotten. A list that goes round
//! in a circle itself has more nodes than its table; that is found out, and it is walked as one that is in no table.

use super::{OwnCopies, Writer, procedure, walk};
use crate::cells::{
    Cells, Leaf, column_name, copy_of_name, order_in_name, order_of_name, reach_of_name, table_of_name,
};
use crate::error::Lowering;
use almach_base::{Name, Span};
use almach_imp::Proc;
use almach_value::ScalarType;

/// Smaller tables are walked.
const LEAST: i64 = 1 << 13;

/// How many sublists a task follows in turn: by hand in C, eight take a sixth more time, and more than these hardly less.
const LANES: i64 = 24;

/// Each constructor that refers to a cell, and the column in which it does.
type Links = Vec<(u32, u32)>;

/// `NAME$copy_of(cell, out table)`.
pub(super) fn copy_of(cells: &Cells, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    match cells.links() {
        None => walk(cells, copy_of_name(name), span),
        Some(links) => {
            let places = [
                ("@copy_of@", copy_of_name(name).to_string()),
                ("@order_of@", order_of_name(name).to_string()),
                ("@kind@", kind(&links)),
                ("@copy_row@", copy_row(cells)),
            ];
            procedure(COPY_OF, name, &places, span)
        }
    }
}

/// `NAME$reach_of(cell, out table)`.
pub(super) fn reach_of(cells: &Cells, span: Span) -> Lowering<Proc> {
    let name = cells.name();
    let places = [
        ("@reach_of@", reach_of_name(name).to_string()),
        ("@copy_of@", copy_of_name(name).to_string()),
        ("@table_of@", table_of_name(name).to_string()),
    ];
    procedure(REACH_OF, name, &places, span)
}

/// `NAME$order_of(cell, owned rows, out count, out back)`; none where the type is no list.
pub(super) fn order_of(cells: &Cells, span: Span) -> Lowering<Option<Proc>> {
    let name = cells.name();
    let Some(links) = cells.links() else {
        return Ok(None);
    };
    let step = |stem: &str, from: &str, to: &str| follow(&links, name, stem, from, to);
    let places = [
        ("@sublists@", SUBLISTS.to_owned()),
        ("@next_again@", "free next".to_owned()),
        ("@in_order@", IN_ORDER.to_owned()),
        ("@order_of@", order_of_name(name).to_string()),
        ("@follow_next@", step("next", "first + node", "next_to")),
        ("@follow_walker@", step("walker", "walker", "to_3")),
        ("@follow_circle@", step("circle", "circle", "circle_to")),
        ("@follow_hare@", step("hare", "hare", "hare_to")),
        ("@follow_hare_2@", step("hare_2", "hare", "hare_to_2")),
        ("@follow_tortoise@", step("tortoise", "tortoise", "tortoise_to")),
        ("@follow_again@", step("again", "again", "again_to")),
        ("@least@", LEAST.to_string()),
        ("@lanes@", LANES.to_string()),
        ("@start_of_marked@", start("marked")),
        ("@start_of_sublist@", start("sublist")),
        ("@start_of_following@", start("following")),
        ("@start_of_unmarked@", start("unmarked")),
    ];
    procedure(ORDER_OF, name, &places, span).map(Some)
}

/// `nodes$order_WIDTH(nodes, next, cell, owned rows, out count, out back)`: the same in an array of links, which is as it was afterwards.
pub(crate) fn order_in(width: ScalarType, span: Span) -> Lowering<Proc> {
    let step = |from: &str, to: &str| format!("var {to}: i64 = to_i64(next[{from}])\n");
    let name = order_in_name(width);
    let places = [
        ("@sublists@", SUBLISTS.to_owned()),
        ("@next_again@", UNMARK.to_owned()),
        ("@in_order@", IN_ORDER.to_owned()),
        ("@order_in@", name.to_string()),
        ("@follow_walker@", step("walker", "to_3")),
        ("@follow_circle@", step("circle", "circle_to")),
        ("@follow_hare@", step("hare", "hare_to")),
        ("@follow_hare_2@", step("hare", "hare_to_2")),
        ("@follow_tortoise@", step("tortoise", "tortoise_to")),
        ("@follow_again@", step("again", "again_to")),
        ("@least@", LEAST.to_string()),
        ("@lanes@", LANES.to_string()),
        ("@start_of_marked@", start("marked")),
        ("@start_of_sublist@", start("sublist")),
        ("@start_of_following@", start("following")),
        ("@start_of_unmarked@", start("unmarked")),
    ];
    let text = places.iter().fold(ORDER_IN.to_owned(), |text, (place, filling)| {
        text.replace(place, filling)
    });
    let text = match width {
        ScalarType::I32 => text,
        _ => text
            .replace("to_i32(", "(")
            .replace("to_i64(", "(")
            .replace(" i32", " i64"),
    };
    procedure(&text, &name, &[], span)
}

/// A variable for the row that a cell refers to; -1 where it refers to none.
fn follow(links: &Links, store: &Name, stem: &str, from: &str, to: &str) -> String {
    let mut text = format!("let {stem}_tag: u32 = @tag@[{from}]\nvar {to}: i64 = -1i64\n");
    for (constructor, column) in links {
        let column = column_name(store, *column);
        text.push_str(&format!(
            "if {stem}_tag == {constructor}u32 {{ {to} = {column}[{from}] }}\n"
        ));
    }
    text
}

/// The tag of the cell `old`, which has another one behind it unless it is the last. Where one constructor alone refers to cells, memory
/// need not be asked.
fn kind(links: &Links) -> String {
    match links.as_slice() {
        [(tag, _)] => format!("select(position < last, {tag}u32, @tag@[old])"),
        _ => "@tag@[old]".to_owned(),
    }
}

/// Where the sublist of a block begins: somewhere in the block, the same for every run.
fn start(block: &str) -> String {
    let inside = format!("((({block} + 1i64) * 7046029254386353131i64) >> 20i64) & (width - 1i64)");
    let drawn = format!("(({block} << shift) + ({inside}))");
    format!("select({drawn} < nodes, {drawn}, {block} << shift)")
}

/// Copies `old` to `row`, behind which the next one is.
fn copy_row(cells: &Cells) -> String {
    let mut writer = Writer::of("copy", OwnCopies::Behind);
    for (tag, fields) in cells.constructors.iter().enumerate() {
        let leaves: Vec<Leaf> = fields.iter().flat_map(|field| &field.leaves).cloned().collect();
        if leaves.is_empty() {
            continue;
        }
        writer.line(format!("if kind == {tag}u32 {{"));
        writer.copy(cells, cells.name(), ("old", "row"), &leaves);
        writer.line("}");
    }
    writer.text
}

const COPY_OF: &str = "
proc @copy_of@(cell: i64, table: out i64) {
  buffer order: i64
  alloc order[0]
  var length: i64
  var back: i64
  call @order_of@(cell, owned order, out length, out back)
  let count: i64 = length
  let last: i64 = count - 1i64
  let closes: i64 = back
  reserve new = @cells@[count]
  reserve made = @tables@[1]
  @first@[made] = new
  @count@[made] = {count}
  par for position < count {
    let old: i64 = order[position]
    let row: i64 = {new + position}
    let behind: i64 = select(position < last, {new + position + 1}, {new + closes})
    let kind: u32 = @kind@
    @tag@[row] = kind
    @table@[new + position] = {made + 1}
    @copy_row@
  }
  table = {made}
  free order
}
";

/// A cell of a table has what is reached from it in there. One that is not in the table it remembers is the first node of that.
const REACH_OF: &str = "
proc @reach_of@(cell: i64, table: out i64) {
  let known: i64 = @table@[cell]
  if known == 0i64 {
    call @table_of@(cell, out table)
  } else {
    let remembered: i64 = known - 1i64
    let first: i64 = @first@[remembered]
    let count: i64 = @count@[remembered]
    let root: i64 = cell - first
    if (root < 0i64) | (root >= count) {
      table = remembered
    } else {
      call @copy_of@(cell, out table)
    }
  }
}
";

/// The rows of the cells, and the position of the one that the last refers to, or -1.
const ORDER_OF: &str = "
proc @order_of@(cell: i64, rows: owned i64, count: out i64, back: out i64) {
  var found: i64 = 0i64
  back = -1i64
  let known: i64 = @table@[cell]
  if known != 0i64 {
    let remembered: i64 = known - 1i64
    let first: i64 = @first@[remembered]
    let nodes: i64 = @count@[remembered]
    let root: i64 = cell - first
    if (((root >= 0i64) & (root < nodes)) & (nodes >= @least@i64)) & (nodes <= 2147483646i64) {
      buffer next: i32
      alloc next[nodes]
      par for node < nodes {
        @follow_next@
        next[node] = to_i32(select(next_to < 0i64, next_to, next_to - first))
      }
      @sublists@
    }
  }
  if found == 0i64 {
    @in_order@
  }
}
";

const ORDER_IN: &str = "
proc @order_in@(nodes: i64, next: write i32, cell: i64, rows: owned i64, count: out i64, back: out i64) {
  var found: i64 = 0i64
  back = -1i64
  let first: i64 = 0i64
  if nodes >= @least@i64 {
    @sublists@
  }
  if found == 0i64 {
    @in_order@
  }
}
";

/// Whether the walk goes round in a circle is asked with one comparison a step (Brent): `mark` is a cell some steps back, ever farther.
const IN_ORDER: &str = "
var room: i64 = 64i64
alloc rows[64]
buffer larger: i64
var walked: i64 = 0i64
var walker: i64 = cell
var mark: i64 = -1i64
var steps: i64 = 1i64
var going: i64 = 0i64
while going == 0i64 {
  if walked == room {
    alloc larger[2*room]
    copy larger[0] = rows[0] for room
    swap rows, larger
    room = room * 2i64
  }
  rows[walked] = walker
  walked = walked + 1i64
  @follow_walker@
  if to_3 < 0i64 {
    going = 1i64
  } else {
    if to_3 == mark {
      going = 2i64
    }
  }
  if walked == steps {
    mark = walker
    steps = steps * 2i64
  }
  walker = to_3
}
free larger
if going == 2i64 {
  var around: i64 = 0i64
  var circle: i64 = walker
  var closed: i64 = 0i64
  while closed == 0i64 {
    @follow_circle@
    circle = circle_to
    around = around + 1i64
    if circle == walker {
      closed = 1i64
    }
  }
  var hare: i64 = cell
  for ahead < around {
    @follow_hare@
    hare = hare_to
  }
  var before: i64 = 0i64
  var tortoise: i64 = cell
  while tortoise != hare {
    @follow_hare_2@
    hare = hare_to_2
    @follow_tortoise@
    tortoise = tortoise_to
    before = before + 1i64
  }
  let distinct: i64 = before + around
  alloc rows[distinct]
  var again: i64 = cell
  for visit < distinct {
    rows[visit] = again
    @follow_again@
    again = again_to
  }
  back = before
  count = distinct
} else {
  let all: i64 = walked
  shrink rows[all]
  count = all
}
";

const SUBLISTS: &str = "
var shift: i64 = 6i64
while (nodes >> shift) > 65536i64 {
  shift = shift + 1i64
}
let width: i64 = 1i64 << shift
let sublists: i64 = (nodes + (width - 1i64)) >> shift
par for marked < sublists {
  let marked_start: i64 = @start_of_marked@
  let marked_to: i64 = to_i64(next[marked_start])
  next[marked_start] = to_i32(-3i64 - marked_to)
}
let per_lane: i64 = select(sublists < 2048i64, 4i64, select(sublists < 16384i64, 16i64, 64i64))
let per_task: i64 = per_lane * @lanes@i64
let tasks: i64 = (sublists + (per_task - 1i64)) / per_task
let capacity: i64 = ((per_lane * 2i64) + 8i64) * width
buffer log: i32
alloc log[tasks*@lanes@*capacity]
buffer begins: i64
alloc begins[sublists]
buffer lengths: i64
alloc lengths[sublists]
buffer ends: i64
alloc ends[sublists]
par for task < tasks {
  buffer at: i64
  alloc at[@lanes@]
  buffer used: i64
  alloc used[@lanes@]
  buffer full: i64
  alloc full[@lanes@]
  buffer number: i64
  alloc number[@lanes@]
  buffer behind: i64
  alloc behind[@lanes@]
  var busy: i64 = 0i64
  for lane < @lanes@ {
    let sublist: i64 = {task*per_task + lane*per_lane}
    for later < per_lane {
      let unknown: i64 = {sublist + later}
      if unknown < sublists {
        begins[unknown] = 0i64
        lengths[unknown] = 0i64
        ends[unknown] = -1i64
      }
    }
    if sublist < sublists {
      let beginning: i64 = {task*@lanes@*capacity + lane*capacity}
      let lane_start: i64 = @start_of_sublist@
      begins[sublist] = beginning
      log[beginning] = to_i32(lane_start)
      at[busy] = -3i64 - to_i64(next[lane_start])
      used[busy] = beginning + 1i64
      full[busy] = beginning + capacity
      number[busy] = sublist
      behind[busy] = min(sublist + per_lane, sublists)
      busy = busy + 1i64
    }
  }
  while busy > 0i64 {
    var turn: i64 = 0i64
    while turn < busy {
      let here: i64 = at[turn]
      let place: i64 = used[turn]
      var to: i64 = -2i64
      if (here >= 0i64) & (place < full[turn]) {
        to = to_i64(next[here])
      }
      if to >= -1i64 {
        log[place] = to_i32(here)
        used[turn] = place + 1i64
        at[turn] = to
        turn = turn + 1i64
      } else {
        let done: i64 = number[turn]
        lengths[done] = place - begins[done]
        ends[done] = here
        let following: i64 = done + 1i64
        if (following < behind[turn]) & (place < full[turn]) {
          let following_start: i64 = @start_of_following@
          begins[following] = place
          log[place] = to_i32(following_start)
          at[turn] = -3i64 - to_i64(next[following_start])
          used[turn] = place + 1i64
          number[turn] = following
          turn = turn + 1i64
        } else {
          busy = busy - 1i64
          at[turn] = at[busy]
          used[turn] = used[busy]
          full[turn] = full[busy]
          number[turn] = number[busy]
          behind[turn] = behind[busy]
        }
      }
    }
  }
  free behind
  free number
  free full
  free used
  free at
}
alloc rows[nodes]
buffer parts: i64
alloc parts[sublists]
buffer places: i64
alloc places[sublists]
var part_count: i64 = 0i64
var length: i64 = 0i64
var walked_to: i64 = cell - first
var state: i64 = 0i64
while state == 0i64 {
  var step_to: i64 = to_i64(next[walked_to])
  var reached: i64 = 0i64
  var logged: i64 = 0i64
  if step_to < -1i64 {
    reached = walked_to >> shift
    logged = lengths[reached]
    step_to = -3i64 - step_to
  }
  if (length + max(logged, 1i64)) > nodes {
    state = 2i64
  } else {
    if logged > 0i64 {
      parts[part_count] = reached
      places[part_count] = length
      part_count = part_count + 1i64
      length = length + logged
      step_to = ends[reached]
    } else {
      rows[length] = first + walked_to
      length = length + 1i64
    }
    if step_to < 0i64 {
      state = 1i64
    } else {
      walked_to = step_to
    }
  }
}
if state == 1i64 {
  par for part < part_count {
    let copied: i64 = parts[part]
    let from: i64 = begins[copied]
    let target: i64 = places[part]
    let copied_count: i64 = lengths[copied]
    for step < copied_count {
      rows[target + step] = first + to_i64(log[from + step])
    }
  }
  let total: i64 = length
  shrink rows[total]
  count = total
  found = 1i64
}
free places
free parts
free ends
free lengths
free begins
free log
@next_again@
";

/// The array that was marked is the caller's.
const UNMARK: &str = "
par for unmarked < sublists {
  let unmarked_start: i64 = @start_of_unmarked@
  let unmarked_to: i64 = to_i64(next[unmarked_start])
  next[unmarked_start] = to_i32(-3i64 - unmarked_to)
}
";
