//! A procedure of a recursive group: it may wait for others of its group, as deep as the context allows.
//!
//! ```text
//! struct fib_frame { struct frame head; int64_t n; int64_t *out; int64_t a; … };
//!
//! static int fib_run(struct fib_ctx *ctx, struct stack *stack) {
//!   struct fib_frame *f;
//! resume:
//!   f = (struct fib_frame *)stack->top;
//!   switch (f->head.at) {
//!   case 0:;
//!     …                                        what lives across a call is in the frame, all else in C's variables
//!     { push a frame for the callee; f->head.at = 1; goto resume; }
//!   case 1:;
//!     …                                        such a place may stand inside loops and branches
//!     pop_frame(stack);
//!     return 0;
//!   }
//! failed:                                      it failed, or one it waited for did
//!   release(…); pop_frame(stack); return 1;
//! }
//!
//! static int fib(struct fib_ctx *ctx, int64_t n, int64_t *out) { push the first frame; return run_frames(ctx, &stack); }
//! ```

use crate::analysis::{Storage, Uses};
use crate::names::Scope;
use crate::procedure::{Callee, Emitter, Known, Region, Role};
use crate::tree::{CBinary, CExpr, CField, CFunction, CParam, CStmt, CType, CUnary, Linkage};
use almach_base::codes::runtime;
use almach_base::{Diagnostic, Name, Span};
use almach_imp::{Argument, Groups, Param, Passing, Proc, Site, Stmt};
use almach_value::{Failure, ScalarType};
use std::collections::HashSet;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// How members of a group reach a procedure.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The function that goes on with a frame.
    pub run: String,
    /// `struct fib_frame`.
    pub frame: String,
    /// The fields of its parameters.
    pub params: Vec<String>,
    fields: Scope,
}

impl Resumed {
    pub fn new(proc: &Proc, c_name: &str, file: &mut Scope) -> Resumed {
        let mut fields = Scope::file();
        fields.fresh("head");
        let params = proc.params.iter().map(|param| match param.passing {
            Passing::Value | Passing::Read | Passing::Write => fields.fresh(&param.name),
            Passing::Out | Passing::Owned => fields.fresh(&format!("{}_out", param.name)),
        });
        Resumed {
            params: params.collect(),
            run: file.fresh(&format!("{c_name}_run")),
            frame: format!("struct {}", file.fresh(&format!("{c_name}_frame"))),
            fields,
        }
    }
}

/// The frame of the procedure that is being printed.
pub struct Frame {
    /// What the procedure calls its frame, with the arrow.
    prefix: String,
    pointer: String,
    kept: HashSet<Name>,
    scope: Scope,
    fields: Vec<CField>,
    /// Places it goes on from, but for the first.
    resumes: usize,
    inside: Inside,
}

/// Whether statements stand in a loop that does not wait, with the frame's values in variables of C.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Waiting,
    Loop,
}

impl Frame {
    /// A new field, as the procedure reaches it.
    fn field(&mut self, name: &str, ty: CType, cells: Option<i64>) -> String {
        let name = self.scope.fresh(name);
        let place = format!("{}{name}", self.prefix);
        self.fields.push(CField { ty, name, cells });
        place
    }
}

/// A recursive procedure as C.
pub struct Recursive {
    /// The definition of its frame.
    pub frame: String,
    pub run: CFunction,
    /// The function that others call.
    pub driver: CFunction,
}

impl Emitter<'_> {
    /// Whether a call is one that the procedure waits for in its frame.
    pub fn is_resumed(&self, callee: &Name) -> bool {
        self.unit.groups.are_together(&self.proc_name, callee)
    }

    /// Where a name lives in the frame; none where it is a variable of C.
    pub fn keep(&mut self, name: &Name, ty: ScalarType, role: &Role) -> Option<String> {
        let outside_loops = self.regions.len() <= 1;
        let frame = self.frame.as_mut()?;
        let scalar = CType::Scalar(ty);
        let (ty, cells) = match role {
            Role::Buffer(Some(Storage::Heap { .. })) if outside_loops => (scalar.pointer(), None),
            _ if !frame.kept.contains(name) => return None,
            Role::Buffer(Some(Storage::Stack(cells))) => (scalar, Some(*cells)),
            Role::Buffer(_) => (scalar.pointer(), None),
            Role::Constant | Role::Variable | Role::Result => (scalar, None),
            // The program's, not the procedure's.
            Role::Column(_) => return None,
        };
        Some(frame.field(name, ty, cells))
    }

    pub fn is_in_frame(&self, c_name: &str) -> bool {
        self.frame
            .as_ref()
            .is_some_and(|frame| c_name.starts_with(&frame.prefix))
    }

    /// `T name = value;`, or `f->name = value;` where the frame has it.
    pub fn declared(&self, ty: CType, name: &str, value: CExpr) -> CStmt {
        match self.is_in_frame(name) {
            true => CStmt::Assign(CExpr::name(name), value),
            false => CStmt::Declare {
                ty,
                name: name.to_string(),
                value: Some(value),
            },
        }
    }

    /// Prints a loop. One that does not wait gets what it reads of the frame in variables first: the C compiler cannot know that
    /// stores to memory leave the frame as it is.
    pub fn with_frame_in_variables(
        &mut self,
        stmt: &Stmt,
        out: &mut Vec<CStmt>,
        print: impl FnOnce(&mut Self, &mut Vec<CStmt>) -> Emit<()>,
    ) -> Emit<()> {
        let waits = Waits {
            proc: &self.proc_name,
            groups: &self.unit.groups,
        };
        let plain = match &self.frame {
            None => true,
            Some(frame) => frame.inside == Inside::Loop || waits.waits(stmt),
        };
        if plain {
            return print(self, out);
        }
        let mut block = Vec::new();
        let before = self.frame_to_variables(&Uses::of_statement(stmt), &mut block);
        if before.is_empty() {
            return print(self, out);
        }
        self.set_inside(Inside::Loop);
        let printed = print(self, &mut block);
        self.set_inside(Inside::Waiting);
        self.names.extend(before);
        out.push(CStmt::Block(block));
        printed
    }

    fn set_inside(&mut self, inside: Inside) {
        if let Some(frame) = &mut self.frame {
            frame.inside = inside;
        }
    }

    /// Variables for values and pointers of the frame that a statement uses and does not change; what their names stood for.
    fn frame_to_variables(&mut self, uses: &Uses, out: &mut Vec<CStmt>) -> Vec<(Name, Known)> {
        let mut found: Vec<(Name, Known)> = self
            .names
            .iter()
            .filter(|(name, known)| {
                self.is_in_frame(&known.c_name) && uses.mentions(name) && !uses.moves(name)
            })
            .map(|(name, known)| (name.clone(), known.clone()))
            .collect();
        found.retain(|(_, known)| matches!(known.role, Role::Constant | Role::Buffer(_)));
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, known) in &found {
            let Some(ty) = self.field_type(&known.c_name) else {
                continue;
            };
            let ty = match (&known.role, ty) {
                (Role::Buffer(Some(Storage::Stack(_))), cell) => cell.pointer().constant(),
                (Role::Buffer(None), pointer) => pointer.restrict(),
                (_, ty) => ty.constant(),
            };
            let c_name = self.scope.fresh(name);
            out.push(CStmt::Declare {
                ty,
                name: c_name.clone(),
                value: Some(CExpr::name(known.c_name.clone())),
            });
            self.names.insert(
                name.clone(),
                Known {
                    c_name,
                    ..known.clone()
                },
            );
        }
        found
    }

    fn field_type(&self, place: &str) -> Option<CType> {
        let frame = self.frame.as_ref()?;
        let name = place.strip_prefix(&frame.prefix)?;
        let field = frame.fields.iter().find(|field| field.name == name)?;
        Some(field.ty.clone())
    }

    /// The frame of a procedure, the function that goes on with it, and the one that others call.
    pub fn recursive(&mut self, proc: &Proc, callee: &Callee, resumed: &Resumed) -> Emit<Recursive> {
        let pointer = self.scope.fresh("f");
        let mut frame = Frame {
            prefix: format!("{pointer}->"),
            kept: kept(proc, &self.unit.groups),
            scope: resumed.fields.clone(),
            fields: vec![CField {
                ty: CType::Named("struct frame".into()),
                name: "head".into(),
                cells: None,
            }],
            pointer: pointer.clone(),
            resumes: 0,
            inside: Inside::Waiting,
        };
        let mut results = Vec::new();
        self.regions.push(Region {
            label: "failed".into(),
            jumps: true,
            settles: false,
            buffers: Vec::new(),
            context: CExpr::name("ctx"),
        });
        for (param, field) in proc.params.iter().zip(&resumed.params) {
            frame.fields.push(CField {
                ty: passed_type(param),
                name: field.clone(),
                cells: None,
            });
            let place = format!("{}{field}", frame.prefix);
            self.frame_param(param, proc, &mut frame, place, &mut results)?;
        }
        self.frame = Some(frame);
        let mut inner = vec![CStmt::Case(0)];
        inner.extend(self.block(&proc.body)?);
        inner.extend(results);
        inner.extend(ending(&resumed.run));
        let (Some(region), Some(frame)) = (self.regions.pop(), self.frame.take()) else {
            return Err(self.bug("the function's region is gone"));
        };
        let frame_type = CType::Named(resumed.frame.clone()).pointer();
        let head = CExpr::name(pointer.clone()).arrow("head");
        let top = CExpr::name("stack").arrow("top");
        let mut body = vec![
            CStmt::Declare {
                ty: frame_type.clone(),
                name: pointer.clone(),
                value: None,
            },
            CStmt::Label("resume".into()),
            CStmt::Assign(CExpr::name(pointer), CExpr::cast(frame_type, top)),
            CStmt::Switch(head.dot("at"), inner),
            CStmt::Label(region.label.clone()),
        ];
        body.extend(self.releases(&region)?);
        body.push(pop());
        body.push(status(1));
        Ok(Recursive {
            frame: crate::print::structure(&resumed.frame, &frame.fields),
            run: CFunction {
                linkage: Linkage::Static,
                result: CType::Named("int".into()),
                name: resumed.run.clone(),
                params: run_params(&self.unit.context),
                body,
            },
            driver: self.driver(proc, callee, resumed)?,
        })
    }

    fn frame_param(
        &mut self,
        param: &Param,
        proc: &Proc,
        frame: &mut Frame,
        place: String,
        results: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let Param { name, ty, passing } = param;
        let scalar = CType::Scalar(*ty);
        let (c_name, role) = match passing {
            Passing::Value => (place, Role::Constant),
            Passing::Read | Passing::Write => (place, Role::Buffer(None)),
            Passing::Out if self.writes_directly(name, proc) => (place, Role::Result),
            Passing::Out | Passing::Owned => {
                let (ty, role) = match passing {
                    Passing::Owned => {
                        self.region()?.buffers.push(name.clone());
                        (scalar.pointer(), Role::Buffer(Some(self.uses.storage(name))))
                    }
                    _ => (scalar, Role::Variable),
                };
                let own = frame.field(name, ty, None);
                let result = CExpr::unary(CUnary::Follow, CExpr::name(place));
                results.push(CStmt::Assign(result, CExpr::name(own.clone())));
                (own, role)
            }
        };
        self.names.insert(
            name.clone(),
            Known {
                c_name,
                ty: *ty,
                role,
            },
        );
        Ok(())
    }

    /// The function that others call: it makes the first frame and runs until there is none.
    fn driver(&mut self, proc: &Proc, callee: &Callee, resumed: &Resumed) -> Emit<CFunction> {
        let mut scope = self.unit.scope.clone();
        let mut params = vec![context_param(&self.unit.context)];
        for param in &proc.params {
            let ty = match param.passing {
                Passing::Value => passed_type(param),
                _ => passed_type(param).restrict(),
            };
            params.push(CParam {
                ty,
                name: scope.fresh(&param.name),
            });
        }
        let first = scope.fresh("first");
        let stack = CExpr::unary(CUnary::Address, CExpr::name("stack"));
        let mut body = Vec::new();
        if callee.exported {
            let site = CExpr::name("ctx").arrow("failure").dot("site");
            body.push(CStmt::Assign(site, CExpr::literal("0")));
        }
        body.push(CStmt::Declare {
            ty: CType::Named("struct stack".into()),
            name: "stack".into(),
            value: Some(CExpr::literal("{0}")),
        });
        body.push(pushed(&first, resumed, CExpr::name("ctx"), stack.clone()));
        self.regions.push(Region {
            label: "failed".into(),
            jumps: true,
            settles: false,
            buffers: Vec::new(),
            context: CExpr::name("ctx"),
        });
        let depth = CExpr::name("stack").dot("depth");
        let failed = self.too_deep(proc.span, depth)?;
        self.regions.pop();
        body.push(CStmt::when(is_null(&first), failed).with_goto("failed", &status(1)));
        for (param, field) in params.iter().skip(1).zip(&resumed.params) {
            let to = CExpr::name(first.clone()).arrow(field);
            body.push(CStmt::Assign(to, CExpr::name(param.name.clone())));
        }
        let run = CExpr::call("run_frames", [CExpr::name("ctx"), stack]);
        body.push(CStmt::Return(Some(run)));
        Ok(CFunction {
            linkage: match callee.exported {
                true => Linkage::External,
                false => Linkage::Static,
            },
            result: CType::Named("int".into()),
            name: callee.c_name.clone(),
            params,
            body,
        })
    }

    fn too_deep(&mut self, span: Span, depth: CExpr) -> Emit<Vec<CStmt>> {
        let site = Site {
            code: runtime::RECURSION_TOO_DEEP,
            span,
            text: Failure::RecursionTooDeep.text().into(),
        };
        self.failure(&site, vec![(depth, ScalarType::I64)])
    }

    /// A call of the same group: the callee gets a frame, and the procedure goes on behind the call when it is done.
    pub fn suspend(
        &mut self,
        proc: &Name,
        arguments: &[Argument],
        span: Span,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let Some(resumed) = &self.callee(proc)?.resumed else {
            return Err(self.bug(format!("`{proc}` has no frame")));
        };
        let callee = self.scope.fresh("callee");
        let arguments = self.arguments(proc, arguments, out)?;
        let stack = CExpr::name("stack");
        let mut block = vec![pushed(&callee, resumed, CExpr::name("ctx"), stack.clone())];
        let failed = self.too_deep(span, stack.arrow("depth"))?;
        block.push(CStmt::when(is_null(&callee), failed));
        for (field, argument) in resumed.params.iter().zip(arguments) {
            let to = CExpr::name(callee.clone()).arrow(field);
            block.push(CStmt::Assign(to, argument));
        }
        let own = *proc == self.proc_name;
        let Some(frame) = &mut self.frame else {
            return Err(self.bug("a call that waits without a frame"));
        };
        frame.resumes += 1;
        let number = frame.resumes;
        let at = CExpr::name(frame.pointer.clone()).arrow("head").dot("at");
        block.push(CStmt::Assign(at, CExpr::literal(number.to_string())));
        block.push(match own {
            true => CStmt::Goto("resume".into()),
            false => status(0),
        });
        out.push(CStmt::Block(block));
        out.push(CStmt::Case(number));
        Ok(())
    }
}

fn context_param(context: &str) -> CParam {
    CParam {
        ty: CType::Named(context.to_string()).pointer(),
        name: "ctx".into(),
    }
}

pub fn run_params(context: &str) -> Vec<CParam> {
    let stack = CParam {
        ty: CType::Named("struct stack".into()).pointer(),
        name: "stack".into(),
    };
    vec![context_param(context), stack]
}

fn passed_type(param: &Param) -> CType {
    let scalar = CType::Scalar(param.ty);
    match param.passing {
        Passing::Value => scalar,
        Passing::Read => scalar.const_pointer(),
        Passing::Out | Passing::Write => scalar.pointer(),
        Passing::Owned => scalar.pointer().pointer(),
    }
}

/// `struct fib_frame *const callee = push_frame(ctx, stack, fib_run, sizeof *callee);`
fn pushed(name: &str, resumed: &Resumed, context: CExpr, stack: CExpr) -> CStmt {
    let size = CExpr::SizeOfCell(Box::new(CExpr::name(name)));
    let run = CExpr::name(resumed.run.clone());
    CStmt::Declare {
        ty: CType::Named(resumed.frame.clone()).pointer().constant(),
        name: name.to_string(),
        value: Some(CExpr::call("push_frame", [context, stack, run, size])),
    }
}

fn is_null(name: &str) -> CExpr {
    CExpr::binary(CBinary::Equal, CExpr::name(name), CExpr::name("NULL"))
}

fn status(value: i32) -> CStmt {
    CStmt::Return(Some(CExpr::literal(value.to_string())))
}

fn pop() -> CStmt {
    CStmt::Do(CExpr::call("pop_frame", [CExpr::name("stack")]))
}

/// The caller goes on at once where it is of the same procedure.
fn ending(run: &str) -> [CStmt; 3] {
    let own = CExpr::call("resumes", [CExpr::name("stack"), CExpr::name(run)]);
    [
        pop(),
        CStmt::when(own, vec![CStmt::Goto("resume".into())]),
        status(0),
    ]
}

/// The names of a procedure that are used across a call of its group. (Its parameters are in the frame anyway, and so is
/// memory that a failure must release.)
fn kept(proc: &Proc, groups: &Groups) -> HashSet<Name> {
    let mut kept = HashSet::new();
    let waits = Waits {
        proc: &proc.name,
        groups,
    };
    waits.block(&proc.body, &mut kept);
    kept
}

struct Waits<'a> {
    proc: &'a Name,
    groups: &'a Groups,
}

impl Waits<'_> {
    /// Whether a statement has a call of the group in it.
    fn waits(&self, stmt: &Stmt) -> bool {
        let mut called = Vec::new();
        almach_imp::naturals::calls(std::slice::from_ref(stmt), &mut called);
        called
            .into_iter()
            .any(|callee| self.groups.are_together(self.proc, callee))
    }

    fn block(&self, stmts: &[Stmt], kept: &mut HashSet<Name>) {
        let uses: Vec<Uses> = stmts.iter().map(Uses::of_statement).collect();
        let waiting: Vec<bool> = stmts.iter().map(|stmt| self.waits(stmt)).collect();
        for (at, stmt) in stmts.iter().enumerate() {
            if let Stmt::Let { name, .. }
            | Stmt::Var { name, .. }
            | Stmt::Reserve { name, .. }
            | Stmt::Buffer { name, .. } = stmt
                && let Some(first) = (at + 1..stmts.len()).find(|at| waiting.get(*at) == Some(&true))
            {
                // It is used by the next statement that waits, once it may have waited, or by one behind it.
                let resumed = stmts.get(first).is_some_and(|stmt| used_when_resumed(stmt, name));
                if resumed || uses.iter().skip(first + 1).any(|uses| uses.mentions(name)) {
                    kept.insert(name.clone());
                }
            }
            if waiting.get(at) != Some(&true) {
                continue;
            }
            match stmt {
                Stmt::For { index, body, .. } => {
                    kept.insert(index.clone());
                    self.block(body, kept);
                }
                Stmt::While { body, .. } => self.block(body, kept),
                Stmt::If { then, otherwise, .. } => {
                    self.block(then, kept);
                    self.block(otherwise, kept);
                }
                _ => {}
            }
        }
    }
}

fn used_when_resumed(stmt: &Stmt, name: &Name) -> bool {
    let used = |stmts: &[Stmt]| stmts.iter().any(|stmt| Uses::of_statement(stmt).mentions(name));
    match stmt {
        // Values are passed before; what is written must be there.
        Stmt::Call { arguments, .. } => arguments.iter().any(|argument| match argument {
            Argument::Value(_) => false,
            Argument::Out(other) | Argument::Owned(other) | Argument::Buffer(other, _) => other == name,
        }),
        Stmt::If { then, otherwise, .. } => used(then) || used(otherwise),
        Stmt::For { count, body, .. } => count.free_vars().any(|var| var == name) || used(body),
        other => used(std::slice::from_ref(other)),
    }
}
