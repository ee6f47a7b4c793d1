//! Random well-typed programs as source text.
//!
//! Floats hold small integers and are only added, subtracted, compared and scaled by small factors, so that every
//! grouping of a sum is exact. Failing operations (division, indexing) are rare but there: where the interpreter
//! fails, every other stage must fail too.

mod arrays;
mod scalars;

use crate::node;
use crate::rng::Rng;
use crate::tree::{FIELDS, Node, Size, Ty};
use almach_value::ScalarType;

/// A program with the sets of arguments it is run on.
#[derive(Clone, Debug)]
pub struct Program {
    /// `entry main (…) = `.
    pub head: String,
    pub body: Node,
    /// One list of arguments per run.
    pub runs: Vec<Vec<String>>,
}

impl Program {
    pub fn text(&self) -> String {
        format!("{}\n  {}\n", self.head, self.body.text())
    }
}

const SIZES: [usize; 7] = [0, 1, 2, 3, 5, 8, 13];
const RUNS: usize = 3;
const DEPTH: usize = 5;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator {
        rng: Rng::new(seed),
        scope: Vec::new(),
        next: 0,
    };
    generator.program()
}

pub struct Generator {
    rng: Rng,
    /// Variables in scope.
    scope: Vec<(String, Ty)>,
    next: usize,
}

fn size(name: &str) -> Size {
    Size::Name(name.to_owned())
}

impl Generator {
    fn program(&mut self) -> Program {
        let params = self.params();
        let written: Vec<String> = params
            .iter()
            .map(|(name, ty)| format!("({name}: {})", ty.text()))
            .collect();
        self.scope = params.clone();
        for name in ["n", "m"] {
            self.scope.push((name.to_owned(), Ty::Scalar(ScalarType::I64)));
        }
        let ty = self.result_type();
        let body = self.expr(&ty, DEPTH);
        let runs = (0..RUNS).map(|_| self.arguments(&params)).collect();
        let head = format!("entry main [n] [m] {}: {} =", written.join(" "), ty.text());
        Program { head, body, runs }
    }

    /// The first two fix the sizes; the others are of any type.
    fn params(&mut self) -> Vec<(String, Ty)> {
        let first = self.scalar_type();
        let second = self.scalar_type();
        let mut params = vec![
            ("xs".to_owned(), Ty::Array(size("n"), Box::new(Ty::Scalar(first)))),
            (
                "ys".to_owned(),
                Ty::Array(size("m"), Box::new(Ty::Scalar(second))),
            ),
        ];
        for name in ["p", "q"] {
            let ty = self.ty(2);
            params.push((name.to_owned(), ty));
        }
        params
    }

    fn result_type(&mut self) -> Ty {
        self.ty(2)
    }

    fn scalar_type(&mut self) -> ScalarType {
        use ScalarType::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let common = [I32, I64, F32, F64, Bool, I32, F32];
        let all = [I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Bool];
        let from: &[ScalarType] = if self.rng.chance(70) { &common } else { &all };
        self.rng.pick(from).copied().unwrap_or(I32)
    }

    fn ty(&mut self, depth: usize) -> Ty {
        match self.rng.below(if depth == 0 { 4 } else { 10 }) {
            0..4 => Ty::Scalar(self.scalar_type()),
            4 => Ty::Tuple(vec![self.ty(depth - 1), self.ty(depth - 1)]),
            5 => Ty::Record(vec![self.ty(depth - 1), self.ty(depth - 1)]),
            6 => Ty::Maybe(Box::new(Ty::Scalar(self.scalar_type()))),
            _ => Ty::Array(self.size(), Box::new(self.element(depth - 1))),
        }
    }

    /// Elements of arrays: no sums (their arrays have their own tests), so that all primitives apply.
    fn element(&mut self, depth: usize) -> Ty {
        match self.rng.below(if depth == 0 { 3 } else { 5 }) {
            0..3 => Ty::Scalar(self.scalar_type()),
            3 => Ty::Tuple(vec![
                Ty::Scalar(self.scalar_type()),
                Ty::Scalar(self.scalar_type()),
            ]),
            _ => Ty::Array(self.size(), Box::new(self.element(depth - 1))),
        }
    }

    fn size(&mut self) -> Size {
        match self.rng.below(6) {
            0..3 => size("n"),
            3..5 => size("m"),
            _ => Size::Literal(self.rng.below(4)),
        }
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    /// Builds with a variable in scope.
    fn with<T>(&mut self, name: &str, ty: &Ty, build: impl FnOnce(&mut Generator) -> T) -> T {
        self.scope.push((name.to_owned(), ty.clone()));
        let built = build(self);
        self.scope.pop();
        built
    }

    /// An expression of a type, always in parentheses or atomic.
    fn expr(&mut self, ty: &Ty, depth: usize) -> Node {
        if depth == 0 || self.rng.chance(8) {
            return self.simple(ty);
        }
        match self.rng.below(12) {
            0 => self.let_in(ty, depth - 1),
            1 => self.conditional(ty, depth - 1),
            2 if self.rng.chance(50) => self.loop_for(ty, depth - 1),
            2 => self.case_maybe(ty, depth - 1),
            3 if self.rng.chance(60) => self.local_function(ty, depth - 1),
            4 => self.project(ty, depth - 1),
            _ => match ty {
                Ty::Scalar(scalar) => self.scalar(*scalar, depth - 1),
                Ty::Array(size, element) => self.array(size, element, depth - 1),
                Ty::Tuple(_) | Ty::Record(_) | Ty::Maybe(_) | Ty::Jagged(_) => self.construct(ty, depth - 1),
            },
        }
    }

    /// A variable of the type where there is one, else the smallest expression.
    fn simple(&mut self, ty: &Ty) -> Node {
        let fitting: Vec<String> = self
            .scope
            .iter()
            .filter(|(_, own)| own == ty)
            .map(|(name, _)| name.clone())
            .collect();
        match self.rng.pick(&fitting) {
            Some(name) if self.rng.chance(85) => Node::leaf(ty.clone(), name.clone()),
            _ => self.construct(ty, 0),
        }
    }

    /// An expression made of its type's parts.
    fn construct(&mut self, ty: &Ty, depth: usize) -> Node {
        match ty {
            Ty::Scalar(scalar) => Node::leaf(ty.clone(), self.literal(*scalar)),
            Ty::Tuple(parts) => self.list(ty, "(", parts, ")", depth, |_| String::new()),
            Ty::Record(parts) => {
                let name = |at: usize| format!("{} = ", FIELDS.get(at).copied().unwrap_or("z"));
                self.list(ty, "{", parts, "}", depth, name)
            }
            Ty::Maybe(inner) => match self.rng.below(4) {
                0 => Node::leaf(ty.clone(), "None"),
                _ => node!(ty.clone(); "(Some ", self.expr(inner, depth), ")"),
            },
            Ty::Array(Size::Literal(count), element) if *count > 0 => {
                let parts = vec![element.as_ref().clone(); *count];
                self.list(ty, "[", &parts, "]", depth, |_| String::new())
            }
            Ty::Array(size, element) => {
                node!(ty.clone(); format!("(replicate {} ", size.text()), self.expr(element, depth), ")")
            }
            Ty::Jagged(inner) => {
                node!(ty.clone(); "(filter (\\_ -> true) ", self.expr(&Ty::Array(size("n"), inner.clone()), depth), ")")
            }
        }
    }

    fn list(
        &mut self,
        ty: &Ty,
        open: &str,
        parts: &[Ty],
        close: &str,
        depth: usize,
        before: impl Fn(usize) -> String,
    ) -> Node {
        let mut node = node!(ty.clone(); open);
        for (at, part) in parts.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            node.parts.push(format!("{comma}{}", before(at)).into());
            node.parts.push(self.expr(part, depth).into());
        }
        node.parts.push(close.into());
        node
    }

    fn let_in(&mut self, ty: &Ty, depth: usize) -> Node {
        let bound = self.ty(1);
        let name = self.fresh();
        let value = self.expr(&bound, depth);
        let body = self.with(&name, &bound, |this| this.expr(ty, depth));
        node!(ty.clone(); format!("(let {name}: {} = ", bound.text()), value, " in ", body, ")")
    }

    fn conditional(&mut self, ty: &Ty, depth: usize) -> Node {
        let condition = self.expr(&Ty::Scalar(ScalarType::Bool), depth);
        node!(ty.clone(); "(if ", condition, " then ", self.expr(ty, depth), " else ", self.expr(ty, depth), ")")
    }

    fn loop_for(&mut self, ty: &Ty, depth: usize) -> Node {
        let (state, index) = (self.fresh(), self.fresh());
        let initial = self.expr(ty, depth);
        let i64 = Ty::Scalar(ScalarType::I64);
        let body = self.with(&state, ty, |this| {
            this.with(&index, &i64, |this| this.expr(ty, depth))
        });
        let bound = self.rng.below(5);
        node!(ty.clone(); format!("(loop ({state}: {} = ", ty.text()), initial,
              format!(") for {index} < {bound}i64 do "), body, ")")
    }

    fn case_maybe(&mut self, ty: &Ty, depth: usize) -> Node {
        let inner = Ty::Scalar(self.scalar_type());
        let name = self.fresh();
        let scrutinee = self.expr(&Ty::Maybe(Box::new(inner.clone())), depth);
        let some = self.with(&name, &inner, |this| this.expr(ty, depth));
        node!(ty.clone(); "(case ", scrutinee, format!(" of | Some {name} -> "), some,
              " | None -> ", self.expr(ty, depth), ")")
    }

    fn local_function(&mut self, ty: &Ty, depth: usize) -> Node {
        let (function, param) = (self.fresh(), self.fresh());
        let param_type = self.ty(1);
        let body = self.with(&param, &param_type, |this| this.expr(ty, depth));
        let first = self.expr(&param_type, depth);
        node!(ty.clone(); format!("(let {function} ({param}: {}): {} = ", param_type.text(), ty.text()), body,
              format!(" in {function} "), first, ")")
    }

    /// A part of something larger.
    fn project(&mut self, ty: &Ty, depth: usize) -> Node {
        let other = Ty::Scalar(self.scalar_type());
        match self.rng.below(3) {
            0 => node!(ty.clone(); self.expr(&Ty::Tuple(vec![ty.clone(), other]), depth), ".0"),
            1 => node!(ty.clone(); self.expr(&Ty::Record(vec![other, ty.clone()]), depth), ".b"),
            _ => {
                let (left, right) = (self.fresh(), self.fresh());
                let pair = Ty::Tuple(vec![ty.clone(), other]);
                let value = self.expr(&pair, depth);
                node!(ty.clone(); format!("(let ({left}, {right}) = "), value, format!(" in {left})"))
            }
        }
    }

    fn arguments(&mut self, params: &[(String, Ty)]) -> Vec<String> {
        let n = self.rng.pick(&SIZES).copied().unwrap_or(3);
        let m = self.rng.pick(&SIZES).copied().unwrap_or(2);
        params.iter().map(|(_, ty)| self.argument(ty, n, m)).collect()
    }

    fn argument(&mut self, ty: &Ty, n: usize, m: usize) -> String {
        let list = |this: &mut Generator, parts: &[Ty]| {
            parts
                .iter()
                .map(|part| this.argument(part, n, m))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match ty {
            Ty::Scalar(scalar) => self.argument_scalar(*scalar),
            Ty::Tuple(parts) => format!("({})", list(self, parts)),
            Ty::Record(parts) => {
                let fields: Vec<String> = FIELDS
                    .iter()
                    .zip(parts)
                    .map(|(name, part)| format!("{name} = {}", self.argument(part, n, m)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Maybe(inner) => match self.rng.below(3) {
                0 => "None".to_owned(),
                _ => format!("Some ({})", self.argument(inner, n, m)),
            },
            Ty::Array(size, element) => {
                let count = match size {
                    Size::Literal(count) => *count,
                    Size::Name(name) if name == "n" => n,
                    Size::Name(_) => m,
                };
                let parts = vec![element.as_ref().clone(); count];
                format!("[{}]", list(self, &parts))
            }
            Ty::Jagged(inner) => {
                let parts = vec![inner.as_ref().clone(); self.rng.below(4)];
                format!("[{}]", list(self, &parts))
            }
        }
    }
}
