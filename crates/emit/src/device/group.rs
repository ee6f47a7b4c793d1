//! Kernels of work-groups: what all work-items of a group run together, from barrier to barrier.
//!
//! ```text
//! par for g < groups {                   const int64_t g = GROUP;
//!   buffer sums: local f32               LOCAL float sums[256];
//!   alloc sums[256]                ~~>   const int32_t item = ITEM;
//!   items for item < 256 {               …
//!     … barrier …                        MEET();
//! ```
//!
//! A work-item that fails is *dead*: it goes on to the next barrier, where all of its group learn that it is *over*. They meet at the
//! barriers that are left and do nothing in between: some devices want every barrier to be met by all.

use super::Side;
use crate::index::Arithmetic;
use crate::procedure::{Emitter, Known, Role};
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use almach_base::{Diagnostic, Name};
use almach_imp::{Index, LoopMode, Space, Stmt, Width};
use almach_value::ScalarType;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// The body of a loop over groups.
pub(super) struct Group<'s> {
    locals: Vec<(&'s Name, ScalarType, &'s Index)>,
    item: &'s Name,
    /// Work-items of a group.
    pub(super) items: &'s Index,
    body: &'s [Stmt],
}

/// The group in the body of a kernel's loop, where its iterations are groups.
pub(super) fn group(body: &[Stmt]) -> Option<Group<'_>> {
    let mut locals = Vec::new();
    let mut found = None;
    for stmt in body {
        match stmt {
            Stmt::At(_) | Stmt::Free(_) => {}
            Stmt::Buffer {
                name,
                ty,
                space: Space::Local,
            } => locals.push((name, *ty, None)),
            Stmt::Alloc { buffer, size, .. } => {
                let local = locals.iter_mut().find(|(name, ..)| *name == buffer)?;
                local.2 = Some(size);
            }
            Stmt::For {
                index,
                count,
                mode: LoopMode::Items,
                body,
                ..
            } if found.is_none() => found = Some((index, count, body)),
            _ => return None,
        }
    }
    let (item, items, body) = found?;
    items.as_constant()?;
    let locals: Option<Vec<_>> = locals
        .into_iter()
        .map(|(name, ty, size)| Some((name, ty, size?)))
        .collect();
    Some(Group {
        locals: locals?,
        item,
        items,
        body,
    })
}

fn has_barrier(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Barrier) || stmt.blocks().into_iter().flatten().any(has_barrier)
}

fn has_check(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Check { .. }) || stmt.blocks().into_iter().flatten().any(has_check)
}

/// What is known of failures on the way through a group's statements.
#[derive(Clone, Copy)]
struct Fate {
    /// Whether a work-item may be dead, and its group does not know yet.
    some_dead: bool,
    /// Whether it may be over.
    over: bool,
}

impl Emitter<'_> {
    /// What a group does; `number` is the C name of the loop's index, bound already.
    pub(super) fn group_text(&mut self, group: &Group<'_>, number: &str, out: &mut Vec<CStmt>) -> Emit<()> {
        let wide = CType::Scalar(ScalarType::I64).constant();
        out.push(CStmt::Declare {
            ty: wide,
            name: number.to_string(),
            value: Some(CExpr::name("GROUP")),
        });
        for (name, ty, size) in &group.locals {
            self.local(name, *ty, size, out);
        }
        let item = self.bind(group.item, ScalarType::I64, Role::Constant);
        self.narrow.insert(group.item.clone());
        self.facts.enter_loop(group.item, group.items);
        out.push(CStmt::Declare {
            ty: CType::Scalar(ScalarType::I32).constant(),
            name: item.clone(),
            value: Some(CExpr::name("ITEM")),
        });
        let items = self.index(group.items, Arithmetic::Wrapping);
        let first = CExpr::binary(CBinary::Multiply, CExpr::name(number), items);
        self.side = Side::Kernel {
            at: CExpr::binary(CBinary::Add, first, CExpr::name(item)),
        };
        if group.body.iter().any(has_check) {
            for name in ["dead", "over"] {
                out.push(CStmt::Declare {
                    ty: CType::Scalar(ScalarType::Bool),
                    name: name.into(),
                    value: Some(CExpr::literal("false")),
                });
            }
            out.push(CStmt::Do(CExpr::call("LIVING", [])));
        }
        let mut fate = Fate {
            some_dead: false,
            over: false,
        };
        out.extend(self.together(group.body, &mut fate)?);
        Ok(())
    }

    /// `LOCAL float sums[256];`
    fn local(&mut self, name: &Name, ty: ScalarType, size: &Index, out: &mut Vec<CStmt>) {
        let c_name = self.scope.fresh(name);
        self.locals.insert(name.clone());
        self.names.insert(
            name.clone(),
            Known {
                c_name: c_name.clone(),
                ty,
                role: Role::Buffer(None),
            },
        );
        let cells = size.as_constant().unwrap_or(1).max(1);
        out.push(CStmt::Declare {
            ty: CType::Named(format!("LOCAL {}", super::kernel_type(ty))),
            name: format!("{c_name}[{cells}]"),
            value: None,
        });
    }

    /// Statements that all work-items of a group come to.
    fn together(&mut self, stmts: &[Stmt], fate: &mut Fate) -> Emit<Vec<CStmt>> {
        let mut out = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Barrier => {
                    out.push(meet(*fate));
                    fate.over |= fate.some_dead;
                    fate.some_dead = false;
                }
                _ if has_barrier(stmt) => self.shared(stmt, fate, &mut out)?,
                _ => {
                    let mut emitted = Vec::new();
                    self.stmt(stmt, &[], &mut emitted)?;
                    if has_check(stmt) {
                        emitted = self.mortal(emitted)?;
                        fate.some_dead = true;
                    }
                    match fate.over {
                        true => emitted.into_iter().for_each(|stmt| unless_over(stmt, &mut out)),
                        false => out.extend(emitted),
                    }
                }
            }
        }
        Ok(out)
    }

    /// A statement with barriers in it.
    fn shared(&mut self, stmt: &Stmt, fate: &mut Fate, out: &mut Vec<CStmt>) -> Emit<()> {
        // A round may start after one in which somebody died.
        if !matches!(stmt, Stmt::If { .. }) && has_check(stmt) {
            fate.some_dead = true;
            fate.over = true;
        }
        match stmt {
            Stmt::For {
                index,
                width,
                count,
                body,
                ..
            } => {
                let mut c_count = self.index(count, Arithmetic::Wrapping);
                if fate.over {
                    let none = Box::new(CExpr::literal("0"));
                    c_count = CExpr::Conditional(Box::new(CExpr::name("over")), none, Box::new(c_count));
                }
                let c_index = self.bind(index, ScalarType::I64, Role::Constant);
                if *width == Width::W32 {
                    self.narrow.insert(index.clone());
                }
                let mark = self.facts.mark();
                if count.free_vars().all(|var| self.stays(var)) {
                    self.facts.enter_loop(index, count);
                }
                let body = self.together(body, fate)?;
                self.facts.forget_since(mark);
                out.push(CStmt::Count {
                    index: c_index,
                    width: *width,
                    count: c_count,
                    body,
                });
            }
            Stmt::While { condition, body } => {
                let condition = self.expr(condition)?;
                let condition = going_on(condition, *fate);
                let body = self.together(body, fate)?;
                out.push(CStmt::While(condition, body));
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.expr(condition)?;
                let (mut first, mut second) = (*fate, *fate);
                let (then, otherwise) = (
                    self.together(then, &mut first)?,
                    self.together(otherwise, &mut second)?,
                );
                out.push(CStmt::If {
                    condition: going_on(condition, *fate),
                    then,
                    otherwise,
                });
                *fate = Fate {
                    some_dead: first.some_dead || second.some_dead,
                    over: first.over || second.over,
                };
            }
            _ => return Err(self.bug("a barrier in a statement that has no place for it")),
        }
        Ok(())
    }

    /// Statements in which a work-item may die: `{ … { dead = true; goto met; } … } met:;`
    fn mortal(&mut self, stmts: Vec<CStmt>) -> Emit<Vec<CStmt>> {
        let label = self.scope.fresh("met");
        let failed = self.region()?.label.clone();
        let death = CStmt::Block(vec![
            CStmt::Assign(CExpr::name("dead"), CExpr::literal("true")),
            CStmt::Goto(label.clone()),
        ]);
        let stmts = stmts.into_iter().map(|stmt| stmt.with_goto(&failed, &death));
        Ok(vec![CStmt::Block(vec![
            CStmt::Block(stmts.collect()),
            CStmt::Label(label),
        ])])
    }
}

fn meet(fate: Fate) -> CStmt {
    match fate.some_dead {
        false => CStmt::Do(CExpr::call("MEET", [])),
        true => CStmt::Assign(
            CExpr::name("over"),
            CExpr::call("MEET_ANY", [CExpr::name("dead")]),
        ),
    }
}

fn is_not_over() -> CExpr {
    CExpr::unary(CUnary::Not, CExpr::name("over"))
}

fn going_on(condition: CExpr, fate: Fate) -> CExpr {
    match fate.over {
        true => CExpr::binary(CBinary::And, is_not_over(), condition),
        false => condition,
    }
}

/// A statement that is skipped where the group is over; what it declares is there nevertheless.
fn unless_over(stmt: CStmt, out: &mut Vec<CStmt>) {
    match stmt {
        CStmt::Declare {
            ty,
            name,
            value: Some(value),
        } => {
            let ty = match ty {
                CType::Const(ty) => *ty,
                ty => ty,
            };
            out.push(CStmt::Declare {
                ty,
                name: name.clone(),
                value: Some(CExpr::literal("0")),
            });
            out.push(CStmt::when(
                is_not_over(),
                vec![CStmt::Assign(CExpr::name(name), value)],
            ));
        }
        CStmt::Declare { .. } | CStmt::DeclareCells { .. } | CStmt::Comment(_) | CStmt::Pragma(_) => {
            out.push(stmt)
        }
        _ => out.push(CStmt::when(is_not_over(), vec![stmt])),
    }
}
