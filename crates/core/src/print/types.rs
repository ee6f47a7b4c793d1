//! Types of Core and of the border.

use super::Printer;
use super::words::{quoted, word};
use crate::ir::{Dim, Type};
use almach_value::{DimType, ValueType};
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Scalar(ty) => put!(self, "{ty}"),
            Type::Vector(width, ty) => put!(self, "vec {width} {ty}"),
            Type::Tuple(parts) => {
                self.out.push('(');
                self.separated(parts, |printer, part| printer.ty(part));
                self.out.push_str(if parts.len() == 1 { ",)" } else { ")" });
            }
            Type::Array(Dim::Size(size), element) => {
                let names = &self.names;
                let size = size.display(|var, f| f.write_str(&names.var(var))).to_string();
                put!(self, "[{size}]");
                self.ty(element);
            }
            Type::Array(Dim::Jagged, element) => {
                self.out.push_str("[?]");
                self.ty(element);
            }
            Type::Data(id) => put!(self, "{}", self.names.data(id.0)),
            Type::Node(id) => put!(self, "#{}", self.names.data(id.0)),
        }
    }

    pub(super) fn value_type(&mut self, ty: &ValueType) {
        match ty {
            ValueType::Scalar(ty) => put!(self, "{ty}"),
            ValueType::Vector(width, ty) => put!(self, "vec {width} {ty}"),
            ValueType::Tuple(parts) => {
                self.out.push('(');
                self.separated(parts, |printer, part| printer.value_type(part));
                self.out.push_str(if parts.len() == 1 { ",)" } else { ")" });
            }
            ValueType::Record(fields) => {
                self.out.push('{');
                self.separated(fields, |printer, (name, ty)| {
                    put!(printer, "{}: ", word(name));
                    printer.value_type(ty);
                });
                self.out.push('}');
            }
            ValueType::Array(dim, element) => {
                match dim {
                    DimType::Known(size) => put!(self, "[{size}]"),
                    DimType::Named(name) => put!(self, "[{}]", word(name)),
                    DimType::Expression(text) => put!(self, "[= {}]", quoted(text)),
                    DimType::Unknown => self.out.push_str("[]"),
                    DimType::Jagged => self.out.push_str("[?]"),
                }
                self.value_type(element);
            }
            ValueType::Sum(sum) => {
                let part = if sum.part { "part " } else { "" };
                put!(self, "sum {part}{} (", quoted(&sum.name));
                for (at, constructor) in sum.constructors.iter().enumerate() {
                    put!(
                        self,
                        "{}{}",
                        if at == 0 { "" } else { " | " },
                        word(&constructor.name)
                    );
                    for field in &constructor.fields {
                        self.out.push(' ');
                        self.value_type(field);
                    }
                }
                self.out.push(')');
            }
            ValueType::Recursive(name) => put!(self, "rec {}", quoted(name)),
        }
    }
}
