//! What is left of views in Imp: nothing but index arithmetic (Lin, Figs. 5.5 and 5.7).
//!
//! | rule | |
//! | --- | --- |
//! | VIEW-01 | finding a cell through views, to read it or to write it, takes scalars and nothing else: no loop, no memory, no copy, no call |
//! | VIEW-02 | what is run is a command of Fig. 4b or a combinator with an implementation of its own: no view and no functional primitive is |
//!
//! The generator asks while it works: VIEW-01 behind every expression and acceptor that it has followed to memory, VIEW-02 at every command. So a loop
//! or an allocation of Imp always stems from a command of Dpia. A broken rule is a bug of the compiler, and reported as one.

use super::Generator;
use crate::error::Lowering;
use almach_imp::Stmt;

impl Generator<'_> {
    /// Follows an expression or an acceptor to memory.
    pub(crate) fn through_views<T>(&mut self, inside: impl FnOnce(&mut Self) -> Lowering<T>) -> Lowering<T> {
        let before = self.stmts.len();
        let found = inside(self)?;
        match self
            .stmts
            .get(before..)
            .unwrap_or(&[])
            .iter()
            .find_map(more_than_scalars)
        {
            Some(what) => self.bug(format!("VIEW-01: {what} is left of a view")),
            None => Ok(found),
        }
    }
}

/// What a statement has that is more than scalars.
fn more_than_scalars(stmt: &Stmt) -> Option<&'static str> {
    match stmt {
        Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::At(_) => None,
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).find_map(more_than_scalars),
        Stmt::For { .. } | Stmt::While { .. } => Some("a loop"),
        Stmt::Buffer { .. } | Stmt::Alloc { .. } | Stmt::Reserve { .. } => Some("memory"),
        Stmt::Free(_) | Stmt::Shrink { .. } | Stmt::Borrow { .. } | Stmt::Swap(..) => Some("memory"),
        Stmt::Store { .. } | Stmt::Copy { .. } | Stmt::Atomic { .. } => Some("a copy"),
        Stmt::Call { .. } | Stmt::Foreign { .. } | Stmt::Trace { .. } => Some("a call"),
        Stmt::Check { .. } => Some("a check"),
        Stmt::Await { .. } | Stmt::Barrier | Stmt::Kernel { .. } | Stmt::Transfer(_) => Some("a kernel"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Procs;
    use super::*;
    use almach_base::{Name, Span};
    use almach_dpia::{Phrase, Prim, Program};
    use almach_imp::{Expr, Index, LoopMode, Width};
    use almach_value::ScalarType;

    /// What is said where following a view makes such a statement.
    fn broken(stmt: Stmt) -> Option<String> {
        let program = Program::default();
        let procs = Procs::of(&program);
        let mut generator = Generator::new(&program, &procs);
        let result = generator.through_views(|this| {
            this.emit(stmt);
            Ok(())
        });
        result.err().map(|problem| format!("{problem:?}"))
    }

    fn a_loop(body: Vec<Stmt>) -> Stmt {
        Stmt::For {
            index: Name::from("i"),
            width: Width::W64,
            count: Index::constant(8),
            mode: LoopMode::Seq,
            body,
        }
    }

    #[test]
    fn a_loop_memory_or_a_copy_that_is_left_of_a_view_is_a_bug() {
        let cells = || Name::from("cells");
        let store = Stmt::Store {
            buffer: cells(),
            index: Index::zero(),
            value: Expr::int(0),
        };
        let alloc = Stmt::Alloc {
            buffer: cells(),
            size: Index::one(),
            span: Span::NONE,
        };
        let hidden = Stmt::If {
            condition: Expr::int(1),
            then: Vec::new(),
            otherwise: vec![a_loop(Vec::new())],
        };
        for (stmt, what) in [
            (a_loop(Vec::new()), "a loop"),
            (hidden, "a loop"),
            (alloc, "memory"),
            (store, "a copy"),
        ] {
            let said = broken(stmt).unwrap();
            assert!(said.contains("VIEW-01") && said.contains(what), "{said}");
        }
    }

    #[test]
    fn scalars_are_what_a_view_becomes() {
        let scalar = Stmt::Let {
            name: Name::from("at"),
            ty: ScalarType::I64,
            value: Expr::int(3),
        };
        assert_eq!(broken(scalar), None);
    }

    #[test]
    fn a_view_that_is_run_is_a_bug() {
        let program = Program::default();
        let procs = Procs::of(&program);
        let mut generator = Generator::new(&program, &procs);
        let view = Phrase::prim(Prim::Reverse, vec![], vec![]);
        let said = format!("{:?}", generator.command(&view).unwrap_err());
        assert!(said.contains("VIEW-02") && said.contains("reverse"), "{said}");
    }
}
