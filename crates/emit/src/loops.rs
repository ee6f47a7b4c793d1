//! Loops, on one thread or many.

use crate::Target;
use crate::analysis;
use crate::device::Side;
use crate::helpers::Helper;
use crate::index::Arithmetic;
use crate::packs::Pack;
use crate::procedure::{Emitter, Region, Repeated, Role};
use crate::squares::Square;
use crate::threshold::{is_straight_line, iterations_for_threads};
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use crate::uneven::schedule;
use almach_base::Diagnostic;
use almach_imp::{Expr, Index, LoopMode, Stmt, Touched, Width};
use almach_value::ScalarType;

/// The numbers of iterations that gcc writes out one by one, and that are lanes of a vector all the same. Fewer are better written out: the
/// vectors are then those of the loop around.
const LANES: std::ops::RangeInclusive<i64> = 8..=16;

/// Statements of a loop that may be there twice.
const MOST_TWICE: usize = 4;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// The most statements of a loop in a kernel of which several rounds are done at once.
const MOST_READ_ON: usize = 24;

impl Emitter<'_> {
    pub fn for_loop(&mut self, stmt: &Stmt, out: &mut Vec<CStmt>) -> Emit<()> {
        let Stmt::For {
            index,
            width,
            count,
            mode,
            body,
        } = stmt
        else {
            return Err(self.bug("a loop that is none"));
        };
        let (mode, width) = (*mode, *width);
        if let Some(pack) = Pack::of(index, count, body)
            && self.pack(&pack, count, out)?
        {
            return Ok(());
        }
        if let Some(square) = Square::of(index, count, body)
            && self.square(&square, out)?
        {
            return Ok(());
        }
        let c_count = self.index(count, Arithmetic::Wrapping);
        let c_index = self.bind(index, ScalarType::I64, Role::Constant);
        let strips = self.is_on_one_thread(mode) && self.has_angles_on_lanes(count, body);
        if width == Width::W32 && !self.is_in_frame(&c_index) && !strips {
            self.narrow.insert(index.clone());
        }
        let mark = self.facts.mark();
        if count.free_vars().all(|var| self.stays(var)) {
            self.facts.enter_loop(index, count);
        }
        if strips {
            self.in_strips(&c_index, count, body, out)?;
            self.facts.forget_since(mark);
            return Ok(());
        }
        if self.unit.target == Target::OpenMp && mode == LoopMode::Chain {
            self.chain_loop(c_index, c_count, body, out)?;
            self.facts.forget_since(mark);
            return Ok(());
        }
        let threads = self.unit.target == Target::OpenMp && mode == LoopMode::Par;
        if threads && analysis::fails(body, self.uses, &self.unit.traits) {
            self.parallel_loop(c_index, width, c_count, body, out)?;
            self.facts.forget_since(mark);
            return Ok(());
        }
        if threads {
            let team = self.team_for(&c_count, body)?;
            let lanes = if is_straight_line(body) { " simd" } else { "" };
            let schedule = schedule(&crate::print::expression(&c_count), body);
            if self.is_short_and_repeated(body) && !self.counts_idle() {
                let loops = self.by_team_or_alone(c_index, width, c_count, &schedule, body)?;
                self.facts.forget_since(mark);
                out.push(loops);
                return Ok(());
            }
            if self.counts_idle() {
                let shared = CStmt::Pragma(format!("omp for{lanes} {schedule} nowait"));
                let count = CStmt::Count {
                    index: c_index,
                    width,
                    count: c_count,
                    body: self.own_region(None, body)?.0,
                };
                self.facts.forget_since(mark);
                self.by_team(
                    CStmt::Pragma(format!("omp parallel {team}")),
                    vec![shared, count],
                    out,
                );
                return Ok(());
            }
            out.push(CStmt::Pragma(format!(
                "omp parallel for{lanes} {schedule} {team}"
            )));
        }
        let is_short = count.as_constant().is_some_and(|count| count < *LANES.start());
        if self.unit.target == Target::OpenMp
            && mode == LoopMode::Simd
            && !is_short
            && analysis::is_simple(body)
        {
            out.push(CStmt::Pragma("omp simd".into()));
        }
        let is_vector = count.as_constant().is_some_and(|count| LANES.contains(&count));
        let on_lanes = (mode == LoopMode::Simd && analysis::is_simple(body)) || is_fill(body);
        if self.unit.target == Target::C && is_vector && on_lanes {
            out.push(CStmt::Mark(self.helpers.need(Helper::Lanes)));
        }
        if self.reads_on(mode, count, body) {
            out.push(CStmt::Mark("UNROLL".into()));
        }
        let body = match threads {
            // Its buffers belong to the iteration.
            true => self.own_region(None, body)?.0,
            false => {
                self.loops_around += 1;
                let body = self.repeated(self.repeated_by(mode, count), body);
                self.loops_around -= 1;
                body?
            }
        };
        self.facts.forget_since(mark);
        if self.is_in_frame(&c_index) {
            out.push(CStmt::CountPlace {
                place: CExpr::name(c_index),
                count: c_count,
                body,
            });
            return Ok(());
        }
        out.push(CStmt::Count {
            index: c_index,
            width,
            count: c_count,
            body,
        });
        Ok(())
    }

    /// Whether a loop is small and done again and again, so that asking for a team of threads each time would cost more than it does.
    fn is_short_and_repeated(&self, body: &[Stmt]) -> bool {
        let statements = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
        let again = self.loops_around > 0 || self.repeated != Repeated::No;
        again && is_straight_line(body) && statements.count() <= MOST_TWICE
    }

    /// A loop twice: by threads where there is enough to do, and else without asking for any.
    fn by_team_or_alone(
        &mut self,
        index: String,
        width: Width,
        count: CExpr,
        schedule: &str,
        body: &[Stmt],
    ) -> Emit<CStmt> {
        let team = self.team()?;
        let least = CExpr::literal(iterations_for_threads(body).to_string());
        let condition = CExpr::binary(CBinary::GreaterEqual, count.clone(), least);
        let body = self.own_region(None, body)?.0;
        let counted = CStmt::Count {
            index,
            width,
            count,
            body,
        };
        let team = CStmt::Pragma(format!("omp parallel for simd {schedule} {team}"));
        Ok(CStmt::If {
            condition,
            then: vec![team, counted.clone()],
            otherwise: vec![CStmt::Pragma("omp simd".into()), counted],
        })
    }

    /// A block that is repeated.
    pub fn repeated(&mut self, repeated: Repeated, body: &[Stmt]) -> Emit<Vec<CStmt>> {
        let around = std::mem::replace(&mut self.repeated, repeated);
        let body = self.nested(body);
        self.repeated = around;
        body
    }

    /// How the block of a counted loop is repeated.
    fn repeated_by(&self, mode: LoopMode, count: &Index) -> Repeated {
        match (self.repeated, mode, count.as_constant()) {
            (Repeated::Yes, LoopMode::Simd, Some(_)) => Repeated::OnLanes,
            (around, ..) => around,
        }
    }

    /// Whether a loop of a work-item is short code that reads the device's memory again and again: several rounds at once read without
    /// waiting for each other.
    fn reads_on(&self, mode: LoopMode, count: &Index, body: &[Stmt]) -> bool {
        let statements = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
        let is_long = count.as_constant().is_none_or(|count| count >= 8);
        let reads = |stmt: &Stmt| {
            Touched::of([stmt])
                .cells
                .keys()
                .any(|name| !self.locals.contains(name))
        };
        matches!(self.side, Side::Kernel { .. })
            && mode == LoopMode::Seq
            && is_long
            && statements.count() <= MOST_READ_ON
            && body.iter().all(|stmt| stmt.blocks().is_empty())
            && body.iter().any(reads)
    }

    pub fn team(&mut self) -> Emit<String> {
        let context = crate::print::expression(&self.context()?);
        Ok(format!("num_threads({context}->threads)"))
    }

    /// The threads of a loop: one where there is too little to do.
    fn team_for(&mut self, count: &CExpr, body: &[Stmt]) -> Emit<String> {
        let team = self.team()?;
        let count = crate::print::expression(count);
        let least = iterations_for_threads(body);
        Ok(format!("{team} if({count} >= {least})"))
    }

    /// Statements with a clean-up of their own. What they fail with goes to `own`, where that is given.
    pub fn own_region(&mut self, label: Option<String>, body: &[Stmt]) -> Emit<(Vec<CStmt>, Region)> {
        let context = match label {
            Some(_) => CExpr::unary(CUnary::Address, CExpr::name("own")),
            None => self.context()?,
        };
        self.regions.push(Region {
            label: label.unwrap_or_default(),
            jumps: false,
            settles: false,
            buffers: Vec::new(),
            context,
        });
        let level = std::mem::replace(&mut self.at_region_level, true);
        let inner = self.block(body)?;
        self.at_region_level = level;
        let Some(region) = self.regions.pop() else {
            return Err(self.bug("the loop's region is gone"));
        };
        let mut out = self.buffer_declarations(&region)?;
        out.extend(inner);
        Ok((out, region))
    }

    /// A parallel loop that can fail. Every thread keeps the failure of its least iteration, and stops working there,
    /// since a thread's iterations come in order; of the threads' failures that of the least iteration counts. So it is
    /// the same on every run, whatever the number of threads.
    fn parallel_loop(
        &mut self,
        index: String,
        width: Width,
        count: CExpr,
        body: &[Stmt],
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let (team, context) = (self.team_for(&count, body)?, self.context()?);
        let schedule = schedule(&crate::print::expression(&count), body);
        let first = self.scope.fresh(&format!("first_{index}"));
        let own_at = self.scope.fresh(&format!("own_{index}"));
        let body = self.iteration(&index, &own_at, body)?;
        let keep = CStmt::when(
            CExpr::binary(
                CBinary::Less,
                CExpr::name(own_at.clone()),
                CExpr::name(first.clone()),
            ),
            vec![
                CStmt::Assign(CExpr::name(first.clone()), CExpr::name(own_at.clone())),
                CStmt::Assign(
                    context.clone().arrow("failure"),
                    CExpr::name("own").dot("failure"),
                ),
            ],
        );
        let no_iteration = |name: String| CStmt::Declare {
            ty: CType::Scalar(ScalarType::I64),
            name,
            value: Some(CExpr::name("INT64_MAX")),
        };
        out.push(no_iteration(first.clone()));
        let inside = vec![
            self.own_context()?,
            no_iteration(own_at),
            CStmt::Pragma(format!("omp for {schedule} nowait")),
            CStmt::Count {
                index,
                width,
                count,
                body,
            },
            CStmt::when(own_has_failed(), vec![CStmt::Pragma("omp critical".into()), keep]),
        ];
        self.by_team(CStmt::Pragma(format!("omp parallel {team}")), inside, out);
        self.leave_if_failed(first, out)
    }

    /// The context that keeps a thread's own failure.
    pub fn own_context(&mut self) -> Emit<CStmt> {
        let context = crate::print::expression(&self.context()?);
        let stores = match self.unit.stores.is_empty() {
            true => String::new(),
            false => format!(", .stores = {context}->stores"),
        };
        Ok(CStmt::Declare {
            ty: CType::Named(self.unit.context.clone()),
            name: "own".into(),
            value: Some(CExpr::literal(format!(
                "{{.threads = 1, .max_depth = {context}->max_depth{stores}}}"
            ))),
        })
    }

    /// Behind a parallel loop: the call fails where `first` is an iteration.
    pub fn leave_if_failed(&mut self, first: String, out: &mut Vec<CStmt>) -> Emit<()> {
        let outer = self.region()?;
        outer.jumps = true;
        let jump = CStmt::Goto(outer.label.clone());
        let some_failed = CExpr::binary(CBinary::NotEqual, CExpr::name(first), CExpr::name("INT64_MAX"));
        out.push(CStmt::when(some_failed, vec![jump]));
        Ok(())
    }

    /// An iteration that keeps its failure in `own`, and its number in `own_at`.
    fn iteration(&mut self, index: &str, own_at: &str, body: &[Stmt]) -> Emit<Vec<CStmt>> {
        let label = format!("failed_{index}");
        let (inner, region) = self.own_region(Some(label.clone()), body)?;
        let mut out = vec![CStmt::when(own_has_failed(), vec![CStmt::Continue])];
        out.extend(inner);
        out.extend([CStmt::Continue, CStmt::Label(label)]);
        out.extend(self.releases(&region)?);
        out.push(CStmt::Assign(CExpr::name(own_at), CExpr::name(index)));
        Ok(out)
    }
}

/// `own.failure.site != 0`.
pub fn own_has_failed() -> CExpr {
    let site = CExpr::name("own").dot("failure").dot("site");
    CExpr::binary(CBinary::NotEqual, site, CExpr::literal("0"))
}

/// Whether a body writes one value that is there already. Lanes that are filled element by element would be read as a whole right afterwards,
/// for which a processor waits.
fn is_fill(body: &[Stmt]) -> bool {
    let mut stmts = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
    let first = stmts.next();
    let is_store = |stmt: &Stmt| {
        matches!(
            stmt,
            Stmt::Store {
                value: Expr::Const(_) | Expr::Var(_),
                ..
            }
        )
    };
    first.is_some_and(is_store) && stmts.next().is_none()
}
