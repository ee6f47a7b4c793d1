//! Who read and wrote what, per parallel loop.

use super::{Run, RunError};
use almach_base::Name;
use std::collections::HashMap;

/// One cell of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) cell: usize,
}

/// The parallel loops that are running, the outermost first.
#[derive(Default)]
pub(super) struct Traces {
    loops: Vec<Trace>,
}

#[derive(Default)]
struct Trace {
    iteration: i64,
    touched: HashMap<Place, Touched>,
}

#[derive(Default)]
struct Touched {
    writer: Option<i64>,
    reader: Option<i64>,
    /// Another iteration that reads, besides `reader`.
    other_reader: Option<i64>,
}

impl Traces {
    pub(super) fn enter(&mut self) {
        self.loops.push(Trace::default());
    }

    pub(super) fn leave(&mut self) {
        self.loops.pop();
    }

    pub(super) fn iteration(&mut self, at: i64) {
        if let Some(trace) = self.loops.last_mut() {
            trace.iteration = at;
        }
    }

    pub(super) fn read(&mut self, place: Place, buffer: &Name) -> Run<()> {
        for trace in &mut self.loops {
            let now = trace.iteration;
            let touched = trace.touched.entry(place).or_default();
            if let Some(writer) = touched.writer.filter(|writer| *writer != now) {
                return race(buffer, place, writer, now);
            }
            match touched.reader {
                None => touched.reader = Some(now),
                Some(reader) if reader != now => touched.other_reader = Some(now),
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn write(&mut self, place: Place, buffer: &Name) -> Run<()> {
        for trace in &mut self.loops {
            let now = trace.iteration;
            let touched = trace.touched.entry(place).or_default();
            for other in [touched.writer, touched.reader, touched.other_reader]
                .into_iter()
                .flatten()
            {
                if other != now {
                    return race(buffer, place, other, now);
                }
            }
            touched.writer = Some(now);
        }
        Ok(())
    }
}

fn race(buffer: &Name, place: Place, first: i64, second: i64) -> Run<()> {
    Err(RunError::Race {
        place: format!("cell {} of `{buffer}`", place.cell),
        first,
        second,
    })
}
