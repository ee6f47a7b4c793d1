//! Local memory of a group for one buffer after the other: what is used no more behind a barrier makes room for what is first used
//! there. The less a group has of it, the more groups a device runs at once.
//!
//! ```text
//! a[l] = x                     a[l] = x
//! barrier                      barrier
//! b[l] = a[l] + a[l + 1]       b[l] = a[l] + a[l + 1]
//! barrier              ~~>     barrier
//! c[l] = b[l] + b[l + 2]       a[l] = b[l] + b[l + 2]
//! ```

use super::memory::Local;
use crate::inline::with_buffers;
use almach_base::Name;
use almach_imp::{Stmt, Touched};
use std::collections::HashMap;

/// Between which barriers a buffer is used: from this one to that one.
struct Use {
    first: usize,
    last: usize,
}

/// The buffers that are left, of which some stand for several now.
pub(super) fn shared(locals: Vec<Local>, body: &mut [Stmt]) -> Vec<Local> {
    let uses = uses(&locals, body);
    let mut waiting: Vec<(Local, Use)> = Vec::new();
    for local in locals {
        match uses.get(&local.name) {
            Some(&(first, last)) => waiting.push((local, Use { first, last })),
            None => waiting.push((
                local,
                Use {
                    first: 0,
                    last: usize::MAX,
                },
            )),
        }
    }
    waiting.sort_by_key(|(_, used)| used.first);
    let mut rooms: Vec<(Local, usize)> = Vec::new();
    let mut names = HashMap::new();
    for (local, used) in waiting {
        let free = rooms
            .iter_mut()
            .filter(|(room, last)| room.ty == local.ty && *last < used.first)
            .min_by_key(|(room, _)| (room.size - local.size).abs());
        match free {
            Some((room, last)) => {
                names.insert(local.name, room.name.clone());
                room.size = room.size.max(local.size);
                *last = used.last;
            }
            None => rooms.push((local, used.last)),
        }
    }
    if !names.is_empty() {
        with_buffers(body, names);
    }
    rooms.into_iter().map(|(room, _)| room).collect()
}

/// How many barriers stand before the first and the last use of buffers, out of those that all of the group comes to once.
fn uses(locals: &[Local], body: &[Stmt]) -> HashMap<Name, (usize, usize)> {
    let mut barriers = 0;
    let mut found: HashMap<Name, (usize, usize)> = HashMap::new();
    for stmt in body {
        if matches!(stmt, Stmt::Barrier) {
            barriers += 1;
            continue;
        }
        let touched = Touched::of([stmt]);
        for local in locals.iter().filter(|local| touched.mentions(&local.name)) {
            let used = found.entry(local.name.clone()).or_insert((barriers, barriers));
            used.1 = barriers;
        }
    }
    found
}
