//! What is known where an expression stands: types of variables, what `i64` variables are equal to, signatures.

use super::{TypeError, Typed};
use crate::check::Rule;
use crate::ir::{
    Atom, ConstructorDef, DataDef, DataId, Dim, Exp, ForeignDef, ForeignId, FunId, Function, Op, Param,
    Program, Recursive, ResultType, Size, Type, Var,
};
use crate::types::{provably_not_negative, substitute_size};
use almach_base::Name;
use almach_prim::Prim;
use almach_value::{BinOp, Scalar, UnOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where new variables come from.
#[derive(Clone, Debug)]
pub struct Supply {
    next: u32,
}

impl Supply {
    /// Starts at `Program::next_var`.
    pub fn starting_at(next: u32) -> Supply {
        Supply { next }
    }

    /// What `Program::next_var` is to become.
    pub fn next_var(&self) -> u32 {
        self.next
    }

    pub fn fresh(&mut self, name: impl Into<Name>) -> Var {
        let id = self.next;
        self.next += 1;
        // Names that the type checker makes start with a blank, so that none is the user's. Here numbers tell variables apart.
        let name = name.into();
        let name = match name.strip_prefix(' ') {
            Some(rest) => Name::from(rest),
            None => name,
        };
        Var { id, name }
    }

    /// A new variable with the name of another.
    pub fn like(&mut self, var: &Var) -> Var {
        self.fresh(var.name.clone())
    }
}

/// A function as its callers see it.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub name: Name,
    pub context: Vec<Var>,
    pub params: Vec<Param>,
    pub result: ResultType,
}

impl Signature {
    pub fn of(function: &Function) -> Signature {
        Signature {
            name: function.name.clone(),
            context: function.context.clone(),
            params: function.params.clone(),
            result: function.result.clone(),
        }
    }
}

/// Everything of a program but the bodies.
#[derive(Clone, Default, Debug)]
pub struct Signatures {
    pub data: Vec<DataDef>,
    pub foreign: Vec<ForeignDef>,
    pub functions: Vec<Signature>,
}

impl Signatures {
    pub fn of(program: &Program) -> Signatures {
        Signatures {
            data: program.data.clone(),
            foreign: program.foreign.clone(),
            functions: program.functions.iter().map(Signature::of).collect(),
        }
    }

    pub fn data(&self, id: DataId) -> Typed<&DataDef> {
        self.data
            .get(id.0 as usize)
            .ok_or_else(|| unknown("data type", id.0))
    }

    pub fn constructor(&self, id: DataId, constructor: u32) -> Typed<&ConstructorDef> {
        let def = self.data(id)?;
        def.constructors.get(constructor as usize).ok_or_else(|| {
            let message = format!("`{}` has no constructor {constructor}", def.name);
            TypeError::new(Rule::KnownId, message)
        })
    }

    /// What a constructor's fields are in a node value: positions where the type mentions itself.
    pub fn node_fields(&self, id: DataId, constructor: u32) -> Typed<Vec<Type>> {
        self.expect_recursive(id)?;
        let def = self.data(id)?;
        let fields = self.constructor(id, constructor)?.fields.iter();
        Ok(fields.map(|field| def.with_positions(id, field)).collect())
    }

    pub fn expect_recursive(&self, id: DataId) -> Typed<()> {
        let def = self.data(id)?;
        match def.recursive {
            Recursive::Yes => Ok(()),
            Recursive::No => Err(TypeError::new(
                Rule::Node,
                format!("`{}` is not recursive and has no nodes", def.name),
            )),
        }
    }

    pub fn function(&self, id: FunId) -> Typed<&Signature> {
        self.functions
            .get(id.0 as usize)
            .ok_or_else(|| unknown("function", id.0))
    }

    pub fn foreign(&self, id: ForeignId) -> Typed<Signature> {
        let def = self
            .foreign
            .get(id.0 as usize)
            .ok_or_else(|| unknown("foreign function", id.0))?;
        Ok(Signature {
            name: def.name.clone(),
            context: def.context.clone(),
            params: def.params.clone(),
            result: def.result.clone(),
        })
    }
}

fn unknown(what: &str, id: u32) -> TypeError {
    TypeError::new(Rule::KnownId, format!("there is no {what} {id}"))
}

/// Types and equalities of the variables in scope. Names are unique, so leaving a scope need not forget anything;
/// [`Env::rewind`] does, for who wants to know what is in scope.
#[derive(Clone, Default, Debug)]
pub struct Env {
    /// In normal form: defined sizes are replaced by what they are equal to.
    types: FxHashMap<Var, Type>,
    /// In normal form as well.
    definitions: FxHashMap<Var, Size>,
    /// Variables that are sizes of something, so not negative.
    not_negative: FxHashSet<Var>,
    trail: Vec<Trail>,
}

#[derive(Clone, Debug)]
enum Trail {
    Type(Var),
    NotNegative(Var),
}

/// A moment of an [`Env`] to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Env {
    pub fn new() -> Env {
        Env::default()
    }

    /// A value of this type.
    pub fn bind(&mut self, var: &Var, ty: &Type) {
        let ty = self.normalise(ty);
        ty.for_each_dim(&mut |dim| {
            if let Dim::Size(size) = dim
                && let Some(var) = size.as_var()
            {
                note_not_negative(&mut self.not_negative, &mut self.trail, var);
            }
        });
        self.types.insert(var.clone(), ty);
        self.trail.push(Trail::Type(var.clone()));
    }

    /// A variable of a context: an `i64`, the size of something. That is so wherever it is known at all, so it is not
    /// a fact to forget.
    pub fn bind_size(&mut self, var: &Var) {
        self.bind(var, &Type::I64);
        self.not_negative.insert(var.clone());
    }

    /// What follows from the statement that binds `var` to `exp`: the equalities that sizes may use.
    pub fn define(&mut self, var: &Var, exp: &Exp) {
        if self.types.get(var) == Some(&Type::I64)
            && let Some(size) = self.definition(exp)
        {
            self.definitions.insert(var.clone(), size);
        }
    }

    fn definition(&self, exp: &Exp) -> Option<Size> {
        let size = |atom| self.size(atom).ok();
        match exp {
            Exp::Atom(atom) => size(atom),
            Exp::Unary(UnOp::Neg, a) => Some(-size(a)?),
            Exp::Binary(BinOp::Add, a, b) => Some(size(a)? + size(b)?),
            Exp::Binary(BinOp::Sub, a, b) => Some(size(a)? - size(b)?),
            Exp::Binary(BinOp::Mul, a, b) => Some(size(a)? * size(b)?),
            // Division truncates and sizes round down: the same where nothing is negative. By 0 it fails, and nothing
            // follows; a number that is none is no size, though.
            Exp::Binary(BinOp::Div, a, b) => {
                let (a, b) = (size(a)?, size(b)?);
                let is_none = b.is_zero() && a.as_constant().is_some();
                (self.is_not_negative(&a) && self.is_not_negative(&b) && !is_none).then(|| a.div(&b))
            }
            Exp::Op(Op {
                prim: Prim::Length,
                args,
                ..
            }) => match (args.as_slice(), self.atom_type(args.first()?).ok()?) {
                ([_], Type::Array(Dim::Size(size), _)) => Some(size),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn var_type(&self, var: &Var) -> Option<&Type> {
        self.types.get(var)
    }

    /// In normal form.
    pub fn atom_type(&self, atom: &Atom) -> Typed<Type> {
        match atom {
            Atom::Const(scalar) => Ok(Type::Scalar(scalar.ty())),
            Atom::Var(var) => self
                .types
                .get(var)
                .cloned()
                .ok_or_else(|| TypeError::new(Rule::InScope, format!("`{var}` is not in scope"))),
        }
    }

    /// An `i64` atom as a size, in normal form.
    pub fn size(&self, atom: &Atom) -> Typed<Size> {
        match atom {
            Atom::Const(Scalar::I64(value)) => Ok(Size::constant(*value)),
            Atom::Var(var) => Ok(self.var_size(var).unwrap_or_else(|| Size::var(var.clone()))),
            Atom::Const(other) => Err(TypeError::new(
                Rule::Context,
                format!("a size is an i64, not `{}`", other.ty()),
            )),
        }
    }

    /// What a variable is defined to be equal to.
    fn var_size(&self, var: &Var) -> Option<Size> {
        self.definitions.get(var).cloned()
    }

    pub fn normalise(&self, ty: &Type) -> Type {
        ty.substitute(&|var| self.var_size(var))
    }

    pub fn normalise_size(&self, size: &Size) -> Size {
        substitute_size(size, &|var| self.var_size(var))
    }

    pub fn same_type(&self, a: &Type, b: &Type) -> bool {
        a == b || self.normalise(a) == self.normalise(b)
    }

    pub fn same_size(&self, a: &Size, b: &Size) -> bool {
        a == b || self.normalise_size(a) == self.normalise_size(b)
    }

    /// Whether a size in normal form is provably not negative.
    pub fn is_not_negative(&self, size: &Size) -> bool {
        provably_not_negative(size, &|var| self.not_negative.contains(var))
    }

    pub fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    /// Forgets what was learnt since, all of it.
    pub fn rewind(&mut self, mark: Mark) {
        for learnt in self.trail.drain(mark.0.min(self.trail.len())..) {
            match learnt {
                Trail::Type(var) => {
                    self.types.remove(&var);
                    self.definitions.remove(&var);
                }
                Trail::NotNegative(var) => {
                    self.not_negative.remove(&var);
                }
            }
        }
    }

    /// Forgets which sizes a branch showed not to be negative, but keeps types: names are unique.
    pub fn rewind_facts(&mut self, mark: Mark) {
        for learnt in self.trail.drain(mark.0.min(self.trail.len())..) {
            if let Trail::NotNegative(var) = learnt {
                self.not_negative.remove(&var);
            }
        }
    }
}

fn note_not_negative(known: &mut FxHashSet<Var>, trail: &mut Vec<Trail>, var: &Var) {
    if known.insert(var.clone()) {
        trail.push(Trail::NotNegative(var.clone()));
    }
}
