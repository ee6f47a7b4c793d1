//! Choosing how: a level for every operation that takes one and has none (design, section 3). What the user wrote stays.
//!
//! The outermost parallel operation goes to threads, what is inside it runs in order. A function that is called from
//! inside a parallel operation runs in order as a whole.

mod recursion;

use almach_core::visit::{Walk, WalkMut, walk_exp, walk_exp_mut, walk_function, walk_function_mut};
use almach_core::{Exp, FunId, Op, Program};
use almach_prim::{Level, TakesLevel};
use std::collections::HashSet;

/// What runs the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// One thread.
    Sequential,
    /// The threads of one processor.
    Threads,
}

/// Gives every operation a level.
pub fn choose(program: Program, machine: Machine) -> Program {
    let mut program = recursion::in_order(program);
    let inner = match machine {
        Machine::Sequential => HashSet::new(),
        Machine::Threads => inside_parallel(&program),
    };
    for (at, function) in (0u32..).zip(&mut program.functions) {
        let around = match (machine, inner.contains(&FunId(at))) {
            (Machine::Threads, false) => Around::Nothing,
            (Machine::Sequential, _) | (Machine::Threads, true) => Around::Parallel,
        };
        walk_function_mut(&mut Chooser { around }, function);
    }
    program
}

/// What an operation stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Parallel,
}

impl Around {
    /// The level of an operation without one.
    fn level(self) -> Level {
        match self {
            Around::Nothing => Level::Par,
            Around::Parallel => Level::Seq,
        }
    }

    /// What the functions of an operation at that level stand in.
    fn inside(self, level: Option<Level>) -> Around {
        match level {
            Some(Level::Seq) | None => self,
            Some(Level::Vec | Level::Par | Level::Grid(_) | Level::Group(_) | Level::Local(_)) => {
                Around::Parallel
            }
        }
    }
}

struct Chooser {
    around: Around,
}

impl WalkMut for Chooser {
    fn exp(&mut self, exp: &mut Exp) {
        let outer = self.around;
        if let Exp::Op(op) = exp {
            if op.annotation.level.is_none() && takes_level(op) {
                op.annotation.level = Some(self.around.level());
            }
            self.around = self.around.inside(op.annotation.level);
        }
        walk_exp_mut(self, exp);
        self.around = outer;
    }
}

fn takes_level(op: &Op) -> bool {
    op.prim.info().takes_level == TakesLevel::Yes
}

/// The functions that are called, also through others, from inside a parallel operation.
fn inside_parallel(program: &Program) -> HashSet<FunId> {
    let mut finder = Finder {
        around: Around::Nothing,
        found: HashSet::new(),
    };
    for function in &program.functions {
        walk_function(&mut finder, function);
    }
    let mut all = finder.found;
    let mut open: Vec<FunId> = all.iter().copied().collect();
    while let Some(id) = open.pop() {
        let Some(function) = program.functions.get(id.0 as usize) else {
            continue;
        };
        let mut callees = Finder {
            around: Around::Parallel,
            found: HashSet::new(),
        };
        walk_function(&mut callees, function);
        for callee in callees.found {
            if all.insert(callee) {
                open.push(callee);
            }
        }
    }
    all
}

/// Finds calls inside parallel operations; an operation without a level will be parallel where it can be.
struct Finder {
    around: Around,
    found: HashSet<FunId>,
}

impl Walk for Finder {
    fn exp(&mut self, exp: &Exp) {
        let outer = self.around;
        match exp {
            Exp::Call { function, .. } if self.around == Around::Parallel => {
                self.found.insert(*function);
            }
            Exp::Op(op) => {
                let level = op
                    .annotation
                    .level
                    .or(takes_level(op).then(|| self.around.level()));
                self.around = self.around.inside(level);
            }
            _ => {}
        }
        walk_exp(self, exp);
        self.around = outer;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_base::FileId;
    use almach_core::print::{Spans, program_to_string};

    fn chosen(text: &str, machine: Machine) -> String {
        let program = almach_core::parse::parse_program(text, FileId(0)).unwrap();
        program_to_string(&choose(program, machine), Spans::Omit)
    }

    const NEST: &str = r"
fun inner {m} (xs: [m]f32): [m]f32 =
  let ys: [m]f32 = map (\(x: f32): f32 -> x) xs
  in ys
fun outer {n, m} (xss: [n][m]f32): [n][m]f32 =
  let yss: [n][m]f32 = map (\(xs: [m]f32): [m]f32 ->
    let zs: [m]f32 = map (\(x: f32): f32 -> x) xs
    let ys: [m]f32 = inner {m} (zs)
    in ys) xss
  in yss
";

    #[test]
    fn the_outermost_map_goes_to_threads() {
        let text = chosen(NEST, Machine::Threads);
        assert_eq!(text.matches("map@par").count(), 1, "{text}");
        assert_eq!(text.matches("map@seq").count(), 2, "{text}");
    }

    #[test]
    fn one_thread_runs_everything_in_order() {
        let text = chosen(NEST, Machine::Sequential);
        assert_eq!(text.matches("map@seq").count(), 3, "{text}");
    }

    #[test]
    fn what_the_user_wrote_stays() {
        let text = NEST.replacen("map (\\(xs", "map@seq (\\(xs", 1);
        let text = chosen(&text, Machine::Threads);
        // The outer map is the user's; the one inside it is now the outermost.
        assert_eq!(text.matches("map@par").count(), 2, "{text}");
    }
}
