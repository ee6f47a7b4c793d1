//! Binding and scope: names, well-formed types, contexts.

use super::Rule;
use crate::build::enter_params;
use crate::ir::{Body, Dim, Exp, Loop, Param, Pattern, ResultType, Size, Type, Var};
use crate::typing::{Env, Signatures, TypeError, Typed, same_count};
use almach_value::ScalarType;

/// Where a type stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placement {
    /// A value's type: its outermost dimensions have sizes.
    Value,
    /// Outermost dimensions may be `?`: fields, elements of a literal, foreign results.
    OpenOutside,
}

pub(super) struct Scope {
    pub(super) env: Env,
    /// By number of the variable.
    bound: Vec<bool>,
}

impl Scope {
    pub(super) fn new(next_var: u32) -> Scope {
        Scope {
            env: Env::new(),
            bound: vec![false; next_var as usize],
        }
    }

    fn binder(&mut self, var: &Var) -> Typed<()> {
        match self.bound.get_mut(var.id as usize) {
            None => {
                let message = format!("`{var}` is not below `next_var` ({})", self.bound.len());
                Err(TypeError::new(Rule::NextVar, message))
            }
            Some(bound) if *bound => Err(TypeError::new(Rule::BoundOnce, format!("`{var}` is bound twice"))),
            Some(bound) => {
                *bound = true;
                Ok(())
            }
        }
    }

    fn sizes<'v>(&mut self, context: impl IntoIterator<Item = &'v Var>) -> Typed<()> {
        for var in context {
            self.binder(var)?;
            self.env.bind_size(var);
        }
        Ok(())
    }

    /// A context and parameters, whose types may mention the context and parameters of type `i64`.
    pub(super) fn params(&mut self, context: &[Var], params: &[Param], signatures: &Signatures) -> Typed<()> {
        self.sizes(context)?;
        for param in params {
            self.binder(&param.var)?;
        }
        enter_params(&mut self.env, &[], params);
        for param in params {
            self.ty(&param.ty, Placement::Value, signatures)?;
        }
        Ok(())
    }

    /// A declared result. Its context is in scope in its types only.
    pub(super) fn result(
        &mut self,
        result: &ResultType,
        placement: Placement,
        signatures: &Signatures,
    ) -> Typed<()> {
        let mark = self.env.mark();
        self.sizes(&result.context)?;
        for ty in &result.types {
            self.ty(ty, placement, signatures)?;
        }
        self.env.rewind(mark);
        Ok(())
    }

    /// A loop's state.
    pub(super) fn state(&mut self, looped: &Loop, signatures: &Signatures) -> Typed<()> {
        self.sizes(looped.context.iter().map(|(var, _)| var))?;
        for (param, _) in &looped.params {
            self.ty(&param.ty, Placement::Value, signatures)?;
        }
        for (param, _) in &looped.params {
            self.binder(&param.var)?;
            self.env.bind(&param.var, &param.ty);
        }
        Ok(())
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern, signatures: &Signatures) -> Typed<()> {
        self.sizes(&pattern.context)?;
        for value in &pattern.values {
            self.ty(&value.ty, Placement::Value, signatures)?;
        }
        for value in &pattern.values {
            self.binder(&value.var)?;
        }
        enter_params(&mut self.env, &[], &pattern.values);
        Ok(())
    }

    pub(super) fn define(&mut self, pattern: &Pattern, exp: &Exp) {
        if let ([], [value]) = (pattern.context.as_slice(), pattern.values.as_slice()) {
            self.env.define(&value.var, exp);
        }
    }

    /// A type is well-formed where it stands.
    pub(super) fn ty(&self, ty: &Type, placement: Placement, signatures: &Signatures) -> Typed<()> {
        match ty {
            Type::Scalar(_) => Ok(()),
            Type::Vector(width, element) => vector(*width, *element),
            Type::Tuple(parts) => parts
                .iter()
                .try_for_each(|part| self.ty(part, placement, signatures)),
            Type::Array(dim, element) => {
                match dim {
                    Dim::Size(size) => self.size(size)?,
                    Dim::Jagged if placement == Placement::OpenOutside => {}
                    Dim::Jagged => {
                        let message = format!("`{}` has no size", ty.display(&signatures.data));
                        return Err(TypeError::new(Rule::JaggedPlacement, message));
                    }
                }
                self.ty(element, Placement::OpenOutside, signatures)
            }
            Type::Data(id) => signatures.data(*id).map(|_| ()),
            Type::Node(id) => signatures.expect_recursive(*id),
        }
    }

    fn size(&self, size: &Size) -> Typed<()> {
        for var in size.occurrences() {
            match self.env.var_type(var) {
                Some(&Type::I64) => {}
                Some(_) => {
                    let message = format!("`{var}` in a size is not an i64");
                    return Err(TypeError::new(Rule::SizeInScope, message));
                }
                None => {
                    let message = format!("`{var}` in a size is not in scope");
                    return Err(TypeError::new(Rule::SizeInScope, message));
                }
            }
        }
        Ok(())
    }

    /// A body gives what is declared for it.
    pub(super) fn body_result(
        &self,
        body: &Body,
        expected: &ResultType,
        signatures: &Signatures,
    ) -> Typed<()> {
        same_count(expected.context.len(), body.context.len(), Rule::Context, "sizes")?;
        same_count(
            expected.types.len(),
            body.values.len(),
            Rule::BodyResult,
            "values",
        )?;
        let mut sizes = Vec::with_capacity(body.context.len());
        for (var, atom) in expected.context.iter().zip(&body.context) {
            if self.env.atom_type(atom)? != Type::I64 {
                let message = format!("the size for `{var}` is not an i64");
                return Err(TypeError::new(Rule::Context, message));
            }
            sizes.push((var, self.env.size(atom)?));
        }
        let given = |var: &Var| {
            let found = sizes.iter().find(|(bound, _)| *bound == var)?;
            Some(found.1.clone())
        };
        for (ty, atom) in expected.types.iter().zip(&body.values) {
            let (declared, found) = (
                self.env.normalise(ty).substitute(&given),
                self.env.atom_type(atom)?,
            );
            if declared != found {
                let show = |ty: &Type| ty.display(&signatures.data).to_string();
                let message = format!(
                    "the body must give `{}`, but gives `{}`",
                    show(&declared),
                    show(&found)
                );
                return Err(TypeError::new(Rule::BodyResult, message));
            }
        }
        Ok(())
    }
}

pub(super) fn vector(width: u32, _element: ScalarType) -> Typed<()> {
    if matches!(width, 2 | 3 | 4 | 8 | 16) {
        return Ok(());
    }
    let message = format!("there are no vectors of {width} lanes");
    Err(TypeError::new(Rule::VectorWidth, message))
}
