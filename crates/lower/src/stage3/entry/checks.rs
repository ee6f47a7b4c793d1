//! What is checked of arguments: tags, offsets, and sizes that must agree.

use super::{Place, Wrapper};
use crate::error::{Lowering, refuse};
use crate::facts::Facts;
use crate::stage3::expressions::index_expr;
use almach_base::Name;
use almach_core::{Type, Var};
use almach_imp::{Argument, Expr, Index, LoopMode, Site, Stmt, Width};
use almach_nat::Atom;
use almach_value::{BinOp, Failure, Scalar};

impl Wrapper<'_> {
    /// Tags of nodes are those of constructors.
    pub(super) fn check_tags(&mut self, place: &Place, constructors: usize) {
        let check = |tag: Expr| Stmt::Check {
            condition: Expr::binary(
                BinOp::Lt,
                tag.clone(),
                Expr::Const(Scalar::U32(constructors as u32)),
            ),
            site: Site {
                code: Failure::BadReference.code(),
                span: self.span,
                text: Name::from(format!("tag {{}} is of none of {constructors} constructors")),
            },
            arguments: vec![tag],
        };
        let stmt = match &place.count {
            None => check(Expr::Var(place.name.clone())),
            Some(count) => {
                let index = Name::from(format!("{}_node", place.name));
                Stmt::For {
                    index: index.clone(),
                    width: Width::W64,
                    count: count.clone(),
                    mode: LoopMode::Par,
                    body: vec![check(Expr::Load(place.name.clone(), Index::var(index)))],
                }
            }
        };
        self.body.push(stmt);
    }

    /// Offsets start at 0, do not fall, and end at the size of the data.
    pub(super) fn check_offsets(&mut self) {
        for offsets in std::mem::take(&mut self.offsets) {
            let at = |index: Index| Expr::Load(offsets.buffer.clone(), index);
            let failure = Failure::BadOffsets;
            let site = Site {
                code: failure.code(),
                span: self.span,
                text: Name::from(failure.text()),
            };
            let check = |condition: Expr| Stmt::Check {
                condition,
                site: site.clone(),
                arguments: vec![],
            };
            let first = Expr::binary(BinOp::Eq, at(Index::zero()), Expr::int(0));
            let last = Expr::binary(
                BinOp::Eq,
                at(offsets.rows.clone()),
                Expr::Var(offsets.size.clone()),
            );
            let i = Name::from(format!("{}_row", offsets.buffer));
            let here = Index::var(i.clone());
            let rises = Expr::binary(BinOp::Le, at(here.clone()), at(here + Index::one()));
            self.body.push(check(first));
            self.body.push(check(last));
            self.body.push(Stmt::For {
                index: i,
                width: Width::W64,
                count: offsets.rows.clone(),
                mode: LoopMode::Par,
                body: vec![check(rises)],
            });
        }
    }

    /// A dimension that is a variable alone gives its value; all others are checked.
    pub(super) fn solve_sizes(&mut self) -> Lowering<()> {
        let checks = std::mem::take(&mut self.checks);
        for param in &self.function.params {
            if param.ty == Type::I64 {
                let name = Name::from(format!("{}_in", param.var));
                self.sizes.insert(param.var.clone(), Index::var(name));
            }
        }
        for (name, size) in &checks {
            if let Some(var) = size.as_var()
                && self.function.context.contains(var)
            {
                self.sizes
                    .entry(var.clone())
                    .or_insert_with(|| Index::var(name.clone()));
            }
        }
        for (name, size) in checks {
            let wanted = self.index(&size)?;
            let found = Index::var(name);
            if wanted == found {
                continue;
            }
            let (wanted, found) = (index_expr(wanted), index_expr(found));
            let failure = Failure::SizeMismatch;
            self.body.push(Stmt::Check {
                condition: Expr::binary(BinOp::Eq, wanted.clone(), found.clone()),
                site: Site {
                    code: failure.code(),
                    span: self.span,
                    text: Name::from(failure.text()),
                },
                arguments: vec![wanted, found],
            });
        }
        Ok(())
    }

    pub(super) fn index(&self, size: &almach_core::Size) -> Lowering<Index> {
        if let Some(missing) = size.free_vars().find(|var| !self.sizes.contains_key(*var)) {
            return refuse(
                format!("an entry whose size `{}` no argument tells", missing.name),
                self.span,
            );
        }
        let index = size.map_vars(&|var: &Var| self.sizes.get(var).cloned().unwrap_or_else(Index::zero));
        // Nothing has such a size; the function fails before anyone wants to know it.
        Ok(match divides_by_zero(&index) {
            true => Index::zero(),
            false => index,
        })
    }

    /// The sizes the function's procedure takes, in its order.
    pub(super) fn size_arguments(&self) -> Lowering<Vec<Argument>> {
        let facts = Facts::of(self.function);
        let numbers = self.function.params.iter().filter(|param| param.ty == Type::I64);
        let numbers = numbers.map(|param| &param.var).filter(|var| facts.is_size(var));
        let all = self.function.context.iter().chain(numbers);
        all.map(|var| {
            Ok(Argument::Value(index_expr(
                self.index(&almach_core::Size::var(var.clone()))?,
            )))
        })
        .collect()
    }
}

fn divides_by_zero(index: &Index) -> bool {
    index
        .terms()
        .iter()
        .flat_map(|(monomial, _)| monomial.factors())
        .any(|(atom, _)| match atom {
            Atom::Var(_) => false,
            Atom::Quotient(ratio) | Atom::Remainder(ratio) => {
                ratio.divisor.is_zero() || divides_by_zero(&ratio.dividend) || divides_by_zero(&ratio.divisor)
            }
            Atom::Unfolded(operation) => {
                divides_by_zero(&operation.left) || divides_by_zero(&operation.right)
            }
        })
}
