//! Random Imp programs: compiled C gives what the interpreter gives, values and failures.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_imp::interp::Passed;
use almach_value::ir_text::{binary_name, scalar_text, unary_name};
use almach_value::{BinOp, Scalar, ScalarType, TernOp, UnOp};
use std::fmt::Write;
use support::{Compiled, OUT, OWNED, Random, int};

/// Writes one procedure. Everything in it is defined: what can fail has a check before it.
struct Writer {
    random: Random,
    text: String,
    indent: usize,
    next: usize,
    /// Scalars in scope, with whether they may be assigned here.
    scalars: Vec<(String, ScalarType, bool)>,
    /// Buffers of `n` written cells.
    buffers: Vec<(String, ScalarType)>,
    /// Loop indices in scope; all are below `n`.
    indices: Vec<String>,
}

/// Operators whose results C computes exactly.
fn exact_unary() -> Vec<UnOp> {
    let inexact = [
        UnOp::Cbrt,
        UnOp::Exp,
        UnOp::Exp2,
        UnOp::Expm1,
        UnOp::Log,
        UnOp::Log2,
        UnOp::Log10,
        UnOp::Log1p,
        UnOp::Sin,
        UnOp::Cos,
        UnOp::Tan,
        UnOp::Asin,
        UnOp::Acos,
        UnOp::Atan,
        UnOp::Sinh,
        UnOp::Cosh,
        UnOp::Tanh,
        UnOp::Erf,
    ];
    UnOp::all().filter(|op| !inexact.contains(op)).collect()
}

impl Writer {
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize].clone()
    }

    fn ty(&mut self) -> ScalarType {
        self.pick(&ScalarType::ALL)
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    fn line(&mut self, text: impl std::fmt::Display) {
        let indent = "  ".repeat(self.indent);
        writeln!(self.text, "{indent}{text}").unwrap();
    }

    fn constant(&mut self, ty: ScalarType) -> Scalar {
        let raw = match self.random.below(4) {
            0 => self.random.next(),
            1 => self.random.below(4).wrapping_sub(2),
            _ => self.random.below(50),
        };
        match ty {
            ScalarType::F32 => Scalar::F32(raw as i8 as f32 / 4.0),
            ScalarType::F64 => Scalar::F64(raw as i16 as f64 / 8.0),
            ScalarType::Bool => Scalar::Bool(raw & 1 == 1),
            _ => Scalar::from_raw(ty, raw),
        }
    }

    /// An index below `n` (where there is a cell).
    fn index(&mut self) -> String {
        let index = match self.indices.is_empty() {
            true => return "0".into(),
            false => self.pick(&self.indices.clone()),
        };
        match self.random.below(4) {
            0 => format!("n - 1 - {index}"),
            1 => format!("(2*{index} + 1) % n"),
            2 => format!("({index}*n + {index}/2)/n"),
            _ => index,
        }
    }

    fn expr(&mut self, ty: ScalarType, depth: usize) -> String {
        let leaf = depth == 0 || self.random.below(5) == 0;
        if leaf {
            return self.leaf(ty);
        }
        match self.random.below(6) {
            0 | 1 => {
                let ops: Vec<(UnOp, ScalarType)> = exact_unary()
                    .into_iter()
                    .flat_map(|op| ScalarType::ALL.map(|from| (op, from)))
                    .filter(|(op, from)| op.result_type(*from) == Some(ty))
                    .collect();
                let (op, from) = self.pick(&ops);
                format!("{}({})", unary_name(op), self.expr(from, depth - 1))
            }
            2 if TernOp::Fma.result_type(ty).is_some() => {
                let operands: Vec<String> = (0..3).map(|_| self.expr(ty, depth - 1)).collect();
                format!("fma({})", operands.join(", "))
            }
            3 => format!(
                "select({}, {}, {})",
                self.expr(ScalarType::Bool, depth - 1),
                self.expr(ty, depth - 1),
                self.expr(ty, depth - 1)
            ),
            _ => {
                let inexact = [BinOp::Pow, BinOp::Atan2, BinOp::Hypot];
                let ops: Vec<(BinOp, ScalarType)> = BinOp::ALL
                    .into_iter()
                    .flat_map(|op| ScalarType::ALL.map(|from| (op, from)))
                    .filter(|(op, from)| {
                        op.result_type(*from) == Some(ty) && !(inexact.contains(op) && from.is_float())
                    })
                    .collect();
                let (op, from) = self.pick(&ops);
                let left = self.expr(from, depth - 1);
                let right = match op.can_fail(from) {
                    // Neither zero nor negative.
                    true => scalar_text(Scalar::from_raw(from, 1 + self.random.below(70))),
                    false => self.expr(from, depth - 1),
                };
                format!("{}({left}, {right})", binary_name(op))
            }
        }
    }

    fn leaf(&mut self, ty: ScalarType) -> String {
        let known: Vec<String> = self
            .scalars
            .iter()
            .filter(|(_, t, _)| *t == ty)
            .map(|(name, ..)| name.clone())
            .collect();
        let loads: Vec<String> = self
            .buffers
            .iter()
            .filter(|(_, t)| *t == ty)
            .map(|(name, _)| name.clone())
            .collect();
        match self.random.below(8) {
            0..=3 if !known.is_empty() => self.pick(&known),
            4..=6 if !loads.is_empty() && !self.indices.is_empty() => {
                let buffer = self.pick(&loads);
                format!("{buffer}[{}]", self.index())
            }
            6 if ty == ScalarType::I64 => format!("{{{}}}", self.index()),
            _ => scalar_text(self.constant(ty)),
        }
    }

    fn statements(&mut self, depth: usize, count: u64, parallel: bool) {
        let (scalars, buffers) = (self.scalars.len(), self.buffers.len());
        for _ in 0..1 + self.random.below(count) {
            self.statement(depth, parallel);
        }
        for (name, _) in self.buffers.split_off(buffers) {
            self.line(format_args!("free {name}"));
        }
        self.scalars.truncate(scalars);
    }

    fn statement(&mut self, depth: usize, parallel: bool) {
        let ty = self.ty();
        match self.random.below(10) {
            0 | 1 => {
                let (name, value) = (self.fresh("let"), self.expr(ty, 3));
                self.line(format_args!("let {name}: {ty} = {value}"));
                self.scalars.push((name, ty, false));
            }
            2 => {
                let (name, value) = (self.fresh("var"), self.expr(ty, 2));
                self.line(format_args!("var {name}: {ty} = {value}"));
                self.scalars.push((name, ty, true));
            }
            3 | 4 => {
                let assigned: Vec<_> = self
                    .scalars
                    .iter()
                    .filter(|(_, _, assigned)| *assigned)
                    .cloned()
                    .collect();
                if !assigned.is_empty() {
                    let (name, ty, _) = self.pick(&assigned);
                    let value = self.expr(ty, 3);
                    self.line(format_args!("{name} = {value}"));
                }
            }
            5 if depth > 0 => {
                let condition = self.expr(ScalarType::Bool, 2);
                self.nested(format_args!("if {condition} {{"), depth, parallel);
                self.text.truncate(self.text.trim_end().len());
                self.text.push_str(" else {\n");
                self.indent += 1;
                self.statements(depth - 1, 2, parallel);
                self.indent -= 1;
                self.line("}");
            }
            6 if depth > 0 => {
                let index = self.fresh("i");
                self.indices.push(index.clone());
                self.nested(format_args!("for {index} < n {{"), depth, parallel);
                self.indices.pop();
            }
            7 if !parallel => self.array(depth, ty),
            8 => {
                let condition = self.expr(ScalarType::Bool, 2);
                // Most checks hold.
                let other = self.expr(ScalarType::Bool, 1);
                let (value, number) = (self.expr(ty, 1), self.next);
                self.line(format_args!(
                    "check ({condition} | not({condition})) | {other} else E0811(\"{number}: {{}}\" 0:1-2, {value})"
                ));
                if self.random.below(12) == 0 {
                    self.line(format_args!(
                        "check {other} else E0801(\"at {number}: {{}}\" 0:3-4, {value})"
                    ));
                }
            }
            _ => {
                let name = self.fresh("value");
                let value = self.expr(ty, 4);
                self.line(format_args!("let {name}: {ty} = {value}"));
                self.scalars.push((name, ty, false));
            }
        }
    }

    fn nested(&mut self, head: impl std::fmt::Display, depth: usize, parallel: bool) {
        self.line(head);
        self.indent += 1;
        self.statements(depth - 1, 3, parallel);
        self.indent -= 1;
        self.line("}");
    }

    /// A new buffer that a parallel loop fills. It is freed at the end of the procedure.
    fn array(&mut self, depth: usize, ty: ScalarType) {
        let (name, index) = (self.fresh("buffer"), self.fresh("i"));
        let mode = ["par ", "simd ", ""][self.random.below(3) as usize];
        self.line(format_args!("buffer {name}: {ty}"));
        self.line(format_args!("alloc {name}[n]"));
        self.line(format_args!("{mode}for {index} < n {{"));
        self.indent += 1;
        self.indices.push(index.clone());
        let outside: Vec<bool> = self
            .scalars
            .iter_mut()
            .map(|scalar| std::mem::take(&mut scalar.2))
            .collect();
        let kept = self.scalars.len();
        for _ in 0..self.random.below(4) {
            self.statement(depth.min(1), true);
        }
        let value = self.expr(ty, 3);
        self.line(format_args!("{name}[{index}] = {value}"));
        self.scalars.truncate(kept);
        for (scalar, assigned) in self.scalars.iter_mut().zip(outside) {
            scalar.2 = assigned;
        }
        self.indices.pop();
        self.indent -= 1;
        self.line("}");
        self.buffers.push((name, ty));
    }
}

/// A procedure that reads two buffers, computes, and gives everything it computed.
fn procedure(at: usize, seed: u64) -> (String, Vec<ScalarType>) {
    let mut writer = Writer {
        random: Random(seed),
        text: String::new(),
        indent: 1,
        next: 0,
        // Not `n`: of loops that would run until a pointer overflows, compilers warn.
        scalars: Vec::new(),
        buffers: Vec::new(),
        indices: Vec::new(),
    };
    let (a, b, c) = (writer.ty(), writer.ty(), writer.ty());
    writer.buffers = vec![("a".into(), a), ("b".into(), b)];
    writer.scalars.push(("c".into(), c, false));
    for _ in 0..6 {
        writer.statement(2, false);
    }
    let head = format!("proc p{at}(n: i64, a: read {a}, b: read {b}, c: {c}");
    let mut params = String::new();
    let mut results = Vec::new();
    let (scalars, buffers) = (writer.scalars.clone(), writer.buffers.clone());
    for (name, ty, _) in scalars.iter().skip(1) {
        write!(params, ", {name}_result: out {ty}").unwrap();
        writer.line(format_args!("{name}_result = {name}"));
        results.push(*ty);
    }
    for (name, ty) in buffers.iter().skip(2) {
        write!(params, ", {name}_result: owned {ty}").unwrap();
        writer.line(format_args!("alloc {name}_result[n]"));
        writer.line(format_args!("swap {name}, {name}_result"));
        writer.line(format_args!("free {name}"));
    }
    let text = format!("{head}{params}) {{\n{}}}\n", writer.text);
    (text, vec![a, b, c])
}

#[test]
fn random_programs_agree() {
    let rounds: u64 = std::env::var("ALMACH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    let start: u64 = std::env::var("ALMACH_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let (mut done, mut failed) = (0, 0);
    for round in start..start + rounds {
        let procs: Vec<_> = (0..25)
            .map(|at| procedure(at, round * 1000 + at as u64))
            .collect();
        let text: String = procs.iter().map(|(text, _)| text.as_str()).collect();
        let mut compiled = Compiled::new(&text);
        let mut random = Random(round);
        for (at, (text, types)) in procs.iter().enumerate() {
            for n in [1, 2, 7] {
                let mut writer = values(&mut random);
                let mut cells = |ty: ScalarType| Passed::Buffer((0..n).map(|_| Some(writer(ty))).collect());
                let mut arguments = vec![int(n), cells(types[0]), cells(types[1])];
                arguments.push(Passed::Value(writer(types[2])));
                let proc = format!("p{at}");
                let params = compiled.checked.program().proc(&proc).unwrap().params.clone();
                for param in params.iter().skip(4) {
                    arguments.push(match param.passing {
                        almach_imp::Passing::Out => OUT,
                        _ => OWNED,
                    });
                }
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    compiled.agree(&proc, arguments)
                }));
                match result {
                    Ok(Ok(_)) => done += 1,
                    Ok(Err(_)) => failed += 1,
                    Err(_) => panic!("round {round}:\n{text}"),
                }
            }
        }
    }
    assert!(
        done > 10 * failed.min(1) && failed > 0,
        "{done} gave results, {failed} failed"
    );
}

/// Values of every kind.
fn values(random: &mut Random) -> impl FnMut(ScalarType) -> Scalar {
    let mut random = Random(random.next());
    move |ty| {
        let raw = match random.below(3) {
            0 => random.next(),
            1 => random.below(7).wrapping_sub(3),
            _ => random.below(300),
        };
        match ty {
            ScalarType::F32 if random.below(2) == 0 => Scalar::F32(raw as i16 as f32 / 4.0),
            ScalarType::F64 if random.below(2) == 0 => Scalar::F64(raw as i16 as f64 / 4.0),
            ScalarType::Bool => Scalar::Bool(raw & 1 == 1),
            _ => Scalar::from_raw(ty, raw),
        }
    }
}
