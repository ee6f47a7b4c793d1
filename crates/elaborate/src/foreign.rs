//! Foreign functions.

use crate::conform::Place;
use crate::errors::{bug, ill_typed};
use crate::signature::solve_sizes;
use crate::statics::{Env, Function, Static};
use crate::ty::SizedTy;
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Atom, Dim, Exp, ForeignDef, ForeignId, Param, ResultType, Size, Var};
use almach_types::tree::{self, Instance};
use std::collections::HashMap;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// A foreign function as a value; a foreign constant is asked for at once.
    pub(crate) fn foreign_at(
        &mut self,
        id: tree::ForeignId,
        instance: &Instance,
        ty: &tree::Type,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let (function, arity) = self.foreign_function(id, span)?;
        let sizes: Res<Rc<[Option<Size>]>> = instance
            .sizes
            .iter()
            .map(|size| self.eval_size(size, env, span))
            .collect();
        let sizes = sizes?;
        let ty = self.close(ty, env, span)?;
        if arity == 0 {
            return self.call_foreign(function, &sizes, &ty, Vec::new(), span);
        }
        Ok(Static::function(Function::Foreign {
            function,
            arity,
            sizes,
            ty,
        }))
    }

    pub(crate) fn foreign_function(&mut self, id: tree::ForeignId, span: Span) -> Res<(ForeignId, usize)> {
        if let Some(known) = self.foreign.get(&id) {
            let def = self.builder.signatures.foreign(*known);
            let def = def.map_err(|error| ill_typed(span, &error))?;
            return Ok((*known, def.params.len()));
        }
        let program = self.program;
        let def = program.foreign.get(id.0 as usize);
        let def = def.ok_or_else(|| bug(span, "an unknown foreign function"))?;
        let mut env = Env::new();
        let mut context = Vec::new();
        for var in &def.sizes {
            let own = self.builder.size_var(var.name.clone());
            env.bind(var, Static::Size(Size::var(own.clone())));
            context.push(own);
        }
        let mut ty = self.close(&def.ty, &env, def.span)?;
        let mut params: Vec<Param> = Vec::new();
        while let Some((param, result)) = ty.function() {
            let mut own = Vec::new();
            let missing = &mut |this: &mut Self| {
                let var = this.builder.size_var("n");
                own.push(var.clone());
                Dim::Size(Size::var(var))
            };
            let core_type = self.core_type(&param, Place::Outermost, missing, def.span)?;
            context.extend(own);
            params.push(self.builder.param("x", core_type));
            ty = result;
        }
        // A size it chooses is `?`.
        let result = self.core_type(&ty, Place::Outermost, &mut |_: &mut Self| Dim::Jagged, def.span)?;
        let arity = params.len();
        let core_id = ForeignId(self.builder.signatures.foreign.len() as u32);
        self.builder.signatures.foreign.push(ForeignDef {
            name: def.name.clone(),
            context,
            params,
            result: ResultType::one(result),
            span: def.span,
        });
        self.foreign.insert(id, core_id);
        Ok((core_id, arity))
    }

    pub(crate) fn call_foreign(
        &mut self,
        function: ForeignId,
        given: &[Option<Size>],
        ty: &SizedTy,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        let signature = self.builder.signatures.foreign(function);
        let signature = signature.map_err(|error| ill_typed(span, &error))?;
        let atoms: Res<Vec<Atom>> = args.iter().map(|arg| self.atom(arg, span)).collect();
        let mut atoms = atoms?;
        let mut sizes: HashMap<Var, Size> = HashMap::new();
        let wanted = |var: &Var| signature.context.contains(var);
        for (param, atom) in signature.params.iter().zip(&atoms) {
            let found = self.type_of(atom, span)?;
            solve_sizes(&param.ty, &found, &wanted, &mut sizes);
        }
        let mut context = Vec::with_capacity(signature.context.len());
        for (at, var) in signature.context.iter().enumerate() {
            let size = sizes
                .get(var)
                .cloned()
                .or_else(|| given.get(at).cloned().flatten());
            let size = size.ok_or_else(|| bug(span, format!("nothing tells the size `{var}` of a call")))?;
            let atom = self.size_atom(&size, span)?;
            sizes.insert(var.clone(), self.size_of(&Static::Dynamic(atom.clone()), span)?);
            context.push(atom);
        }
        for (param, atom) in signature.params.iter().zip(&mut atoms) {
            let to = param.ty.substitute(&|var| sizes.get(var).cloned());
            *atom = self.coerce(atom.clone(), &to, span)?;
        }
        let exp = Exp::Foreign {
            function,
            context,
            args: atoms,
        };
        let value = self.emit_value(exp, "r", span)?;
        self.conform(value, ty, crate::conform::Sizes::WhereMissing, span)
    }
}
