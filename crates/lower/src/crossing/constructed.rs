//! A list that an entry constructs as its last act goes out as the nodes it was constructed of.
//!
//! ```text
//! let new: [k]#L = map … cells                       let new: [k]#L = map … cells
//! let made: L = constructed new                      let last: #L = new[k - 1]
//! in made                                            assert (case last of | #Cons (_, _) -> false | _ -> true)
//! ~~ around it ~~                              =>    in (0, new)
//! let root: i64 = root_of made
//! let {n} nodes: [n]#L = nodes made
//! in (root, nodes)
//! ```
//!
//! The nodes are a chain (`core/src/chains.rs`), so the table of the list is these nodes in their order, and its root is the first. No row is made for it, and
//! nothing is copied. The entry's function is put in the place of its call for that.

use super::{Crosser, Typed};
use almach_core::chains::{Chain, Chains, links};
use almach_core::groups::group_of;
use almach_core::visit::{Substitution, UseCounts, fresh_function, walk_function_mut};
use almach_core::{Arm, Atom, Body, Dim, Exp, Function, Param, Program, ResultType, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar};
use std::collections::HashMap;

/// What a list has that is constructed of a chain in which the last node refers to another.
const NO_END: &str = "a list is constructed whose last node refers to another";

/// What is known of the values that a function gives.
#[derive(Default)]
pub(super) struct Given {
    /// Data that are not made, since their nodes go out.
    chains: HashMap<Var, Chain>,
    tuples: HashMap<Var, Vec<Atom>>,
}

impl Given {
    /// The parts of a tuple that is known.
    pub(super) fn parts(&self, tuple: &Atom) -> Option<&[Atom]> {
        match tuple {
            Atom::Var(tuple) => self.tuples.get(tuple).map(Vec::as_slice),
            Atom::Const(_) => None,
        }
    }

    pub(super) fn chain(&self, datum: &Atom) -> Option<&Chain> {
        match datum {
            Atom::Var(datum) => self.chains.get(datum),
            Atom::Const(_) => None,
        }
    }
}

/// The lists that a function constructs of chains and only gives as results, or as parts of them; the function's body can be put in the
/// place of its call.
pub(super) fn given(program: &Program, function: &Function) -> Given {
    let mut given = Given::default();
    if !function.result.context.is_empty() {
        return given;
    }
    let finder = Finder {
        program,
        function,
        chains: Chains::of(&program.data, function),
        uses: UseCounts::of_function(function),
    };
    for result in &function.body.values {
        finder.find(result, &mut given);
    }
    given
}

/// Whether a value goes out otherwise than it was made.
enum Found {
    Chain,
    Nothing,
}

struct Finder<'p> {
    program: &'p Program,
    function: &'p Function,
    chains: Chains<'p>,
    uses: UseCounts,
}

impl Finder<'_> {
    fn find(&self, value: &Atom, given: &mut Given) -> Found {
        let Atom::Var(var) = value else {
            return Found::Nothing;
        };
        let stmts = &mut self.function.body.stmts.iter();
        let stmt = stmts.find(|stmt| matches!(stmt.pattern.values.as_slice(), [value] if value.var == *var));
        let Some(stmt) = stmt.filter(|_| self.uses.of(var) == 1) else {
            return Found::Nothing;
        };
        match (&stmt.exp, self.chains.constructed(value)) {
            (Exp::Tuple(parts), _) => {
                let mut chains = 0;
                for part in parts {
                    if let Found::Chain = self.find(part, given) {
                        chains += 1;
                    }
                }
                if chains == 0 {
                    return Found::Nothing;
                }
                given.tuples.insert(var.clone(), parts.clone());
                Found::Chain
            }
            // Types of a group cross as another type.
            (_, Some(chain))
                if sized(self.function, &chain.nodes)
                    && group_of(&self.program.data, chain.data).is_none() =>
            {
                given.chains.insert(var.clone(), chain.clone());
                Found::Chain
            }
            _ => Found::Nothing,
        }
    }
}

/// Whether a function takes the cells of a list that comes from outside: where that is all, the list stays in its array
/// (`stage1/in_arrays.rs`).
fn looks_at_cells(function: &Function) -> bool {
    let params = &function.params;
    let mut stmts = function.body.stmts.iter();
    function.result.context.is_empty()
        && stmts.any(|stmt| match &stmt.exp {
            Exp::Op(op) if op.prim == Prim::Reach => params
                .iter()
                .any(|param| op.args == [Atom::Var(param.var.clone())]),
            _ => false,
        })
}

/// Whether an array has a variable as its size, which can then be that of a result.
fn sized(function: &Function, array: &Var) -> bool {
    let mut stmts = function.body.stmts.iter().flat_map(|stmt| &stmt.pattern.values);
    stmts.any(|value| value.var == *array && size_of(&value.ty).is_some())
}

fn size_of(array: &Type) -> Option<Var> {
    match array {
        Type::Array(Dim::Size(size), _) => size.as_var().cloned(),
        _ => None,
    }
}

impl Crosser {
    /// The statements of a function with other arguments, without those that make lists whose nodes go out; the values that
    /// it gives, and what is known of them.
    pub(super) fn in_place(
        &mut self,
        program: &Program,
        function: &Function,
        (sizes, args): (&[Atom], &[Atom]),
    ) -> Option<Vec<(Atom, Type)>> {
        let mut copy = fresh_function(function, &mut self.builder.supply);
        let mut given = given(program, &copy);
        if given.chains.is_empty() && !looks_at_cells(&copy) {
            return None;
        }
        let mut known = Substitution::new();
        let params = copy.params.iter().map(|param| &param.var);
        for (var, atom) in copy.context.iter().chain(params).zip(sizes.iter().chain(args)) {
            known.insert(var.clone(), atom.clone());
        }
        copy.context.clear();
        copy.params.clear();
        walk_function_mut(&mut known, &mut copy);
        let goes_out = |stmt: &Stmt| {
            let mut values = stmt.pattern.values.iter();
            values.any(|value| given.chains.contains_key(&value.var) || given.tuples.contains_key(&value.var))
        };
        for stmt in copy.body.stmts {
            if !goes_out(&stmt) {
                self.builder.push(stmt.pattern, stmt.exp, stmt.span);
            }
        }
        let parts = given.tuples.values_mut().flatten();
        parts.for_each(|part| *part = known.of_atom(part));
        self.given = given;
        Some(copy.body.values.into_iter().zip(copy.result.types).collect())
    }

    /// The nodes of a chain, which has an end, as the table of a datum, and its size.
    pub(super) fn chain(&mut self, chain: &Chain) -> Typed<(Atom, Option<Var>)> {
        let nodes = Atom::Var(chain.nodes.clone());
        let count = self.builder.length(&nodes, self.span)?;
        let one = Atom::Const(Scalar::I64(1));
        let last = self.bind(Exp::Binary(BinOp::Sub, count, one), "last")?;
        let index = Exp::Index {
            array: nodes.clone(),
            indices: vec![last],
        };
        let last = self.bind(index, "last")?;
        let def = self.builder.signatures.data(chain.data)?.clone();
        let links = links(&self.builder.signatures.data, chain.data).unwrap_or_default();
        let mut arms = Vec::new();
        for ((constructor, link), fields) in (0u32..).zip(&links).zip(&def.constructors) {
            if link.is_none() {
                continue;
            }
            let mut context = Vec::new();
            let mut params: Vec<Param> = Vec::new();
            for field in &fields.fields {
                let builder = &mut self.builder;
                let ty = def.with_positions(chain.data, field).open(&mut || {
                    let size = builder.size_var("rows");
                    context.push(size.clone());
                    size
                });
                params.push(self.builder.param("field", ty));
            }
            arms.push(Arm {
                constructor,
                context,
                fields: params,
                body: giving(false),
            });
        }
        let is_end = Exp::Case {
            scrutinee: last,
            arms,
            default: Some(giving(true)),
            result: ResultType::one(Type::BOOL),
        };
        let condition = self.bind(is_end, "is_end")?;
        let text = NO_END.into();
        self.bind(Exp::Assert { condition, text }, "checked")?;
        let size = size_of(&self.builder.type_of(&nodes)?);
        Ok((nodes, size))
    }
}

fn giving(truth: bool) -> Body {
    Body {
        stmts: Vec::new(),
        context: Vec::new(),
        values: vec![Atom::Const(Scalar::Bool(truth))],
    }
}
