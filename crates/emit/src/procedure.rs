//! A procedure as a C function.
//!
//! ```text
//! int dot_main(struct dot_ctx *ctx, int64_t n, const float *restrict xs, float *result_out) {
//!   float *tmp = NULL;                         buffers, owning nothing yet
//!   …                                          on an error: fail(ctx, …); goto failed;
//!   *result_out = result;                      results, only when nothing failed
//!   return 0;
//! failed:
//!   release(tmp);
//!   return 1;
//! }
//! ```

use crate::analysis::{Storage, Traits, Uses};
use crate::atomics::Chain;
use crate::device::{Kernels, Side};
use crate::helpers::Helpers;
use crate::index::Arithmetic;
use crate::names::Scope;
use crate::outputs::Outputs;
use crate::recursion::{Frame, Recursive, Resumed};
use crate::sites::Sites;
use crate::stores::StoreText;
use crate::tree::{CBinary, CExpr, CFunction, CParam, CStmt, CType, CUnary, Linkage};
use crate::{Accounting, Target};
use almach_base::{Diagnostic, Name, SourceMap, Span, compiler_bug};
use almach_imp::facts::Facts;
use almach_imp::naturals::Naturals;
use almach_imp::{Access, Groups, Passing, Proc, Stmt, Transfer, Writing};
use almach_value::{Scalar, ScalarType};
use std::collections::{HashMap, HashSet};

/// What is the same for all procedures of a file.
pub struct Unit<'a> {
    pub target: Target,
    pub accounting: Accounting,
    pub sources: &'a SourceMap,
    /// `struct NAME_ctx`.
    pub context: String,
    pub callees: HashMap<Name, Callee>,
    pub traits: HashMap<Name, Traits>,
    pub groups: Groups,
    pub stores: HashMap<Name, StoreText>,
    pub columns: HashMap<Name, Known>,
    /// Whether there are kernels: then blocks of the heap may have memory on a device.
    pub has_kernels: bool,
    /// Kernels behind one that can fail: they look whether it did.
    pub behind_failures: HashSet<Name>,
    /// Names that no local variable may have.
    pub scope: Scope,
}

/// A procedure as others call it.
#[derive(Clone, Debug)]
pub struct Callee {
    pub c_name: String,
    pub exported: bool,
    pub takes_context: bool,
    pub fails: bool,
    /// For members of a recursive group: how they call each other.
    pub resumed: Option<Resumed>,
}

/// What a procedure becomes.
pub enum Printed {
    Plain(CFunction),
    Recursive(Recursive),
}

/// A name of the procedure.
#[derive(Clone, Debug)]
pub struct Known {
    /// How C reaches it: a name, or a part of the frame (`f->n`).
    pub c_name: String,
    pub ty: ScalarType,
    pub role: Role,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// A scalar that keeps its value.
    Constant,
    Variable,
    /// A result that is written where the procedure's caller wants it.
    Result,
    Buffer(Option<Storage>),
    /// A column of a store; its name is the function that finds its cells.
    Column(Writing),
}

/// A part of a function that has a clean-up of its own: the function, or the body of a parallel loop.
pub struct Region {
    /// Where a failure jumps to.
    pub label: String,
    pub jumps: bool,
    /// Whether its end asks the device how kernels went, so that it may fail there.
    pub settles: bool,
    /// Buffers declared in the region, in order.
    pub buffers: Vec<Name>,
    /// A pointer to the context that keeps failures.
    pub context: CExpr,
}

/// Whether code is repeated while a condition holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    No,
    Yes,
    /// By the lanes of a loop of known length, together.
    OnLanes,
}

pub struct Emitter<'a> {
    pub unit: &'a Unit<'a>,
    pub helpers: &'a mut Helpers,
    pub sites: &'a mut Sites,
    pub uses: &'a Uses,
    pub proc_name: Name,
    /// Where a member of a recursive group keeps what lives across calls.
    pub frame: Option<Frame>,
    pub names: HashMap<Name, Known>,
    /// The arrays on the stack of buffers that may fit there.
    pub rooms: HashMap<Name, String>,
    /// Buffers in the local memory of a group.
    pub locals: HashSet<Name>,
    /// Indices of loops that are 32 bits wide.
    pub narrow: HashSet<Name>,
    /// The first of rows that were reserved here.
    pub reserved: HashSet<Name>,
    pub facts: Facts,
    pub scope: Scope,
    pub regions: Vec<Region>,
    pub span: Span,
    /// The file and line that the last comment showed.
    pub shown: Option<(u32, usize)>,
    /// Whether statements stand directly in their region, in no block inside of it.
    pub at_region_level: bool,
    /// How indices that are values are computed.
    pub arithmetic: Arithmetic,
    /// Whether memory from the heap is used.
    pub allocates: bool,
    /// The `chain` loop around, where it can fail.
    pub chain: Option<Chain>,
    /// Calls, with which of their arguments are never negative.
    pub calls: Vec<(Name, Vec<bool>)>,
    /// In a strip of a loop with angles (`turns`): what notes that one is large.
    pub angles: Option<String>,
    /// The loop with a condition around.
    pub repeated: Repeated,
    /// What the `chain` loop around writes.
    pub outputs: Option<Outputs>,
    /// How many counted loops of one thread are around.
    pub loops_around: usize,
    /// Where the code runs.
    pub side: Side,
    /// The kernels of the file; none inside a kernel.
    pub kernels: Option<&'a mut Kernels>,
}

type Emit<T> = Result<T, Box<Diagnostic>>;

impl<'a> Emitter<'a> {
    pub fn new(
        unit: &'a Unit<'a>,
        helpers: &'a mut Helpers,
        sites: &'a mut Sites,
        kernels: &'a mut Kernels,
        uses: &'a Uses,
        proc: &Proc,
    ) -> Emitter<'a> {
        Emitter {
            unit,
            helpers,
            sites,
            uses,
            proc_name: proc.name.clone(),
            frame: None,
            names: unit.columns.clone(),
            rooms: HashMap::new(),
            locals: HashSet::new(),
            narrow: HashSet::new(),
            reserved: HashSet::new(),
            facts: Facts::default(),
            scope: unit.scope.clone(),
            regions: Vec::new(),
            span: proc.span,
            shown: None,
            at_region_level: true,
            arithmetic: Arithmetic::Wrapping,
            allocates: false,
            chain: None,
            repeated: Repeated::No,
            outputs: None,
            loops_around: 0,
            calls: Vec::new(),
            angles: None,
            side: Side::Host,
            kernels: Some(kernels),
        }
    }

    #[track_caller]
    pub fn bug(&self, what: impl std::fmt::Display) -> Box<Diagnostic> {
        Box::new(compiler_bug(self.span, format!("while C is printed: {what}")))
    }

    pub fn known(&self, name: &Name) -> Emit<&Known> {
        self.names
            .get(name)
            .ok_or_else(|| self.bug(format!("`{name}` is not bound")))
    }

    pub fn bind(&mut self, name: &Name, ty: ScalarType, role: Role) -> String {
        let c_name = match self.keep(name, ty, &role) {
            Some(place) => place,
            None => self.scope.fresh(name),
        };
        self.names.insert(
            name.clone(),
            Known {
                c_name: c_name.clone(),
                ty,
                role,
            },
        );
        c_name
    }

    /// Whether a name is a scalar that keeps its value.
    pub fn stays(&self, name: &Name) -> bool {
        self.names
            .get(name)
            .is_some_and(|known| known.role == Role::Constant)
    }

    pub fn region(&mut self) -> Emit<&mut Region> {
        let span = self.span;
        self.regions
            .last_mut()
            .ok_or_else(|| Box::new(compiler_bug(span, "C is printed outside of a function")))
    }

    pub fn context(&mut self) -> Emit<CExpr> {
        Ok(self.region()?.context.clone())
    }

    /// Prints a procedure with what is known of its parameters, and notes what it passes to others.
    pub fn proc(&mut self, proc: &Proc, naturals: &mut Naturals) -> Emit<Printed> {
        for name in naturals.params(proc) {
            self.facts.set_natural(&name);
        }
        let callee = self.callee(&proc.name)?;
        let printed = match &callee.resumed {
            Some(resumed) => Printed::Recursive(self.recursive(proc, callee, resumed)?),
            None => Printed::Plain(self.function(proc)?),
        };
        for (callee, natural) in self.calls.drain(..) {
            naturals.call(&callee, natural);
        }
        Ok(printed)
    }

    fn function(&mut self, proc: &Proc) -> Emit<CFunction> {
        let callee = self.callee(&proc.name)?.clone();
        let mut params = Vec::new();
        if callee.takes_context {
            let context = CType::Named(self.unit.context.clone());
            params.push(CParam {
                ty: context.pointer(),
                name: "ctx".into(),
            });
        }
        let mut body = Vec::new();
        if callee.exported {
            let site = CExpr::name("ctx").arrow("failure").dot("site");
            body.push(CStmt::Assign(site, CExpr::literal("0")));
        }
        let owns_stores = callee.exported && self.unit.traits.get(&proc.name).is_some_and(|it| it.stores);
        if owns_stores {
            body.extend(crate::stores::open());
        }
        // Whoever starts kernels has a device, which knows of all memory from then on.
        let settles = self.settles(proc)?;
        if settles {
            let open = CExpr::call("open_device", [CExpr::name("ctx")]);
            let failed = CExpr::binary(crate::tree::CBinary::NotEqual, open, CExpr::literal("0"));
            body.push(CStmt::when(
                failed,
                vec![CStmt::Return(Some(CExpr::literal("1")))],
            ));
        }
        self.regions.push(Region {
            label: "failed".into(),
            jumps: false,
            settles,
            buffers: Vec::new(),
            context: CExpr::name("ctx"),
        });
        let mut results = Vec::new();
        for param in &proc.params {
            self.param(param, proc, &mut params, &mut body, &mut results)?;
        }
        let (work, handed_over) = match settles {
            true => without_handing_over(proc),
            false => (proc.body.as_slice(), Vec::new()),
        };
        let mut inner = self.block(work)?;
        for result in handed_over {
            self.hand_over(result, &mut inner)?;
        }
        let Some(region) = self.regions.pop() else {
            return Err(self.bug("the function's region is gone"));
        };
        body.extend(self.buffer_declarations(&region)?);
        body.extend(inner);
        if settles {
            body.push(CStmt::when(settled(), vec![CStmt::Goto(region.label.clone())]));
        }
        body.extend(results);
        if owns_stores {
            body.push(crate::stores::close());
        }
        let has_status = callee.exported || callee.fails;
        if has_status {
            body.push(CStmt::Return(Some(CExpr::literal("0"))));
        }
        let failed = CStmt::Return(Some(CExpr::literal("1")));
        if region.jumps && region.buffers.is_empty() && !owns_stores && !settles {
            body = body
                .into_iter()
                .map(|stmt| stmt.with_goto(&region.label, &failed))
                .collect();
        } else if region.jumps || settles {
            body.push(CStmt::Label(region.label.clone()));
            body.extend(self.releases(&region)?);
            if settles {
                body.push(CStmt::unused(CExpr::call("end_call", [CExpr::name("ctx")])));
            }
            if owns_stores {
                body.push(crate::stores::close());
            }
            body.push(failed);
        }
        Ok(CFunction {
            linkage: if callee.exported {
                Linkage::External
            } else {
                Linkage::Static
            },
            result: if has_status {
                CType::Named("int".into())
            } else {
                CType::Void
            },
            name: callee.c_name,
            params,
            body,
        })
    }

    fn param(
        &mut self,
        param: &almach_imp::Param,
        proc: &Proc,
        params: &mut Vec<CParam>,
        body: &mut Vec<CStmt>,
        results: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let almach_imp::Param { name, ty, passing } = param;
        let scalar = CType::Scalar(*ty);
        let result = |pointer: &str, value: &str| {
            CStmt::Assign(
                CExpr::unary(CUnary::Follow, CExpr::name(pointer)),
                CExpr::name(value),
            )
        };
        match passing {
            Passing::Value => {
                let c_name = self.bind(name, *ty, Role::Constant);
                self.discard_unread(name, &c_name, body);
                params.push(CParam {
                    ty: scalar,
                    name: c_name,
                });
            }
            Passing::Read | Passing::Write => {
                let c_name = self.bind(name, *ty, Role::Buffer(None));
                self.discard_unread(name, &c_name, body);
                let pointer = match passing {
                    Passing::Read => scalar.const_pointer(),
                    _ => scalar.pointer(),
                };
                params.push(CParam {
                    ty: pointer.restrict(),
                    name: c_name,
                });
            }
            Passing::Out => {
                let pointer = self.scope.fresh(&format!("{name}_out"));
                params.push(CParam {
                    ty: scalar.clone().pointer().restrict(),
                    name: pointer.clone(),
                });
                if self.writes_directly(name, proc) {
                    let known = Known {
                        c_name: pointer,
                        ty: *ty,
                        role: Role::Result,
                    };
                    self.names.insert(name.clone(), known);
                    return Ok(());
                }
                let c_name = self.bind(name, *ty, Role::Variable);
                let value = Some(crate::expr::literal(Scalar::zero(*ty)));
                body.push(CStmt::Declare {
                    ty: scalar,
                    name: c_name.clone(),
                    value,
                });
                results.push(result(&pointer, &c_name));
            }
            Passing::Owned => {
                let pointer = self.scope.fresh(&format!("{name}_out"));
                params.push(CParam {
                    ty: scalar.pointer().pointer().restrict(),
                    name: pointer.clone(),
                });
                let storage = self.uses.storage(name);
                let c_name = self.bind(name, *ty, Role::Buffer(Some(storage)));
                self.region()?.buffers.push(name.clone());
                results.push(result(&pointer, &c_name));
            }
        }
        Ok(())
    }

    /// Compilers warn of what is never used.
    pub fn discard_unread(&self, name: &Name, c_name: &str, into: &mut Vec<CStmt>) {
        if !self.uses.is_read(name) && !self.is_in_frame(c_name) {
            into.push(CStmt::Do(CExpr::cast(CType::Void, CExpr::name(c_name))));
        }
    }

    /// Whether a function waits for the device at its end: kernels that it started may have failed.
    fn settles(&self, proc: &Proc) -> Emit<bool> {
        let starts_kernels = self.unit.traits.get(&proc.name).is_some_and(|it| it.kernels);
        Ok(self.callee(&proc.name)?.exported && starts_kernels)
    }

    /// A result needs no variable where nothing reads it, and nothing fails once it is assigned.
    pub fn writes_directly(&self, name: &Name, proc: &Proc) -> bool {
        if self.regions.iter().any(|region| region.settles) {
            return false;
        }
        let assigns = |stmt: &Stmt| matches!(stmt, Stmt::Assign { name: to, .. } if to == name);
        let Some(first) = proc.body.iter().position(assigns) else {
            return false;
        };
        let after = proc.body.get(first..).unwrap_or(&[]);
        self.uses.is_only_assigned_at_top(name)
            && !crate::analysis::fails(after, self.uses, &self.unit.traits)
    }

    pub fn callee(&self, name: &Name) -> Emit<&'a Callee> {
        let unit = self.unit;
        unit.callees
            .get(name)
            .ok_or_else(|| self.bug(format!("there is no procedure `{name}`")))
    }

    /// `float *tmp = NULL;` for every buffer of a region, and its room on the stack, where it has one.
    pub fn buffer_declarations(&self, region: &Region) -> Emit<Vec<CStmt>> {
        let mut declared = Vec::new();
        for name in &region.buffers {
            let known = self.known(name)?;
            let ty = CType::Scalar(known.ty);
            if let (Some(room), Role::Buffer(Some(Storage::Room(size)))) = (self.rooms.get(name), &known.role)
            {
                declared.push(CStmt::DeclareCells {
                    ty: ty.clone(),
                    name: room.clone(),
                    size: *size,
                });
            }
            declared.push(CStmt::Declare {
                ty: ty.pointer(),
                name: known.c_name.clone(),
                value: Some(CExpr::name("NULL")),
            });
        }
        Ok(declared)
    }

    pub fn releases(&self, region: &Region) -> Emit<Vec<CStmt>> {
        let names = region.buffers.iter().rev();
        names.map(|name| self.released(name, region)).collect()
    }

    /// The context that blocks come from and go back to; a procedure without one has only blocks that it got.
    pub fn owner(&self, region: &Region) -> Emit<CExpr> {
        Ok(match self.callee(&self.proc_name)?.takes_context {
            true => region.context.clone(),
            false => CExpr::name("NULL"),
        })
    }

    /// `release(ctx, tmp);`
    pub fn release(&self, buffer: &Name) -> Emit<CStmt> {
        let Some(region) = self.regions.last() else {
            return Err(self.bug("a statement outside of a region"));
        };
        self.released(buffer, region)
    }

    fn released(&self, buffer: &Name, region: &Region) -> Emit<CStmt> {
        let block = CExpr::name(self.known(buffer)?.c_name.clone());
        let release = CStmt::Do(CExpr::call("release", [self.owner(region)?, block.clone()]));
        Ok(match self.rooms.get(buffer) {
            Some(room) => {
                let on_the_heap = CExpr::binary(CBinary::NotEqual, block, CExpr::name(room.clone()));
                CStmt::when(on_the_heap, vec![release])
            }
            None => release,
        })
    }
}

/// `end_call(ctx) != 0`.
fn settled() -> CExpr {
    let end = CExpr::call("end_call", [CExpr::name("ctx")]);
    CExpr::binary(crate::tree::CBinary::NotEqual, end, CExpr::literal("0"))
}

/// What an exported procedure does before its results are the caller's, and these results: at its end the host fetches them.
fn without_handing_over(proc: &Proc) -> (&[Stmt], Vec<&Name>) {
    let mut work = proc.body.as_slice();
    let mut results = Vec::new();
    while let [
        rest @ ..,
        Stmt::Transfer(Transfer::Fetch {
            buffer,
            access: Access::Read,
        }),
    ] = work
        && proc
            .params
            .iter()
            .any(|param| param.name == *buffer && param.passing == Passing::Owned)
    {
        results.push(buffer);
        work = rest;
    }
    results.reverse();
    (work, results)
}
