//! The type rule of every expression of Core: from the types of its operands to the types of its results.
//!
//! [`result_type`] looks at operands and at the declared types of functions and branches in place; it does not
//! descend into bodies, which is the checker's work. Elaboration and passes use it, through [`crate::build`], to give
//! new statements their types, so a type is never guessed twice.
//!
//! What an operation's context holds, in order: a size for each dimension of its result that only running it can
//! tell. `filter`, `flatten`, `range` and `nodes` have one, `partition` two (the elements taken, the others), `slide` one
//! unless the array is provably long enough. Taking a row out of a jagged array has one per `?` that loses the array around it. An
//! operation with a function (`reduce` of rows) has those of the function's declared result. Where `slide` needs none a pattern may still bind one:
//! rewriting may prove more than was known when the pattern was made.

mod env;
mod ops;
mod prims;
mod scheme;

pub use env::{Env, Mark, Signature, Signatures, Supply};

use crate::check::Rule;
use crate::ir::{Arm, Atom, DataId, Dim, Exp, Loop, Op, ResultType, Size, SlicePart, Type, Var};
use almach_prim::Prim;
use almach_value::ScalarType;

/// What is wrong with an expression, by the rule of the checker it breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeError {
    pub rule: Rule,
    pub message: String,
}

impl TypeError {
    pub fn new(rule: Rule, message: impl Into<String>) -> TypeError {
        TypeError {
            rule,
            message: message.into(),
        }
    }
}

pub type Typed<T> = Result<T, TypeError>;

/// The types of an expression's results. New context variables come from `supply`.
pub fn result_type(exp: &Exp, env: &Env, signatures: &Signatures, supply: &mut Supply) -> Typed<ResultType> {
    Typing {
        env,
        signatures,
        supply,
    }
    .exp(exp)
}

/// The result of an expression whose pattern binds `context` sizes; see the note on `slide` above.
pub fn result_type_for_pattern(
    exp: &Exp,
    context: usize,
    env: &Env,
    signatures: &Signatures,
    supply: &mut Supply,
) -> Typed<ResultType> {
    let result = result_type(exp, env, signatures, supply)?;
    match (exp, result.types.as_slice()) {
        (
            Exp::Op(Op {
                prim: Prim::Slide, ..
            }),
            [Type::Array(_, window)],
        ) if context == 1 && result.context.is_empty() => {
            let count = supply.fresh("count");
            Ok(ResultType {
                types: vec![Type::array(Size::var(count.clone()), (**window).clone())],
                context: vec![count],
            })
        }
        _ => Ok(result),
    }
}

/// One use of the rules.
pub(crate) struct Typing<'a> {
    pub(crate) env: &'a Env,
    pub(crate) signatures: &'a Signatures,
    pub(crate) supply: &'a mut Supply,
}

impl Typing<'_> {
    fn exp(&mut self, exp: &Exp) -> Typed<ResultType> {
        match exp {
            Exp::Atom(atom) => self.atom(atom).map(ResultType::one),
            Exp::Unary(op, a) => {
                let a = self.atom(a)?;
                self.unary(*op, &a).map(ResultType::one)
            }
            Exp::Binary(op, a, b) => {
                let (a, b) = (self.atom(a)?, self.atom(b)?);
                self.binary(*op, &a, &b).map(ResultType::one)
            }
            Exp::Ternary(op, a, b, c) => {
                let (a, b, c) = (self.atom(a)?, self.atom(b)?, self.atom(c)?);
                self.ternary(*op, [&a, &b, &c]).map(ResultType::one)
            }
            Exp::Tuple(parts) => Ok(ResultType::one(Type::Tuple(self.atoms(parts)?))),
            Exp::Project(tuple, at) => self.project(tuple, *at),
            Exp::Array(elements, ty) => self.array_literal(elements, ty),
            Exp::Construct {
                data,
                constructor,
                fields,
            } => {
                let types = self.field_types(*data, *constructor)?;
                self.fields(&types, fields)?;
                Ok(ResultType::one(Type::Data(*data)))
            }
            Exp::ConstructNode {
                data,
                constructor,
                fields,
            } => {
                let types = self.node_field_types(*data, *constructor)?;
                self.fields(&types, fields)?;
                Ok(ResultType::one(Type::Node(*data)))
            }
            Exp::If {
                condition, result, ..
            } => {
                self.expect(condition, &Type::BOOL, "the condition")?;
                Ok(self.instance(result))
            }
            Exp::Case {
                scrutinee,
                arms,
                result,
                ..
            } => {
                let ty = self.atom(scrutinee)?;
                for arm in arms {
                    self.arm(&ty, arm)?;
                }
                Ok(self.instance(result))
            }
            Exp::Loop(looped) => self.looped(looped),
            Exp::Call {
                function,
                context,
                args,
            } => {
                let signature = self.signatures.function(*function)?;
                self.call(signature, context, args)
            }
            Exp::Foreign {
                function,
                context,
                args,
            } => {
                let signature = self.signatures.foreign(*function)?;
                let result = self.call(&signature, context, args)?;
                Ok(self.open_all(result))
            }
            Exp::Op(op) => self.op(op),
            Exp::Index { array, indices } => self.index(array, indices),
            Exp::Slice { array, parts } => {
                let ty = self.atom(array)?;
                let part = self.slice(&ty, parts)?;
                Ok(self.open_all(ResultType::one(part)))
            }
            Exp::Update {
                array,
                parts,
                value,
                in_place: _,
            } => self.update(array, parts, value),
            Exp::Coerce { value, to } => self.coerce(value, to),
            Exp::Assert { condition, text: _ } => {
                self.expect(condition, &Type::BOOL, "the condition")?;
                Ok(ResultType::one(Type::unit()))
            }
            Exp::Trace { label: _, value } => self.atom(value).map(ResultType::one),
        }
    }

    pub(crate) fn atom(&self, atom: &Atom) -> Typed<Type> {
        self.env.atom_type(atom)
    }

    fn atoms(&self, atoms: &[Atom]) -> Typed<Vec<Type>> {
        atoms.iter().map(|atom| self.atom(atom)).collect()
    }

    /// The atom has this type, which is in normal form.
    pub(crate) fn expect(&self, atom: &Atom, ty: &Type, what: &str) -> Typed<()> {
        let found = self.atom(atom)?;
        self.expect_same(ty, &found, Rule::OperandType, what)
    }

    /// Both in normal form.
    pub(crate) fn expect_same(&self, expected: &Type, found: &Type, rule: Rule, what: &str) -> Typed<()> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (self.show(expected), self.show(found));
        Err(TypeError::new(
            rule,
            format!("{what} must have type `{expected}`, but has `{found}`"),
        ))
    }

    pub(crate) fn show(&self, ty: &Type) -> String {
        ty.display(&self.signatures.data).to_string()
    }

    /// An `i64` as a size.
    pub(crate) fn size(&self, atom: &Atom) -> Typed<Size> {
        self.expect(atom, &Type::I64, "a size")?;
        self.env.size(atom)
    }

    pub(crate) fn array(&self, atom: &Atom) -> Typed<(Dim, Type)> {
        self.as_array(self.atom(atom)?)
    }

    /// An array of regular outermost dimension: all that values can have there.
    pub(crate) fn sized_array(&self, atom: &Atom) -> Typed<(Size, Type)> {
        match self.array(atom)? {
            (Dim::Size(size), element) => Ok((size, element)),
            (Dim::Jagged, element) => Err(TypeError::new(
                Rule::JaggedPlacement,
                format!("a value of type `[?]{}` has no size", self.show(&element)),
            )),
        }
    }

    pub(crate) fn as_array(&self, ty: Type) -> Typed<(Dim, Type)> {
        match ty {
            Type::Array(dim, element) => Ok((dim, *element)),
            other => Err(TypeError::new(
                Rule::OperandType,
                format!("expected an array, found `{}`", self.show(&other)),
            )),
        }
    }

    pub(crate) fn expect_integer(&self, atom: &Atom, what: &str) -> Typed<ScalarType> {
        match self.atom(atom)? {
            Type::Scalar(ty) if ty.is_integer() => Ok(ty),
            other => Err(TypeError::new(
                Rule::OperandType,
                format!("{what} must be an integer, but has type `{}`", self.show(&other)),
            )),
        }
    }

    /// A declared result, with new variables for its context.
    pub(crate) fn instance(&mut self, result: &ResultType) -> ResultType {
        let context: Vec<Var> = result.context.iter().map(|var| self.supply.like(var)).collect();
        let renamed = |var: &Var| {
            let at = result.context.iter().position(|bound| bound == var)?;
            context.get(at).cloned().map(Size::var)
        };
        let types = result
            .types
            .iter()
            .map(|ty| self.env.normalise(ty).substitute(&renamed));
        ResultType {
            types: types.collect(),
            context: context.clone(),
        }
    }

    /// Gives `?`s without an array around them a size of the context.
    pub(crate) fn open_all(&mut self, result: ResultType) -> ResultType {
        let mut context = result.context;
        let supply = &mut *self.supply;
        let types = result.types.iter().map(|ty| {
            ty.open(&mut || {
                let var = supply.fresh("rows");
                context.push(var.clone());
                var
            })
        });
        let types = types.collect();
        ResultType { context, types }
    }

    fn project(&self, tuple: &Atom, at: u32) -> Typed<ResultType> {
        let ty = self.atom(tuple)?;
        match &ty {
            Type::Tuple(parts) => parts
                .get(at as usize)
                .cloned()
                .map(ResultType::one)
                .ok_or_else(|| {
                    let message = format!("`{}` has no component {at}", self.show(&ty));
                    TypeError::new(Rule::OperandType, message)
                }),
            other => Err(TypeError::new(
                Rule::OperandType,
                format!("expected a tuple, found `{}`", self.show(other)),
            )),
        }
    }

    fn array_literal(&self, elements: &[Atom], ty: &Type) -> Typed<ResultType> {
        let ty = self.env.normalise(ty);
        for element in elements {
            let found = self.atom(element)?;
            self.expect_openable(&ty, &found, "an element")?;
        }
        let size = Size::constant(elements.len() as i64);
        Ok(ResultType::one(Type::array(size, ty)))
    }

    /// What a constructor's fields are in a datum.
    pub(crate) fn field_types(&self, data: DataId, constructor: u32) -> Typed<Vec<Type>> {
        self.signatures
            .constructor(data, constructor)
            .map(|def| def.fields.clone())
    }

    /// What a constructor's fields are in a node value: positions where the type mentions itself.
    pub(crate) fn node_field_types(&self, data: DataId, constructor: u32) -> Typed<Vec<Type>> {
        self.signatures.node_fields(data, constructor)
    }

    fn fields(&self, types: &[Type], fields: &[Atom]) -> Typed<()> {
        same_count(types.len(), fields.len(), Rule::Arity, "fields")?;
        for (ty, field) in types.iter().zip(fields) {
            let found = self.atom(field)?;
            self.expect_openable(ty, &found, "a field")?;
        }
        Ok(())
    }

    fn arm(&self, scrutinee: &Type, arm: &Arm) -> Typed<()> {
        let types = match scrutinee {
            Type::Data(data) => self.field_types(*data, arm.constructor)?,
            Type::Node(data) => self.node_field_types(*data, arm.constructor)?,
            other => {
                let message = format!("a `case` is on data, not on `{}`", self.show(other));
                return Err(TypeError::new(Rule::OperandType, message));
            }
        };
        same_count(types.len(), arm.fields.len(), Rule::Arity, "fields")?;
        let mut context = arm.context.iter();
        for (ty, field) in types.iter().zip(&arm.fields) {
            let expected = self.opened_with(ty, &mut context)?;
            let found = self.env.normalise(&field.ty);
            self.expect_same(&expected, &found, Rule::OperandType, "a field")?;
        }
        no_more(context)
    }

    fn looped(&mut self, looped: &Loop) -> Typed<ResultType> {
        let mut initial = Vec::with_capacity(looped.context.len());
        for (var, atom) in &looped.context {
            initial.push((var.clone(), self.size(atom)?));
        }
        let instance = |ty: &Type| {
            self.env.normalise(ty).substitute(&|var| {
                initial
                    .iter()
                    .find(|(bound, _)| bound == var)
                    .map(|(_, size)| size.clone())
            })
        };
        for (param, atom) in &looped.params {
            self.expect(
                atom,
                &instance(&param.ty),
                &format!("the initial value of `{}`", param.var),
            )?;
        }
        let state = ResultType {
            context: looped.context.iter().map(|(var, _)| var.clone()).collect(),
            types: looped.params.iter().map(|(param, _)| param.ty.clone()).collect(),
        };
        Ok(self.instance(&state))
    }

    fn call(&mut self, signature: &Signature, context: &[Atom], args: &[Atom]) -> Typed<ResultType> {
        same_count(signature.context.len(), context.len(), Rule::Context, "sizes")?;
        same_count(signature.params.len(), args.len(), Rule::Arity, "arguments")?;
        let mut sizes = Vec::with_capacity(context.len());
        for (var, atom) in signature.context.iter().zip(context) {
            sizes.push((var.clone(), self.size(atom)?));
        }
        for (param, arg) in signature.params.iter().zip(args) {
            if param.ty == Type::I64 {
                sizes.push((param.var.clone(), self.size(arg)?));
            }
        }
        let given = |var: &Var| {
            sizes
                .iter()
                .find(|(bound, _)| bound == var)
                .map(|(_, size)| size.clone())
        };
        for (param, arg) in signature.params.iter().zip(args) {
            let what = format!("the argument for `{}`", param.var);
            self.expect(arg, &param.ty.substitute(&given), &what)?;
        }
        let result = ResultType {
            context: signature.result.context.clone(),
            types: signature
                .result
                .types
                .iter()
                .map(|ty| ty.substitute(&given))
                .collect(),
        };
        Ok(self.instance(&result))
    }

    fn index(&mut self, array: &Atom, indices: &[Atom]) -> Typed<ResultType> {
        if indices.is_empty() {
            return Err(TypeError::new(Rule::Arity, "an access needs an index"));
        }
        let mut ty = self.atom(array)?;
        for index in indices {
            self.expect_integer(index, "an index")?;
            (_, ty) = self.as_array(ty)?;
        }
        Ok(self.open_all(ResultType::one(ty)))
    }

    /// The type of a slice, its outermost `?`s not yet opened.
    fn slice(&self, ty: &Type, parts: &[SlicePart]) -> Typed<Type> {
        let Some((first, others)) = parts.split_first() else {
            return Ok(ty.clone());
        };
        let (_, element) = self.as_array(ty.clone())?;
        match first {
            SlicePart::At(index) => {
                self.expect_integer(index, "an index")?;
                self.slice(&element, others)
            }
            SlicePart::Slice { begin, count, step } => {
                self.size(begin)?;
                self.size(step)?;
                let size = self.size(count)?;
                if !others.is_empty() && matches!(element, Type::Array(Dim::Jagged, _)) {
                    let message = "several jagged rows have no common slice";
                    return Err(TypeError::new(Rule::OperandType, message));
                }
                Ok(Type::array(size, self.slice(&element, others)?))
            }
        }
    }

    fn update(&self, array: &Atom, parts: &[SlicePart], value: &Atom) -> Typed<ResultType> {
        let ty = self.atom(array)?;
        let part = self.slice(&ty, parts)?;
        let found = self.atom(value)?;
        self.expect_openable(&part, &found, "the new value")?;
        Ok(ResultType::one(ty))
    }

    fn coerce(&self, value: &Atom, to: &Type) -> Typed<ResultType> {
        let from = self.atom(value)?;
        if !same_skeleton(&from, to) {
            let message = format!("`{}` cannot become `{}`", self.show(&from), self.show(to));
            return Err(TypeError::new(Rule::OperandType, message));
        }
        Ok(ResultType::one(self.env.normalise(to)))
    }
}

/// Equal but for dimensions.
fn same_skeleton(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_skeleton(a, b))
        }
        (Type::Array(_, a), Type::Array(_, b)) => same_skeleton(a, b),
        _ => a == b,
    }
}

pub(crate) fn same_count(expected: usize, found: usize, rule: Rule, what: &str) -> Typed<()> {
    if expected == found {
        Ok(())
    } else {
        Err(TypeError::new(
            rule,
            format!("expected {expected} {what}, found {found}"),
        ))
    }
}

/// All sizes of a context are used up.
pub(crate) fn no_more(mut context: std::slice::Iter<'_, Var>) -> Typed<()> {
    match context.next() {
        None => Ok(()),
        Some(var) => Err(TypeError::new(
            Rule::Context,
            format!("`{var}` is the size of nothing"),
        )),
    }
}
