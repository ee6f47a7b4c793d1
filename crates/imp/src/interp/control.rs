//! Blocks, loops and calls, on a stack of what is left to do.

use super::{Frame, Machine, Run, RunError, Slot, View};
use crate::ir::{Argument, Expr, LoopMode, Proc, Site, Stmt};
use almach_base::{Name, Span};
use almach_value::{Failure, Scalar};

/// What is left to do of a statement that has begun.
pub(super) enum Task<'p> {
    Block(std::slice::Iter<'p, Stmt>),
    /// A loop in order: the next iteration.
    Count {
        index: &'p Name,
        next: i64,
        count: i64,
        body: &'p [Stmt],
    },
    /// A parallel loop, backwards: how many iterations are left, and how one failed.
    Parallel {
        index: &'p Name,
        left: i64,
        failed: Option<RunError>,
        body: &'p [Stmt],
    },
    /// A chain, in order: the next iteration.
    Chain {
        index: &'p Name,
        next: i64,
        count: i64,
        body: &'p [Stmt],
    },
    While {
        condition: &'p Expr,
        body: &'p [Stmt],
    },
    /// The end of a kernel.
    Kernel,
    /// A call, with the names of its caller.
    Call {
        proc: &'p Proc,
        arguments: &'p [Argument],
        caller: Frame,
    },
}

impl<'p> Task<'p> {
    /// A loop whose iterations run one after another; none where they meet at barriers.
    pub(super) fn counted(index: &'p Name, count: i64, mode: LoopMode, body: &'p [Stmt]) -> Option<Task<'p>> {
        match mode {
            LoopMode::Seq => Some(Task::Count {
                index,
                next: 0,
                count,
                body,
            }),
            LoopMode::Chain => Some(Task::Chain {
                index,
                next: 0,
                count,
                body,
            }),
            LoopMode::Par | LoopMode::Simd => Some(Task::Parallel {
                index,
                left: count,
                failed: None,
                body,
            }),
            LoopMode::Items => None,
        }
    }
}

impl<'a> Machine<'a> {
    /// Runs statements to their end.
    pub(super) fn run(&mut self, stmts: &'a [Stmt], frame: &mut Frame) -> Run<()> {
        let mut tasks = vec![Task::Block(stmts.iter())];
        while let Some(task) = tasks.pop() {
            match self.resume(task, frame, &mut tasks) {
                Ok(()) => {}
                Err(error @ RunError::Failed { .. }) => self.unwind(error, frame, &mut tasks)?,
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// One step of the innermost task.
    fn resume(&mut self, task: Task<'a>, frame: &mut Frame, tasks: &mut Vec<Task<'a>>) -> Run<()> {
        match task {
            Task::Block(mut rest) => {
                while let Some(stmt) = rest.next() {
                    if leaves_tasks(stmt) {
                        tasks.push(Task::Block(rest));
                        return self.stmt(stmt, frame, tasks);
                    }
                    self.stmt(stmt, frame, tasks)?;
                }
                Ok(())
            }
            Task::Count {
                index,
                next,
                count,
                body,
            } => {
                if next < count {
                    frame.count(index, next);
                    tasks.push(Task::Count {
                        index,
                        next: next + 1,
                        count,
                        body,
                    });
                    tasks.push(Task::Block(body.iter()));
                }
                Ok(())
            }
            Task::Parallel {
                index,
                left,
                failed,
                body,
            } => {
                if left <= 0 {
                    self.traces.leave();
                    return failed.map_or(Ok(()), Err);
                }
                let at = left - 1;
                frame.count(index, at);
                self.traces.iteration(at);
                tasks.push(Task::Parallel {
                    index,
                    left: at,
                    failed,
                    body,
                });
                tasks.push(Task::Block(body.iter()));
                Ok(())
            }
            Task::Chain {
                index,
                next,
                count,
                body,
            } => {
                if next >= count {
                    self.traces.leave();
                    return Ok(());
                }
                frame.count(index, next);
                self.traces.iteration(next);
                tasks.push(Task::Chain {
                    index,
                    next: next + 1,
                    count,
                    body,
                });
                tasks.push(Task::Block(body.iter()));
                Ok(())
            }
            Task::While { condition, body } => {
                if self.truth(condition, frame)? {
                    tasks.push(Task::While { condition, body });
                    tasks.push(Task::Block(body.iter()));
                }
                Ok(())
            }
            Task::Kernel => {
                self.in_kernel = false;
                Ok(())
            }
            Task::Call {
                proc,
                arguments,
                caller,
            } => {
                let inner = self.leave_call(caller, frame);
                take_results(proc, arguments, &inner, frame);
                Ok(())
            }
        }
    }

    /// Leaves what a failure ends: everything up to the innermost parallel loop, whose other iterations still run. Of several
    /// failures there the first in order counts; it comes last.
    fn unwind(&mut self, error: RunError, frame: &mut Frame, tasks: &mut Vec<Task<'a>>) -> Run<()> {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Call { caller, .. } => {
                    self.leave_call(caller, frame);
                }
                Task::Parallel {
                    index, left, body, ..
                } => {
                    tasks.push(Task::Parallel {
                        index,
                        left,
                        failed: Some(error),
                        body,
                    });
                    return Ok(());
                }
                // Its iterations come in order: this failure is the first.
                Task::Chain { .. } => self.traces.leave(),
                Task::Kernel => self.in_kernel = false,
                Task::Block(_) | Task::Count { .. } | Task::While { .. } => {}
            }
        }
        Err(error)
    }

    /// Goes back to the caller's names; gives those of the procedure.
    fn leave_call(&mut self, caller: Frame, frame: &mut Frame) -> Frame {
        self.depth -= 1;
        std::mem::replace(frame, caller)
    }

    pub(super) fn call(
        &mut self,
        name: &Name,
        arguments: &'a [Argument],
        span: Span,
        frame: &mut Frame,
        tasks: &mut Vec<Task<'a>>,
    ) -> Run<()> {
        let Some(proc) = self.program.proc(name) else {
            return Err(RunError::Broken(format!("there is no procedure `{name}`")));
        };
        if self.depth >= self.most {
            return Err(self.too_deep(span));
        }
        let mut inner = Frame::default();
        for (param, argument) in proc.params.iter().zip(arguments) {
            let slot = match argument {
                Argument::Value(expr) => Slot::Scalar(Some(self.expr(expr, frame)?)),
                Argument::Out(_) => Slot::Scalar(None),
                Argument::Buffer(buffer, index) => {
                    let offset = self.index(index, frame)?;
                    let view = self.view(buffer, frame)?;
                    Slot::Buffer(Some(View {
                        block: view.block,
                        offset: view.offset + offset,
                    }))
                }
                Argument::Owned(buffer) => {
                    self.free(buffer, frame)?;
                    Slot::Buffer(None)
                }
            };
            inner.set(&param.name, slot);
        }
        self.depth += 1;
        tasks.push(Task::Call {
            proc,
            arguments,
            caller: std::mem::replace(frame, inner),
        });
        tasks.push(Task::Block(proc.body.iter()));
        Ok(())
    }

    fn too_deep(&self, span: Span) -> RunError {
        let failure = Failure::RecursionTooDeep;
        RunError::Failed {
            site: Site {
                code: failure.code(),
                span,
                text: Name::from(failure.text()),
            },
            arguments: vec![Scalar::I64(i64::try_from(self.depth).unwrap_or(i64::MAX))],
        }
    }
}

/// Whether something is left to do of a statement when it has begun, which comes before the statements behind it.
fn leaves_tasks(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::For { .. } | Stmt::Kernel { .. } | Stmt::While { .. } | Stmt::If { .. } | Stmt::Call { .. }
    )
}

/// Hands results over to the caller's names.
fn take_results(proc: &Proc, arguments: &[Argument], inner: &Frame, frame: &mut Frame) {
    for (param, argument) in proc.params.iter().zip(arguments) {
        if let Argument::Out(name) | Argument::Owned(name) = argument
            && let Some(slot) = inner.get(&param.name)
        {
            frame.set(name, slot.clone());
        }
    }
}
