//! What types variables are declared with.

use almach_core::visit::Walk;
use almach_core::{Exp, Param, Stmt, Type, Var};
use std::collections::HashMap;

/// The declared type of every variable.
#[derive(Default)]
pub(crate) struct Types(pub(crate) HashMap<Var, Type>);

impl Walk for Types {
    fn stmt(&mut self, stmt: &Stmt) {
        for var in &stmt.pattern.context {
            self.0.insert(var.clone(), Type::I64);
        }
        for value in &stmt.pattern.values {
            self.0.insert(value.var.clone(), value.ty.clone());
        }
        match &stmt.exp {
            Exp::Case { arms, .. } => {
                for arm in arms {
                    self.params(&arm.context, &arm.fields);
                }
            }
            Exp::Loop(looped) => {
                for (var, _) in &looped.context {
                    self.0.insert(var.clone(), Type::I64);
                }
                for (param, _) in &looped.params {
                    self.0.insert(param.var.clone(), param.ty.clone());
                }
                if let almach_core::LoopForm::For { index, .. } = &looped.form {
                    self.0.insert(index.var.clone(), index.ty.clone());
                }
            }
            Exp::Op(op) => {
                for function in &op.functions {
                    self.params(&function.context, &function.params);
                }
            }
            _ => {}
        }
        almach_core::visit::walk_stmt(self, stmt);
    }
}

impl Types {
    pub(crate) fn params(&mut self, context: &[Var], params: &[Param]) {
        for var in context {
            self.0.insert(var.clone(), Type::I64);
        }
        for param in params {
            self.0.insert(param.var.clone(), param.ty.clone());
        }
    }
}
