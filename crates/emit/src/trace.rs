//! `trace`: a value as a line of text, written at once so that lines of several threads do not mix.
//!
//! ```text
//! {
//!   struct text line = {0};
//!   put_text(&line, "xs: [");
//!   for (int64_t i = 0; i < n; i++) {
//!     if (i > 0) put_text(&line, ", ");
//!     show_i32(&line, xs[i], false);
//!   }
//!   …
//!   end_line(&line);
//! }
//! ```

use crate::helpers::Helper;
use crate::procedure::Emitter;
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use almach_base::{Diagnostic, Name};
use almach_imp::{Argument, Width};
use almach_value::{DimType, ScalarType, ValueType};

type Emit<T> = Result<T, Box<Diagnostic>>;

/// Where a value stands: an argument of a constructor needs parentheses when it is more than one word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Argument,
}

/// The line that is being written, and the slots that are left.
struct Line<'s> {
    name: String,
    slots: std::slice::Iter<'s, Argument>,
}

impl Line<'_> {
    fn pointer(&self) -> CExpr {
        CExpr::unary(CUnary::Address, CExpr::name(self.name.clone()))
    }
}

impl Emitter<'_> {
    pub fn trace(
        &mut self,
        label: &Name,
        ty: &ValueType,
        arguments: &[Argument],
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let mut line = Line {
            name: self.scope.fresh("line"),
            slots: arguments.iter(),
        };
        let mut block = vec![CStmt::Declare {
            ty: CType::Named("struct text".into()),
            name: line.name.clone(),
            value: Some(CExpr::literal("{0}")),
        }];
        self.put(&line, &format!("{label}: "), &mut block);
        self.show(ty, Place::Free, None, &mut line, &mut block)?;
        block.push(CStmt::Do(CExpr::call("end_line", [line.pointer()])));
        out.push(CStmt::Block(block));
        Ok(())
    }

    fn put(&mut self, line: &Line<'_>, text: &str, out: &mut Vec<CStmt>) {
        let put = self.helpers.need(Helper::Text);
        let text = CExpr::literal(crate::print::string_literal(text));
        out.push(CStmt::Do(CExpr::call(put, [line.pointer(), text])));
    }

    /// Prints a value; inside arrays it is the one at a place of every buffer.
    fn show(
        &mut self,
        ty: &ValueType,
        place: Place,
        at: Option<&CExpr>,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        match ty {
            ValueType::Scalar(scalar) => {
                let value = self.slot(at, line)?;
                self.show_scalar(*scalar, value, place, line, out);
                Ok(())
            }
            ValueType::Vector(width, scalar) => self.show_vector(*width, *scalar, place, at, line, out),
            ValueType::Tuple(parts) => {
                let parts: Vec<&ValueType> = parts.iter().collect();
                self.show_parts(&parts, at, line, out)
            }
            ValueType::Record(fields) => {
                let parts: Vec<&ValueType> = fields.iter().map(|(_, field)| field).collect();
                self.show_parts(&parts, at, line, out)
            }
            ValueType::Array(dim, element) => match (dim, at) {
                (DimType::Jagged, Some(row)) => self.show_row(element, row, line, out),
                _ => self.show_array(element, at, line, out),
            },
            ValueType::Sum(sum) => {
                let tag = self.slot(at, line)?;
                let mut branches = Vec::new();
                for constructor in &sum.constructors {
                    let mut body = Vec::new();
                    let closed = place == Place::Argument && !constructor.fields.is_empty();
                    let open = if closed { "(" } else { "" };
                    self.put(line, &format!("{open}{}", constructor.name), &mut body);
                    for field in &constructor.fields {
                        self.put(line, " ", &mut body);
                        self.show(field, Place::Argument, at, line, &mut body)?;
                    }
                    if closed {
                        self.put(line, ")", &mut body);
                    }
                    branches.push(body);
                }
                if branches.len() < 2 {
                    out.push(CStmt::unused(tag.clone()));
                }
                let mut otherwise = branches.pop().unwrap_or_default();
                for (number, then) in branches.into_iter().enumerate().rev() {
                    let number = CExpr::literal(number.to_string());
                    otherwise = vec![CStmt::If {
                        condition: CExpr::binary(CBinary::Equal, tag.clone(), number),
                        then,
                        otherwise,
                    }];
                }
                out.extend(otherwise);
                Ok(())
            }
            ValueType::Recursive(_) => Err(self.bug("recursive data in a trace")),
        }
    }

    fn slot(&mut self, at: Option<&CExpr>, line: &mut Line<'_>) -> Emit<CExpr> {
        let value = self.passed(line.slots.next())?;
        Ok(match at {
            Some(at) => value.at(at.clone()),
            None => value,
        })
    }

    fn show_scalar(
        &mut self,
        scalar: ScalarType,
        value: CExpr,
        place: Place,
        line: &Line<'_>,
        out: &mut Vec<CStmt>,
    ) {
        let show = self.helpers.need(Helper::Show(scalar));
        let closed = CExpr::literal(if place == Place::Argument { "true" } else { "false" });
        out.push(CStmt::Do(CExpr::call(show, [line.pointer(), value, closed])));
    }

    fn show_vector(
        &mut self,
        width: u32,
        scalar: ScalarType,
        place: Place,
        at: Option<&CExpr>,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let (open, close) = match place {
            Place::Free => ("vec [", "]"),
            Place::Argument => ("(vec [", "])"),
        };
        self.put(line, open, out);
        let buffer = match at {
            Some(_) => Some(self.passed(line.slots.next())?),
            None => None,
        };
        for lane in 0..width {
            if lane > 0 {
                self.put(line, ", ", out);
            }
            let value = match (&buffer, at) {
                (Some(buffer), Some(at)) => {
                    let first =
                        CExpr::binary(CBinary::Multiply, at.clone(), CExpr::literal(width.to_string()));
                    let lane = CExpr::literal(lane.to_string());
                    buffer.clone().at(CExpr::binary(CBinary::Add, first, lane))
                }
                _ => self.passed(line.slots.next())?,
            };
            self.show_scalar(scalar, value, Place::Free, line, out);
        }
        self.put(line, close, out);
        Ok(())
    }

    fn show_parts(
        &mut self,
        parts: &[&ValueType],
        at: Option<&CExpr>,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        self.put(line, "(", out);
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                self.put(line, ", ", out);
            }
            self.show(part, Place::Free, at, line, out)?;
        }
        self.put(line, ")", out);
        Ok(())
    }

    fn show_array(
        &mut self,
        element: &ValueType,
        at: Option<&CExpr>,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let count = self.passed(line.slots.next())?;
        let first = at.map(|at| CExpr::binary(CBinary::Multiply, at.clone(), count.clone()));
        self.show_elements(element, first, count, line, out)
    }

    /// A row of its own size.
    fn show_row(
        &mut self,
        element: &ValueType,
        row: &CExpr,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let offsets = self.passed(line.slots.next())?;
        // The number of elements of all rows.
        let total = self.passed(line.slots.next())?;
        out.push(CStmt::unused(total));
        let next = CExpr::binary(CBinary::Add, row.clone(), CExpr::literal("1"));
        let begin = offsets.clone().at(row.clone());
        let count = CExpr::binary(CBinary::Subtract, offsets.at(next), begin.clone());
        self.show_elements(element, Some(begin), count, line, out)
    }

    /// That many elements from one on.
    fn show_elements(
        &mut self,
        element: &ValueType,
        first: Option<CExpr>,
        count: CExpr,
        line: &mut Line<'_>,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let index = self.scope.fresh("i");
        let own = CExpr::name(index.clone());
        let flat = match first {
            Some(first) => CExpr::binary(CBinary::Add, first, own.clone()),
            None => own.clone(),
        };
        self.put(line, "[", out);
        let mut separator = Vec::new();
        self.put(line, ", ", &mut separator);
        let mut body = vec![CStmt::when(
            CExpr::binary(CBinary::Greater, own, CExpr::literal("0")),
            separator,
        )];
        self.show(element, Place::Free, Some(&flat), line, &mut body)?;
        out.push(CStmt::Count {
            index,
            width: Width::W64,
            count,
            body,
        });
        self.put(line, "]", out);
        Ok(())
    }
}
