//! Lambda lifting: closures, and what is left of a `case`, as Core functions of what they captured.

use crate::make::Callee;
use crate::specialise::{Call, Key, Made, SMALL, Source, State};
use crate::statics::{Closure, Env, Static};
use crate::template::{Abstraction, Code, EnvTemplate, Instantiation, Leaf, Template};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core::Body;
use almach_types::tree::Expr;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// A closure with all its arguments: expanded where it is small or gives a function, else lifted to a function.
    pub(crate) fn call_closure(
        &mut self,
        closure: &Closure<'a>,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        if self.weight(closure.body) <= SMALL {
            return self.inline_closure(closure, args);
        }
        let result = self.close(&closure.body.ty, &closure.env, span)?;
        if !result.ty.is_first_order() {
            return self.inline_closure(closure, args);
        }
        let mut parts = Abstraction::default();
        let captured = self.closure_template(closure, &mut parts);
        let templates = args
            .iter()
            .map(|arg| Some(self.template(arg, &mut parts)))
            .collect();
        let source = Source::Closure(Code(closure.body));
        let call = self.prepare_lifted(source, captured, templates, parts.leaves, span)?;
        match self.specialised.get(&call.key) {
            Some(State::Made(made)) => {
                let made = made.clone();
                self.emit_call(&made, &call, &result.ty, span)
            }
            Some(State::UnderWay) => self.inline_closure(closure, args),
            None => {
                let params = closure.params;
                let body = closure.body;
                let made =
                    self.make_lifted(&call, "lambda".into(), &result.ty, span, |this, env, args| {
                        let closure = Closure { params, body, env };
                        this.inline_closure(&closure, args)
                    })?;
                self.emit_call(&made, &call, &result.ty, span)
            }
        }
    }

    /// What is left of a `case` on `value`, as a function of what it needs, so that several places can go on there.
    pub(crate) fn call_rest(
        &mut self,
        case: &'a Expr,
        from: usize,
        value: &Static<'a>,
        env: &Env<'a>,
        inside: impl FnOnce(&mut Self, Env<'a>, Static<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let span = case.span;
        let result = self.close(&case.ty, env, span)?;
        if !result.ty.is_first_order() {
            return inside(self, env.clone(), value.clone());
        }
        let mentioned = self.mentioned_in_expr(case);
        let mut parts = Abstraction::default();
        let captured = self.env_template(env, &mentioned, &mut parts);
        let templates = vec![Some(self.template(value, &mut parts))];
        let source = Source::Rest(Code(case), from);
        let call = self.prepare_lifted(source, captured, templates, parts.leaves, span)?;
        let made = match self.specialised.get(&call.key) {
            Some(State::Made(made)) => made.clone(),
            Some(State::UnderWay) => return inside(self, env.clone(), value.clone()),
            None => self.make_lifted(&call, "rest".into(), &result.ty, span, |this, env, args| {
                let value = args.into_iter().next().unwrap_or_else(Static::unit);
                inside(this, env, value)
            })?,
        };
        self.emit_call(&made, &call, &result.ty, span)
    }

    fn prepare_lifted(
        &mut self,
        source: Source<'a>,
        captured: EnvTemplate<'a>,
        args: Vec<Option<Template<'a>>>,
        leaves: Vec<Leaf>,
        span: Span,
    ) -> Res<Call<'a>> {
        let canonical = self.canonical(&[], &[], &leaves, span)?;
        Ok(Call {
            key: Key {
                source,
                types: Vec::new(),
                sizes: Vec::new(),
                captured,
                args,
                leaf_types: canonical.types.clone(),
            },
            known: Vec::new(),
            flat: Vec::new(),
            leaves,
            canonical,
        })
    }

    fn make_lifted(
        &mut self,
        call: &Call<'a>,
        name: Name,
        result: &Ty,
        span: Span,
        inside: impl FnOnce(&mut Self, Env<'a>, Vec<Static<'a>>) -> Res<Static<'a>>,
    ) -> Res<Rc<Made>> {
        self.begin(call, name.clone(), span)?;
        let mut callee = Callee::new();
        self.captured_numbers(call, &mut callee);
        self.captured_values(call, &mut callee);
        let mut instantiation = Instantiation::new(&callee.leaves);
        let env = instantiation.env(&call.key.captured);
        let args = call.key.args.iter().flatten();
        let args = args.map(|template| instantiation.value(template)).collect();
        let sized = SizedTy::unsized_of(result.clone());
        self.builder.enter();
        let closed =
            inside(self, env, args).and_then(|value| self.close_body(&value, &sized, None, &callee, span));
        let body = self.builder.leave(Vec::new(), Vec::new());
        let made = closed.map(|(result, context, values)| {
            let body = Body {
                stmts: body.stmts,
                context,
                values,
            };
            let id = self.declare(name.clone(), &callee, result.clone());
            self.define(id, name, &callee, result, body, span);
            Rc::new(Made {
                id,
                context: callee.origins,
            })
        });
        self.end(call, made)
    }
}
