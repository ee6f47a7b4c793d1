//! Makes a failing program small: every expression is replaced by a part of itself of the same type, or by the
//! simplest one of its type, as long as the program still fails at the same stage.

use crate::generate::Program;
use crate::stages::{Failure, Machines, check};
use crate::tree::{FIELDS, Node, Size, Ty};

/// Enough for programs of the generator's size; shrinking is for reading, not for proof.
const MOST_TRIES: usize = 1_000;

/// The smallest program found that fails like this one.
pub fn shrink(program: &Program, failure: &Failure) -> (Program, Failure) {
    let mut best = (program.clone(), failure.clone());
    let mut tries = 0;
    let mut position = 0;
    while position < best.0.body.size() && tries < MOST_TRIES {
        match smaller_at(&best.0, &best.1, position, &mut tries) {
            Some(better) => best = better,
            None => position += 1,
        }
    }
    for run in 0..best.0.runs.len() {
        let Some(args) = best.0.runs.get(run) else {
            continue;
        };
        let one = Program {
            runs: vec![args.clone()],
            ..best.0.clone()
        };
        if let Some(still) = same_failure(&one, &best.1) {
            return (one, still);
        }
    }
    best
}

fn smaller_at(
    program: &Program,
    failure: &Failure,
    position: usize,
    tries: &mut usize,
) -> Option<(Program, Failure)> {
    let node = program.body.at(position)?;
    let mut candidates = vec![simplest(&node.ty)];
    let inside = (1..node.size())
        .filter_map(|at| node.at(at))
        .filter(|part| part.ty == node.ty);
    candidates.extend(inside.cloned());
    candidates.sort_by_key(Node::size);
    for candidate in candidates
        .iter()
        .filter(|one| one.size() < node.size() || one.text().len() < node.text().len())
    {
        *tries += 1;
        let smaller = Program {
            body: program.body.with(position, candidate),
            ..program.clone()
        };
        if let Some(still) = same_failure(&smaller, failure) {
            return Some((smaller, still));
        }
    }
    None
}

fn same_failure(program: &Program, failure: &Failure) -> Option<Failure> {
    let machines = match failure.stage {
        "lower" | "openmp" => Machines::All,
        _ => Machines::Interpreters,
    };
    check(program, machines)
        .err()
        .filter(|found| found.stage == failure.stage && found.kind == failure.kind)
}

fn simplest(ty: &Ty) -> Node {
    Node::leaf(ty.clone(), simplest_text(ty))
}

fn simplest_text(ty: &Ty) -> String {
    let list = |parts: &[Ty]| parts.iter().map(simplest_text).collect::<Vec<_>>().join(", ");
    match ty {
        Ty::Scalar(scalar) if *scalar == almach_value::ScalarType::Bool => "true".to_owned(),
        Ty::Scalar(scalar) if scalar.is_float() => format!("0.0{scalar}"),
        Ty::Scalar(scalar) => format!("0{scalar}"),
        Ty::Tuple(parts) => format!("({})", list(parts)),
        Ty::Record(parts) => {
            let fields: Vec<String> = FIELDS
                .iter()
                .zip(parts)
                .map(|(name, part)| format!("{name} = {}", simplest_text(part)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Ty::Maybe(_) => "None".to_owned(),
        Ty::Array(Size::Literal(count), element) if *count > 0 => {
            format!("[{}]", list(&vec![element.as_ref().clone(); *count]))
        }
        Ty::Array(size, element) => format!("(replicate {} {})", size.text(), simplest_text(element)),
        Ty::Jagged(element) => format!("(filter (\\_ -> true) [{}])", simplest_text(element)),
    }
}
