//! Random well-typed programs, to test printers, parsers, checkers and passes against each other.
//!
//! Every program has one entry `main` over arrays of several shapes. Few of its operations can fail, so that most runs reach the end.
//! Reductions use operators that are exact and associative, since passes may regroup them.

mod ops;

use crate::build::Builder;
use crate::ir::{
    Atom, Body, ConstructorDef, DataDef, DataId, Dim, Entry, Exp, FunId, Function, Lambda, Param, Program,
    Recursive, ResultType, Size, Type, Var,
};
use crate::typing::{Signature, Signatures, Typed};
use almach_base::{Name, Span};
use almach_value::{DimType, Scalar, ScalarType, ValueType};

/// A small generator of numbers (xorshift), so that a seed means the same program everywhere.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        match bound {
            0 => 0,
            _ => ((self.number() >> 33) % bound as u64) as usize,
        }
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// The data types of every random program.
const MAYBE: DataId = DataId(0);

/// The shape of `main`'s parameters, for who makes arguments: `n`, `m` are sizes, then the values in order.
pub const MAIN_PARAMS: [(&str, &str); 7] = [
    ("xs", "[n]i32"),
    ("ys", "[n]f32"),
    ("zs", "[m]i64"),
    ("xss", "[n][m]i32"),
    ("k", "i64"),
    ("x", "i32"),
    ("c", "bool"),
];

/// A program of about `statements` statements.
pub fn program(seed: u64, statements: usize) -> Typed<Program> {
    let maybe = DataDef {
        name: "Maybe_i32".into(),
        recursive: Recursive::No,
        constructors: vec![
            ConstructorDef {
                name: "Nothing".into(),
                fields: vec![],
            },
            ConstructorDef {
                name: "Just".into(),
                fields: vec![Type::Scalar(ScalarType::I32)],
            },
        ],
        parts: Vec::new(),
    };
    let signatures = Signatures {
        data: vec![maybe],
        ..Signatures::default()
    };
    let mut generator = Generator {
        rng: Rng::new(seed),
        builder: Builder::new(signatures, 0),
        scope: Vec::new(),
        depth: 0,
        budget: 0,
        work: 1,
    };
    let mut functions = Vec::new();
    for at in 0..generator.rng.below(3) {
        generator.budget = statements / 3;
        // It may be called from inside maps.
        generator.work = 100;
        functions.push(generator.helper(at)?);
    }
    generator.budget = statements;
    generator.work = 1;
    functions.push(generator.main()?);
    let main = FunId(functions.len() as u32 - 1);
    let result = border(&functions, main);
    Ok(Program {
        data: generator.builder.signatures.data,
        foreign: vec![],
        functions,
        entries: vec![Entry {
            name: "main".into(),
            function: main,
            params: main_border(),
            result,
            span: Span::NONE,
        }],
        next_var: generator.builder.supply.next_var(),
    })
}

fn main_border() -> Vec<(Name, ValueType)> {
    let array = |size: &str, element| ValueType::Array(DimType::Named(size.into()), Box::new(element));
    let scalar = ValueType::Scalar;
    let types = [
        array("n", scalar(ScalarType::I32)),
        array("n", scalar(ScalarType::F32)),
        array("m", scalar(ScalarType::I64)),
        array("n", array("m", scalar(ScalarType::I32))),
        scalar(ScalarType::I64),
        scalar(ScalarType::I32),
        scalar(ScalarType::Bool),
    ];
    let names = MAIN_PARAMS.iter().map(|(name, _)| Name::from(*name));
    names.zip(types).collect()
}

fn border(functions: &[Function], main: FunId) -> ValueType {
    let types = functions
        .get(main.0 as usize)
        .map_or(&[][..], |function| function.result.types.as_slice());
    let shown: Vec<ValueType> = types.iter().map(border_type).collect();
    match <[ValueType; 1]>::try_from(shown) {
        Ok([only]) => only,
        Err(several) => ValueType::Tuple(several),
    }
}

/// Results of `main` hold no data, so this is all there is.
fn border_type(ty: &Type) -> ValueType {
    match ty {
        Type::Scalar(ty) => ValueType::Scalar(*ty),
        Type::Vector(width, ty) => ValueType::Vector(*width, *ty),
        Type::Tuple(parts) => ValueType::Tuple(parts.iter().map(border_type).collect()),
        Type::Array(Dim::Size(_), element) => {
            ValueType::Array(DimType::Unknown, Box::new(border_type(element)))
        }
        Type::Array(Dim::Jagged, element) => {
            ValueType::Array(DimType::Jagged, Box::new(border_type(element)))
        }
        Type::Data(_) | Type::Node(_) => ValueType::Tuple(vec![]),
    }
}

struct Generator {
    rng: Rng,
    builder: Builder,
    /// Atoms that may be used, with their types in normal form.
    scope: Vec<(Atom, Type)>,
    depth: usize,
    budget: usize,
    /// About how often what is generated now will run.
    work: usize,
}

/// Operations that would run more often than this are not generated, nor are arrays of more elements kept.
const MOST_WORK: usize = 20_000;
const MOST_ELEMENTS: usize = 400;

/// What unknown sizes are thought to be.
const USUAL_SIZE: i64 = 5;

impl Generator {
    fn main(&mut self) -> Typed<Function> {
        let (n, m) = (self.builder.size_var("n"), self.builder.size_var("m"));
        let array = |size: &Var, element| Type::array(Size::var(size.clone()), element);
        let scalar = Type::Scalar;
        let types = [
            array(&n, scalar(ScalarType::I32)),
            array(&n, scalar(ScalarType::F32)),
            array(&m, scalar(ScalarType::I64)),
            array(&n, array(&m, scalar(ScalarType::I32))),
            Type::I64,
            scalar(ScalarType::I32),
            Type::BOOL,
        ];
        let params = MAIN_PARAMS.iter().zip(types);
        let params: Vec<Param> = params
            .map(|((name, _), ty)| self.builder.param(*name, ty))
            .collect();
        let function = self.function("main", vec![n, m], params, Results::Several)?;
        Ok(function)
    }

    /// A function that `main` and later helpers may call.
    fn helper(&mut self, at: usize) -> Typed<Function> {
        let n = self.builder.size_var("n");
        let params = vec![
            self.builder.param(
                "xs",
                Type::array(Size::var(n.clone()), Type::Scalar(ScalarType::I32)),
            ),
            self.builder.param("a", Type::I64),
        ];
        self.function(&format!("helper{at}"), vec![n], params, Results::One)
    }

    fn function(
        &mut self,
        name: &str,
        context: Vec<Var>,
        params: Vec<Param>,
        results: Results,
    ) -> Typed<Function> {
        self.scope.clear();
        for size in &context {
            self.scope.push((Atom::Var(size.clone()), Type::I64));
        }
        self.bring_in(&params);
        let (result, body) = self.body(self.budget, results)?;
        self.builder.declare(Signature {
            name: name.into(),
            context: context.clone(),
            params: params.clone(),
            result: result.clone(),
        });
        Ok(Function {
            name: name.into(),
            context,
            params,
            result,
            body,
            span: Span::NONE,
        })
    }

    fn bring_in(&mut self, params: &[Param]) {
        for param in params {
            self.scope.push((Atom::Var(param.var.clone()), param.ty.clone()));
        }
    }

    /// Statements, and one or more of the values in scope as the result.
    fn body(&mut self, statements: usize, results: Results) -> Typed<(ResultType, Body)> {
        let first_inner = self.builder.supply.next_var();
        let (scope, depth) = (self.scope.len(), self.depth);
        self.depth += 1;
        self.builder.enter();
        for _ in 0..statements {
            self.statement()?;
        }
        let count = match results {
            Results::One => 1,
            Results::Several => 1 + self.rng.below(3),
        };
        let mut chosen = Vec::new();
        for _ in 0..count {
            chosen.push(self.result_atom());
        }
        let (result, context) = self.close(&chosen, first_inner)?;
        let body = self.builder.leave(context, chosen);
        self.depth = depth;
        self.scope.truncate(scope);
        Ok((result, body))
    }

    /// A value without data in it, of sizes that can be written as statements; one made last, rather than an old one.
    fn result_atom(&mut self) -> Atom {
        for _ in 0..8 {
            let recent = 1 + self.scope.len().min(6);
            let at = self.scope.len().saturating_sub(1 + self.rng.below(recent));
            if let Some((atom, ty)) = self.scope.get(at)
                && is_plain(ty)
            {
                return atom.clone();
            }
        }
        Atom::Const(Scalar::I32(7))
    }

    /// The declared type of a body's result: sizes that only the body knows become its context.
    fn close(&mut self, values: &[Atom], first_inner: u32) -> Typed<(ResultType, Vec<Atom>)> {
        let mut result = ResultType {
            context: vec![],
            types: vec![],
        };
        let mut context = Vec::new();
        for value in values {
            let ty = self.builder.type_of(value)?;
            let mut hidden = Vec::new();
            let closed = ty.map_dims(&mut |dim| match dim {
                Dim::Size(size) if size.occurrences().any(|var| var.id >= first_inner) => {
                    let var = self.builder.fresh("k");
                    hidden.push((var.clone(), size.clone()));
                    Dim::Size(Size::var(var))
                }
                dim => dim.clone(),
            });
            for (var, size) in hidden {
                context.push(self.builder.size_atom(&size, Span::NONE)?);
                result.context.push(var);
            }
            result.types.push(closed);
        }
        Ok((result, context))
    }

    /// A function over elements of these types, its body random.
    fn lambda(&mut self, elements: &[Type], statements: usize) -> Typed<Lambda> {
        let scope = self.scope.len();
        let mut context = Vec::new();
        let mut params = Vec::new();
        for element in elements {
            let opened = element.open(&mut || {
                let size = self.builder.size_var("r");
                context.push(size.clone());
                size
            });
            params.push(self.builder.param("e", opened));
        }
        for size in &context {
            self.scope.push((Atom::Var(size.clone()), Type::I64));
        }
        self.bring_in(&params);
        let (result, body) = self.body(statements, Results::One)?;
        self.scope.truncate(scope);
        Ok(Lambda {
            context,
            params,
            result,
            body,
        })
    }

    /// A function over scalars with a given scalar result.
    fn scalar_lambda(&mut self, elements: &[Type], result: ScalarType, statements: usize) -> Typed<Lambda> {
        let scope = self.scope.len();
        let mut context = Vec::new();
        let mut params = Vec::new();
        for element in elements {
            let opened = element.open(&mut || {
                let size = self.builder.size_var("r");
                context.push(size.clone());
                size
            });
            params.push(self.builder.param("e", opened));
        }
        self.bring_in(&params);
        self.builder.enter();
        self.depth += 1;
        for _ in 0..statements {
            self.statement()?;
        }
        self.depth -= 1;
        let value = self.scalar(result);
        let body = self.builder.leave(vec![], vec![value]);
        self.scope.truncate(scope);
        Ok(Lambda {
            context,
            params,
            result: ResultType::one(Type::Scalar(result)),
            body,
        })
    }

    /// An atom in scope of that type, or a constant.
    fn scalar(&mut self, ty: ScalarType) -> Atom {
        let wanted = Type::Scalar(ty);
        let found = self.matching(|ty| *ty == wanted);
        match self.recent(&found) {
            Some((atom, _)) if self.rng.chance(85) => atom.clone(),
            _ => self.constant(ty),
        }
    }

    /// One of the last few half of the time, so that results depend on much of the program.
    fn recent<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        match self.rng.chance(60) {
            true => self.rng.pick(&items[items.len().saturating_sub(3)..]),
            false => self.rng.pick(items),
        }
    }

    fn constant(&mut self, ty: ScalarType) -> Atom {
        let small = self.rng.below(9) as i64 - 3;
        Atom::Const(match ty {
            ScalarType::I64 => Scalar::I64(small),
            ScalarType::F32 => Scalar::F32(small as f32),
            ScalarType::Bool => Scalar::Bool(small > 0),
            _ => Scalar::I32(small as i32),
        })
    }

    fn matching(&self, wanted: impl Fn(&Type) -> bool) -> Vec<(Atom, Type)> {
        self.scope.iter().filter(|(_, ty)| wanted(ty)).cloned().collect()
    }

    /// A random array in scope.
    fn array(&mut self, wanted: impl Fn(&Size, &Type) -> bool) -> Option<(Atom, Size, Type)> {
        let found = self.matching(|ty| match ty {
            Type::Array(Dim::Size(size), element) => wanted(size, element),
            _ => false,
        });
        match self.recent(&found) {
            Some((atom, Type::Array(Dim::Size(size), element))) => {
                Some((atom.clone(), size.clone(), (**element).clone()))
            }
            _ => None,
        }
    }

    /// Binds an expression and keeps what it gives.
    fn keep(&mut self, exp: Exp, name: &str) -> Typed<()> {
        let pattern = self.builder.bind_all(exp, &[name.into()], Span::NONE)?;
        for size in pattern.context {
            self.scope.push((Atom::Var(size), Type::I64));
        }
        for value in pattern.values {
            if elements(&value.ty) <= MOST_ELEMENTS {
                self.scope.push((Atom::Var(value.var), value.ty));
            }
        }
        Ok(())
    }

    /// Whether something may be generated that runs so often at each run of what is around it.
    fn may_run(&self, times: usize) -> bool {
        self.work.saturating_mul(times) <= MOST_WORK
    }

    /// Generates something that runs so often.
    fn repeated<T>(&mut self, times: usize, generate: impl FnOnce(&mut Self) -> Typed<T>) -> Typed<T> {
        let work = self.work;
        self.work = work.saturating_mul(times.max(1));
        let made = generate(self);
        self.work = work;
        made
    }
}

/// How many results a body has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    One,
    Several,
}

/// About how many scalars a value of the type holds.
fn elements(ty: &Type) -> usize {
    match ty {
        Type::Tuple(parts) => parts.iter().map(elements).sum(),
        Type::Array(dim, element) => usual(dim).saturating_mul(elements(element).max(1)),
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => 1,
    }
}

/// About how long a dimension is.
fn usual(dim: &Dim) -> usize {
    let length = match dim {
        Dim::Size(size) => size.eval(&|_| Some(USUAL_SIZE)),
        Dim::Jagged => Some(USUAL_SIZE),
    };
    length.map_or(usize::MAX, |length| length.max(0) as usize)
}

/// Without data, and with sizes that statements can compute exactly.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) => true,
        Type::Tuple(parts) => parts.iter().all(is_plain),
        Type::Array(Dim::Jagged, element) => is_plain(element),
        Type::Array(Dim::Size(size), element) => {
            let polynomial = size.terms().iter().all(|(monomial, _)| {
                let mut factors = monomial.factors().iter();
                factors.all(|(atom, _)| matches!(atom, almach_nat::Atom::Var(_)))
            });
            polynomial && is_plain(element)
        }
        Type::Data(_) | Type::Node(_) => false,
    }
}
