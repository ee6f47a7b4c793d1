//! `map (scan f e)`: one scan that starts again with each row.
//!
//! ```text
//! let yss: [n][?]f32 = map (\{k} (row: [k]f32): {m} [m]f32 ->
//!   let ys: [k]f32 = scan f e row                                =>  let yss: [n][?]f32 = scan_rows f e xss
//!   in {k} ys) xss
//! ```
//!
//! Nothing is moved that the scan would not have moved, and chunks of elements are shared, not rows. Elements are scalars: a scan of
//! arrays has a state that is one.

use super::{Flattener, OverRows, op};
use almach_core::visit::{Substitution, Vars};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, ResultType, Size, Stmt, Type, Var};
use almach_prim::Prim;

impl Flattener<'_> {
    pub(super) fn map_of_scan(&mut self, over: &OverRows<'_>) -> Option<Exp> {
        let (Type::Array(_, element), [start, _]) = (&over.row.ty, over.inner.args.as_slice()) else {
            return None;
        };
        if !element.is_scalars() {
            return None;
        }
        let prim = match over.inner.prim {
            Prim::Scan => Prim::ScanRows,
            _ => Prim::ScanRowsExclusive,
        };
        let text = "`scan` inside of rows of their own sizes is one scan of all elements, which starts again with each row";
        self.log.note(over.span, text);
        Some(Exp::Op(Op {
            prim,
            args: vec![start.clone(), over.rows.clone()],
            ..over.inner.clone()
        }))
    }

    /// `map (\row -> scan f e (map g row))` as `map (scan f e) (map (map g))`.
    pub(super) fn in_two(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::Op(outer) = &stmt.exp else { return None };
        let (Prim::Map, [function], [rows]) = (outer.prim, outer.functions.as_slice(), outer.args.as_slice())
        else {
            return None;
        };
        let chain = Chain::of(function)?;
        // All maps come before all scans: of several failures another one would be first.
        let fails = |stmt: &Stmt| self.facts.can_fail(&stmt.exp);
        if fails(chain.map) && fails(chain.scan) {
            return None;
        }
        let Type::Array(Dim::Size(_), row) = self.facts.env.atom_type(rows).ok()? else {
            return None;
        };
        if !matches!(*row, Type::Array(Dim::Jagged, _)) {
            return None;
        }
        self.built(stmt, |this| {
            let first = chain.mapped(this)?;
            let made = this.bind(
                op(Prim::Map, vec![first], vec![rows.clone()]),
                "mapped",
                stmt.span,
            )?;
            let second = chain.scanned(this, function);
            Some(Exp::Op(op(Prim::Map, vec![second], vec![made])))
        })
    }
}

/// A function that maps its row and scans what that gives, neither by functions that look at the row.
struct Chain<'s> {
    size: &'s Var,
    function: &'s Lambda,
    map: &'s Stmt,
    /// What the map gives.
    mapped: &'s Var,
    element: &'s Type,
    scan: &'s Stmt,
}

impl<'s> Chain<'s> {
    fn of(function: &'s Lambda) -> Option<Chain<'s>> {
        let ([size], [row], [map, scan], [Atom::Var(given)]) = (
            function.context.as_slice(),
            function.params.as_slice(),
            function.body.stmts.as_slice(),
            function.body.values.as_slice(),
        ) else {
            return None;
        };
        let ([mapped], Exp::Op(map_op), [scanned], Exp::Op(scan_op)) = (
            map.pattern.values.as_slice(),
            &map.exp,
            scan.pattern.values.as_slice(),
            &scan.exp,
        ) else {
            return None;
        };
        let (Prim::Map, Prim::Scan | Prim::ScanExclusive) = (map_op.prim, scan_op.prim) else {
            return None;
        };
        let Type::Array(_, element) = &mapped.ty else {
            return None;
        };
        let is = |atom: &Atom, var: &Var| matches!(atom, Atom::Var(found) if found == var);
        let own = |var: &Var| *var == row.var || var == size || *var == mapped.var;
        let looks = |op: &Op| {
            let mut functions = op.functions.iter();
            functions.any(|function| Vars::of_lambda(function).free().any(own))
        };
        let ([array], [start, taken]) = (map_op.args.as_slice(), scan_op.args.as_slice()) else {
            return None;
        };
        let chained = is(array, &row.var) && is(taken, &mapped.var) && *given == scanned.var;
        let starts_alike = !matches!(start, Atom::Var(var) if own(var));
        (chained && starts_alike && element.is_scalars() && !looks(map_op) && !looks(scan_op)).then_some(
            Chain {
                size,
                function,
                map,
                mapped: &mapped.var,
                element,
                scan,
            },
        )
    }

    /// `\row -> map g row`.
    fn mapped(&self, flattener: &mut Flattener<'_>) -> Option<Lambda> {
        let size = flattener.builder.size_var("rows");
        let row = Type::array(Size::var(size.clone()), self.element.clone());
        Some(Lambda {
            context: self.function.context.clone(),
            params: self.function.params.clone(),
            result: ResultType {
                context: vec![size],
                types: vec![row],
            },
            body: Body {
                stmts: vec![self.map.clone()],
                context: vec![Atom::Var(self.size.clone())],
                values: vec![Atom::Var(self.mapped.clone())],
            },
        })
    }

    /// `\row -> scan f e row`, of rows that were mapped.
    fn scanned(&self, flattener: &mut Flattener<'_>, function: &Lambda) -> Lambda {
        let size = flattener.builder.size_var("rows");
        let row = Type::array(Size::var(size.clone()), self.element.clone());
        let row = flattener.builder.param("row", row);
        let mut given = Substitution::new();
        given.insert(self.size.clone(), Atom::Var(size.clone()));
        given.insert(self.mapped.clone(), Atom::Var(row.var.clone()));
        let mut body = Body {
            stmts: vec![self.scan.clone()],
            ..function.body.clone()
        };
        given.apply_body(&mut body);
        Lambda {
            context: vec![size],
            params: vec![row],
            result: function.result.clone(),
            body,
        }
    }
}
