//! Random well-typed programs as source text.
//!
//! Floats that a reduction may meet hold small integers and are only added, subtracted, compared and scaled by small
//! factors, so that every grouping of a sum is exact; the others are wild (any value) and are never summed. (Some programs on
//! large arrays sum what rounds: these are compared from the strategy program down.) Failing
//! operations (division, indexing, asserts) are rare but there: where the interpreter fails, every other stage must too.

mod arguments;
mod arrays;
mod control;
mod data;
mod division;
mod large;
mod levels;
mod lists;
mod loops;
mod scalars;
mod trees;
mod triangles;
mod unknown;
mod views;

use crate::node;
use crate::outside::declarations;
use crate::rng::Rng;
use crate::tree::{DATA, FIELDS, Node, Size, Ty, constructor};
use almach_value::ScalarType;
use levels::{Around, LEVEL_MARK};

/// A program with the sets of arguments it is run on.
#[derive(Clone, Debug)]
pub struct Program {
    /// Definitions in front of the entry.
    pub definitions: String,
    /// What stands behind `entry NAME`: sizes, parameters, the result's type.
    pub head: String,
    pub body: Node,
    /// One list of arguments per run.
    pub runs: Vec<Vec<String>>,
    pub scale: Scale,
    pub floats: Floats,
}

/// Whether slow interpreters can run it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    Small,
    /// Arrays of thousands of elements.
    Large,
}

/// What sums of floats do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Floats {
    /// Every grouping gives the same.
    Exact,
    /// They round: only from the strategy program down the grouping is fixed, and everything agrees bit for bit.
    Round,
}

impl Program {
    /// As a file of its own.
    pub fn text(&self) -> String {
        let text = self.numbered("main", "");
        [declarations(&text), &text].concat()
    }

    /// With an entry of that name, and names of definitions that end in a number of its own.
    pub fn numbered(&self, entry: &str, number: &str) -> String {
        let text = format!(
            "{}entry {entry} {} =\n  {}\n",
            self.definitions,
            self.head,
            self.body.text()
        );
        text.replace('@', number).replace(LEVEL_MARK, "@")
    }

    /// The arguments of the runs, with the names of that number.
    pub fn runs_numbered(&self, number: &str) -> Vec<Vec<String>> {
        let run = |args: &Vec<String>| args.iter().map(|arg| arg.replace('@', number)).collect();
        self.runs.iter().map(run).collect()
    }
}

const RUNS: usize = 3;
const DEPTH: usize = 5;
// Programs about recursions and large arrays take ten and a hundred times as long as others: there are few of them.

/// How many in a hundred programs are about a recursive type.
const DATA_PERCENT: usize = 4;
/// How many in a hundred programs are about recursions over lists.
const LISTS_PERCENT: usize = 2;
/// How many in a hundred programs are about recursions over trees.
const TREES_PERCENT: usize = 1;
/// How many in a hundred programs are about recursions that divide and conquer.
const DIVISION_PERCENT: usize = 1;
/// How many in a hundred programs are about large arrays.
const LARGE_PERCENT: usize = 2;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator {
        rng: Rng::new(seed),
        scope: Vec::new(),
        data: Vec::new(),
        recursive: Vec::new(),
        definitions: String::new(),
        around: Around::Nothing,
        sizes: Sizes::Literals,
        floats: Floats::Exact,
        next: 0,
    };
    const LISTS: usize = LARGE_PERCENT + DATA_PERCENT + LISTS_PERCENT;
    const TREES: usize = LISTS + TREES_PERCENT;
    match generator.rng.below(100) {
        at if at < LARGE_PERCENT => generator.large_program(),
        at if at < LARGE_PERCENT + DATA_PERCENT => generator.data_program(),
        at if at < LISTS => generator.list_program(),
        at if at < TREES => generator.tree_program(),
        at if at < TREES + DIVISION_PERCENT => generator.division_program(),
        _ => generator.program(),
    }
}

pub struct Generator {
    rng: Rng,
    /// Variables in scope.
    scope: Vec<(String, Ty)>,
    /// The fields of the constructors of the program's own data type; empty where it has none.
    data: Vec<Vec<Ty>>,
    /// Recursive functions: name, type of the parameter besides the counter, type of the result.
    recursive: Vec<(String, Ty, Ty)>,
    definitions: String,
    /// The level that was written on what is around.
    around: Around,
    sizes: Sizes,
    floats: Floats,
    next: usize,
}

/// The sizes that may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sizes {
    Literals,
    /// `n` and `m` as well.
    Named,
}

fn size(name: &str) -> Size {
    Size::Name(name.to_owned())
}

const I64: Ty = Ty::Scalar(ScalarType::I64);
const BOOL: Ty = Ty::Scalar(ScalarType::Bool);

impl Generator {
    fn program(&mut self) -> Program {
        self.declare_data();
        self.declare_recursive();
        self.sizes = Sizes::Named;
        let params = self.params();
        let written: Vec<String> = params
            .iter()
            .map(|(name, ty)| format!("({name}: {})", ty.text()))
            .collect();
        self.scope = params.clone();
        for name in ["n", "m"] {
            self.scope.push((name.to_owned(), I64));
        }
        let ty = self.ty(2);
        let body = self.expr(&ty, DEPTH);
        let runs = (0..RUNS).map(|_| self.arguments(&params)).collect();
        Program {
            definitions: std::mem::take(&mut self.definitions),
            head: format!("[n] [m] {}: {}", written.join(" "), ty.text()),
            body,
            runs,
            scale: Scale::Small,
            floats: Floats::Exact,
        }
    }

    /// A third of the programs have a data type of their own.
    fn declare_data(&mut self) {
        if !self.rng.chance(33) {
            return;
        }
        let mut data = Vec::new();
        for at in 0..1 + self.rng.below(3) {
            let fields: Vec<Ty> = (0..if at == 0 { 0 } else { self.rng.below(3) })
                .map(|_| match self.rng.below(8) {
                    0 => Ty::Tuple(vec![Ty::Scalar(self.scalar_type()), self.plain()]),
                    1 => Ty::array(Size::Literal(1 + self.rng.below(3)), self.plain()),
                    2 => Ty::Unknown(Box::new(self.plain())),
                    _ => self.plain(),
                })
                .collect();
            data.push(fields);
        }
        let written: Vec<String> = data
            .iter()
            .enumerate()
            .map(|(at, fields)| {
                let fields: Vec<String> = fields.iter().map(Ty::text).collect();
                format!("{} {}", constructor(at), fields.join(" "))
            })
            .collect();
        self.definitions
            .push_str(&format!("data {DATA} = {}\n", written.join(" | ")));
        self.data = data;
    }

    /// The first two fix the sizes; the others are of any type.
    fn params(&mut self) -> Vec<(String, Ty)> {
        let (first, second) = (self.plain(), self.plain());
        let mut params = vec![
            ("xs".to_owned(), Ty::array(size("n"), first)),
            ("ys".to_owned(), Ty::array(size("m"), second)),
        ];
        for name in ["p", "q"] {
            let ty = self.ty(2);
            params.push((name.to_owned(), ty));
        }
        if self.rng.chance(15) {
            let element = self.plain();
            params.push((
                "rows".to_owned(),
                Ty::array(size("n"), Ty::Unknown(Box::new(element))),
            ));
        }
        params
    }

    fn scalar_type(&mut self) -> ScalarType {
        use ScalarType::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let common = [I32, I64, F32, F64, Bool, I32, F32];
        let all = [I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Bool];
        let from: &[ScalarType] = if self.rng.chance(70) { &common } else { &all };
        self.rng.pick(from).copied().unwrap_or(I32)
    }

    /// A scalar, tame or wild.
    fn plain(&mut self) -> Ty {
        let scalar = self.scalar_type();
        match scalar.is_float() && self.rng.chance(30) {
            true => Ty::Wild(scalar),
            false => Ty::Scalar(scalar),
        }
    }

    fn ty(&mut self, depth: usize) -> Ty {
        match self.rng.below(if depth == 0 { 4 } else { 12 }) {
            0..4 => self.plain(),
            4 => Ty::Tuple(vec![self.ty(depth - 1), self.ty(depth - 1)]),
            5 => Ty::Record(vec![self.ty(depth - 1), self.ty(depth - 1)]),
            6 => Ty::Maybe(Box::new(self.plain())),
            7 if !self.data.is_empty() => Ty::Sum(self.data.clone()),
            8 if self.rng.chance(40) => Ty::Unknown(Box::new(self.element(0))),
            9 if self.rng.chance(25) => Ty::array(self.size(), Ty::Unknown(Box::new(self.plain()))),
            _ => Ty::array(self.size(), self.element(depth - 1)),
        }
    }

    /// Elements of arrays.
    fn element(&mut self, depth: usize) -> Ty {
        match self.rng.below(if depth == 0 { 4 } else { 8 }) {
            0..3 => self.plain(),
            3 | 4 => Ty::Tuple(vec![self.plain(), self.plain()]),
            5 if !self.data.is_empty() => Ty::Sum(self.data.clone()),
            5 => Ty::Maybe(Box::new(self.plain())),
            6 => Ty::Record(vec![self.plain(), self.plain()]),
            _ => Ty::array(self.size(), self.element(depth - 1)),
        }
    }

    fn size(&mut self) -> Size {
        match self.rng.below(6) {
            0..3 => self.named("n"),
            3..5 => self.named("m"),
            _ => Size::Literal(self.rng.below(4)),
        }
    }

    /// A size by its name, where names may be written.
    fn named(&mut self, name: &str) -> Size {
        match self.sizes {
            Sizes::Named => size(name),
            Sizes::Literals => Size::Literal(self.rng.below(4)),
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
        match self.rng.below(14) {
            0..6 => self.control(ty, depth - 1),
            _ => match ty {
                Ty::Scalar(scalar) => self.scalar(*scalar, depth - 1),
                Ty::Wild(scalar) => self.wild(*scalar, depth - 1),
                Ty::Array(size, element) => self.array(size, element, depth - 1),
                Ty::Unknown(element) => self.unknown(element, depth - 1),
                Ty::Tuple(_) | Ty::Record(_) | Ty::Maybe(_) | Ty::Sum(_) => self.construct(ty, depth - 1),
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
            Ty::Wild(scalar) => Node::leaf(ty.clone(), self.wild_literal(*scalar)),
            Ty::Tuple(parts) => self.list(ty, "(", parts, ")", depth, |_| String::new()),
            Ty::Record(parts) => {
                let name = |at: usize| format!("{} = ", FIELDS.get(at).copied().unwrap_or("z"));
                self.list(ty, "{", parts, "}", depth, name)
            }
            Ty::Maybe(inner) => match self.rng.below(4) {
                // Nothing else may say what it is a `Maybe` of.
                0 => Node::leaf(ty.clone(), format!("(None : {})", ty.text())),
                _ => node!(ty.clone(); "(Some ", self.expr(inner, depth), ")"),
            },
            Ty::Sum(constructors) => {
                let at = self.rng.below(constructors.len());
                let mut node = node!(ty.clone(); format!("({}", constructor(at)));
                for field in constructors.get(at).into_iter().flatten() {
                    node.parts.push(" ".into());
                    node.parts.push(self.expr(field, depth).into());
                }
                node.parts.push(")".into());
                node
            }
            Ty::Array(Size::Literal(count), element) if *count > 0 && !element.holds_unknown() => {
                let parts = vec![element.as_ref().clone(); *count];
                self.list(ty, "[", &parts, "]", depth, |_| String::new())
            }
            Ty::Array(count, element) => self.filled(ty, count, element, depth),
            Ty::Unknown(inner) => {
                let from = self.size();
                node!(ty.clone(); "(filter (\\_ -> true) ", self.expr(&Ty::Array(from, inner.clone()), depth), ")")
            }
        }
    }

    /// An array of one element, again and again.
    fn filled(&mut self, ty: &Ty, count: &Size, element: &Ty, depth: usize) -> Node {
        if let Ty::Unknown(cell) = element {
            let row = Ty::Array(Size::Literal(2), cell.clone());
            return node!(ty.clone(); format!("(jagged (replicate {} ", count.text()), self.expr(&row, depth), "))");
        }
        let level = self.level_of_view();
        node!(ty.clone(); format!("(replicate{level} {} ", count.text()), self.expr(element, depth), ")")
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
}
