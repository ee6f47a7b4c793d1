//! The work-items of a group, from barrier to barrier.

use super::{Frame, Machine, Run, RunError};
use crate::ir::{LoopMode, Stmt};
use almach_base::Name;
use std::rc::Rc;

impl<'a> Machine<'a> {
    /// A loop over the work-items of a group.
    pub(super) fn items(&mut self, index: &Name, count: i64, body: &'a [Stmt], frame: &mut Frame) -> Run<()> {
        let shared = Rc::new(std::mem::take(frame));
        let mut items: Vec<Frame> = (0..count).map(|_| Frame::of_item(&shared)).collect();
        (0..).zip(&mut items).for_each(|(at, item)| item.count(index, at));
        let result = self.together(body, &mut items);
        self.traces.leave();
        drop(items);
        *frame = Rc::into_inner(shared).unwrap_or_default();
        result
    }

    /// Runs statements for all work-items: what stands between two barriers item by item, and what has a barrier in it for
    /// all of them at once.
    fn together(&mut self, stmts: &'a [Stmt], items: &mut [Frame]) -> Run<()> {
        let mut rest = stmts;
        while let Some(first) = rest.first() {
            let alone = rest.iter().take_while(|stmt| !has_barrier(stmt)).count();
            let (part, after) = rest.split_at(alone.max(1));
            match alone {
                0 => self.meet(first, items)?,
                _ => self.apart(part, items)?,
            }
            rest = after;
        }
        Ok(())
    }

    fn apart(&mut self, stmts: &'a [Stmt], items: &mut [Frame]) -> Run<()> {
        let mut failed = Ok(());
        for (at, item) in items.iter_mut().enumerate().rev() {
            self.traces.iteration(i64::try_from(at).unwrap_or(i64::MAX));
            match self.run(stmts, item) {
                // Of several failures the first in order counts; it comes last here.
                Err(error @ RunError::Failed { .. }) => failed = Err(error),
                other => other?,
            }
        }
        failed
    }

    /// A statement with a barrier in it, which all work-items meet.
    fn meet(&mut self, stmt: &'a Stmt, items: &mut [Frame]) -> Run<()> {
        match stmt {
            Stmt::Barrier => {
                self.traces.barrier();
                Ok(())
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => match self.agreed(items, |this, item| this.truth(condition, item))? {
                Some(true) => self.together(then, items),
                Some(false) => self.together(otherwise, items),
                None => Ok(()),
            },
            Stmt::While { condition, body } => {
                while self.agreed(items, |this, item| this.truth(condition, item))? == Some(true) {
                    self.together(body, items)?;
                }
                Ok(())
            }
            Stmt::For {
                index,
                count,
                mode: LoopMode::Seq,
                body,
                ..
            } => {
                let count = self.agreed(items, |this, item| this.index(count, item))?;
                for at in 0..count.unwrap_or(0) {
                    items.iter_mut().for_each(|item| item.count(index, at));
                    self.together(body, items)?;
                }
                Ok(())
            }
            _ => Err(RunError::Broken("a barrier that not all work-items meet".into())),
        }
    }

    /// What all work-items find; none where there are none.
    fn agreed<T: PartialEq>(
        &mut self,
        items: &[Frame],
        mut find: impl FnMut(&mut Self, &Frame) -> Run<T>,
    ) -> Run<Option<T>> {
        let mut found = None;
        for (at, item) in (0..).zip(items) {
            self.traces.iteration(at);
            let own = find(self, item)?;
            if found.as_ref().is_some_and(|known| *known != own) {
                return Err(RunError::Broken("work-items part before a barrier".into()));
            }
            found = Some(own);
        }
        Ok(found)
    }
}

fn has_barrier(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Barrier => true,
        Stmt::For { body, .. } | Stmt::While { body, .. } => body.iter().any(has_barrier),
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).any(has_barrier),
        _ => false,
    }
}
