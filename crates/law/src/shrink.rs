//! Makes a failing program small: every expression is replaced by a part of itself of the same type, or by the
//! simplest one of its type, as long as the program still fails at the same stage.

use crate::generate::Program;
use crate::stages::{Failure, Kind, Machines, check};
use crate::tree::{FIELDS, Node, Size, Ty, constructor};

/// Enough for programs of the generator's size; shrinking is for reading, not for proof.
const MOST_TRIES: usize = 1_000;

/// The smallest program found that fails like this one.
pub fn shrink(program: &Program, failure: &Failure, machines: Machines) -> (Program, Failure) {
    let machines = match failure.stage {
        "lower" | "openmp" | "opencl" | "c" | "strategy c" => machines,
        _ if machines == Machines::Nova => machines,
        _ => Machines::Interpreters,
    };
    let mut best = (program.clone(), failure.clone());
    let mut tries = 0;
    let mut position = 0;
    while position < best.0.body.size() && tries < MOST_TRIES {
        match smaller_at(&best.0, &best.1, position, machines, &mut tries) {
            Some(better) => best = better,
            None => position += 1,
        }
    }
    let bare = Program {
        definitions: String::new(),
        ..best.0.clone()
    };
    if let Some(still) = same_failure(&bare, &best.1, machines) {
        best = (bare, still);
    }
    for run in 0..best.0.runs.len() {
        let Some(args) = best.0.runs.get(run) else {
            continue;
        };
        let one = Program {
            runs: vec![args.clone()],
            ..best.0.clone()
        };
        if let Some(still) = same_failure(&one, &best.1, machines) {
            return (one, still);
        }
    }
    best
}

fn smaller_at(
    program: &Program,
    failure: &Failure,
    position: usize,
    machines: Machines,
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
        if let Some(still) = same_failure(&smaller, failure, machines) {
            return Some((smaller, still));
        }
    }
    None
}

fn same_failure(program: &Program, failure: &Failure, machines: Machines) -> Option<Failure> {
    check(program, machines)
        .err()
        .filter(|found| found.stage == failure.stage && found.kind == failure.kind)
        // Other complaints than the first are about the shrinking.
        .filter(|found| {
            found.kind == Kind::Differs || found.details.lines().next() == failure.details.lines().next()
        })
}

fn simplest(ty: &Ty) -> Node {
    Node::leaf(ty.clone(), simplest_text(ty))
}

fn simplest_text(ty: &Ty) -> String {
    let list = |parts: &[Ty]| parts.iter().map(simplest_text).collect::<Vec<_>>().join(", ");
    match ty {
        Ty::Scalar(scalar) if *scalar == almach_value::ScalarType::Bool => "true".to_owned(),
        Ty::Wild(scalar) => format!("0.5{scalar}"),
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
        Ty::Array(Size::Literal(count), element) if *count > 0 && !element.holds_unknown() => {
            format!("[{}]", list(&vec![element.as_ref().clone(); *count]))
        }
        Ty::Array(size, element) => match element.as_ref() {
            Ty::Unknown(cell) => format!("(jagged (replicate {} [{}]))", size.text(), simplest_text(cell)),
            _ => format!("(replicate {} {})", size.text(), simplest_text(element)),
        },
        Ty::Sum(constructors) => {
            let fields = constructors.first().map_or(&[][..], Vec::as_slice);
            let fields: Vec<String> = fields.iter().map(simplest_text).collect();
            format!("({} {})", constructor(0), fields.join(" "))
        }
        Ty::Unknown(element) => format!("(filter (\\_ -> true) [{}])", simplest_text(element)),
    }
}
