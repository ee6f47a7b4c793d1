//! The body of a loop whose datum is a root and a table.

use super::{Parts, one, parts_of};
use almach_base::Span;
use almach_core::build::Builder;
use almach_core::visit::{Substitution, Walk, WalkMut};
use almach_core::{Arm, Atom, Body, DataId, Dim, Exp, Op, Param, Pattern, ResultType, Size, Stmt, Type, Var};
use almach_prim::Prim;
use std::collections::{HashMap, HashSet};

pub(super) struct Unpack<'b> {
    builder: &'b mut Builder,
    data: DataId,
    /// The size of its tables.
    count: Var,
    known: HashMap<Var, Parts>,
    /// Sums that held data, and hold positions now.
    sums: HashMap<Var, Sum>,
    /// Data that are no longer there.
    gone: HashSet<Var>,
    /// Sizes of tables.
    sizes: Substitution,
    outcome: Outcome,
}

/// A sum in a node of the table.
#[derive(Clone)]
struct Sum {
    value: Atom,
    /// Its type there.
    data: DataId,
    table: Atom,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fine,
    /// Something needs the datum itself, or is given one that comes from elsewhere.
    Failed,
}

impl<'b> Unpack<'b> {
    pub(super) fn new(builder: &'b mut Builder, data: DataId, count: Var) -> Unpack<'b> {
        Unpack {
            builder,
            data,
            count,
            known: HashMap::new(),
            sums: HashMap::new(),
            gone: HashSet::new(),
            sizes: Substitution::new(),
            outcome: Outcome::Fine,
        }
    }

    /// From now on the datum is its parts.
    pub(super) fn know(&mut self, datum: &Var, parts: Parts) {
        self.known.insert(datum.clone(), parts);
        self.gone.insert(datum.clone());
    }

    /// Whether nothing is left of the data that are gone.
    pub(super) fn is_done(&self, exp: &Exp) -> bool {
        struct Left<'g> {
            gone: &'g HashSet<Var>,
            found: bool,
        }
        impl Walk for Left<'_> {
            fn atom(&mut self, atom: &Atom) {
                self.found |= matches!(atom, Atom::Var(var) if self.gone.contains(var));
            }
        }
        let mut left = Left {
            gone: &self.gone,
            found: false,
        };
        left.exp(exp);
        self.outcome == Outcome::Fine && !left.found
    }

    fn fail(&mut self) {
        self.outcome = Outcome::Failed;
    }

    fn parts(&self, atom: &Atom) -> Option<&Parts> {
        match atom {
            Atom::Var(var) => self.known.get(var),
            Atom::Const(_) => None,
        }
    }

    fn sum(&self, atom: &Atom) -> Option<&Sum> {
        match atom {
            Atom::Var(var) => self.sums.get(var),
            Atom::Const(_) => None,
        }
    }

    fn table_type(&self) -> Type {
        let size = Dim::Size(Size::var(self.count.clone()));
        Type::Array(size, Box::new(Type::Node(self.data)))
    }

    fn is_datum(&self, ty: &Type) -> bool {
        *ty == Type::Data(self.data)
    }

    /// The body with the values at these places as root and table.
    pub(super) fn body(&mut self, body: &Body, data: &[usize]) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for stmt in &body.stmts {
            self.stmt(stmt, &mut stmts);
        }
        let mut values = Vec::with_capacity(body.values.len() + data.len());
        for (at, value) in body.values.iter().enumerate() {
            match (data.contains(&at), self.parts(value).cloned()) {
                (false, _) => values.push(value.clone()),
                (true, Some(parts)) => values.extend([parts.root, parts.table]),
                (true, None) => self.fail(),
            }
        }
        let context = body.context.iter().map(|atom| self.sizes.of_atom(atom)).collect();
        Body {
            stmts,
            context,
            values: values.iter().map(|atom| self.sizes.of_atom(atom)).collect(),
        }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        match &stmt.exp {
            Exp::Op(op) if matches!(op.prim, Prim::Nodes | Prim::RootOf) => self.asked(stmt, op, out),
            Exp::Op(op) if op.prim == Prim::FromNodes => {
                self.made(stmt, op);
                self.plain(stmt, out);
            }
            Exp::If {
                condition,
                then,
                otherwise,
                result,
            } => {
                let data = self.data_of(result);
                let exp = Exp::If {
                    condition: condition.clone(),
                    then: self.body(then, &data),
                    otherwise: self.body(otherwise, &data),
                    result: self.result(result),
                };
                let pattern = self.pattern(&stmt.pattern, &data);
                out.push(Stmt {
                    pattern,
                    exp,
                    span: stmt.span,
                });
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => {
                let data = self.data_of(result);
                let (scrutinee, arms) = match (self.parts(scrutinee).cloned(), self.sum(scrutinee).cloned()) {
                    (Some(parts), _) => self.case_of_node(&parts, arms, &data, stmt.span, out),
                    (None, Some(sum)) => {
                        let arms = self.arms_of_sum(&sum, arms, &data);
                        (sum.value, arms)
                    }
                    (None, None) => {
                        let arms = arms.iter().map(|arm| self.arm(arm, arm.fields.clone(), &data));
                        (scrutinee.clone(), arms.collect())
                    }
                };
                let exp = Exp::Case {
                    scrutinee,
                    arms,
                    default: default.as_ref().map(|body| self.body(body, &data)),
                    result: self.result(result),
                };
                let pattern = self.pattern(&stmt.pattern, &data);
                out.push(Stmt {
                    pattern,
                    exp,
                    span: stmt.span,
                });
            }
            _ => self.plain(stmt, out),
        }
    }

    fn plain(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let mut stmt = stmt.clone();
        self.sizes.exp(&mut stmt.exp);
        self.sizes.apply_pattern(&mut stmt.pattern);
        out.push(stmt);
    }

    /// The nodes or the root of the datum are there already.
    fn asked(&mut self, stmt: &Stmt, op: &Op, out: &mut Vec<Stmt>) {
        let Some(parts) = op.args.first().and_then(|datum| self.parts(datum)).cloned() else {
            return self.plain(stmt, out);
        };
        for size in &stmt.pattern.context {
            self.sizes.insert(size.clone(), Atom::Var(self.count.clone()));
        }
        let mut pattern = Pattern {
            context: Vec::new(),
            values: stmt.pattern.values.clone(),
        };
        self.sizes.apply_pattern(&mut pattern);
        let copied = match op.prim {
            Prim::Nodes => parts.table,
            _ => parts.root,
        };
        out.push(Stmt {
            pattern,
            exp: Exp::Atom(copied),
            span: stmt.span,
        });
    }

    /// A datum with a table of the same size may be the next.
    fn made(&mut self, stmt: &Stmt, op: &Op) {
        let ([root, table], [value]) = (op.args.as_slice(), stmt.pattern.values.as_slice()) else {
            return;
        };
        let Ok(ty) = self.builder.type_of(table) else {
            return;
        };
        let ty = self.builder.env.normalise(&self.sizes.of_type(&ty));
        if ty == self.table_type() {
            let parts = Parts {
                root: root.clone(),
                table: table.clone(),
            };
            self.known.insert(value.var.clone(), parts);
        }
    }

    /// Where a branch gives data.
    fn data_of(&self, result: &ResultType) -> Vec<usize> {
        let types = result.types.iter().enumerate();
        types
            .filter(|(_, ty)| self.is_datum(ty))
            .map(|(at, _)| at)
            .collect()
    }

    fn result(&self, result: &ResultType) -> ResultType {
        let mut types = Vec::with_capacity(result.types.len());
        for ty in &result.types {
            match self.is_datum(ty) {
                true => types.extend([Type::I64, self.table_type()]),
                false => types.push(self.sizes.of_type(ty)),
            }
        }
        ResultType {
            context: result.context.clone(),
            types,
        }
    }

    fn pattern(&mut self, pattern: &Pattern, data: &[usize]) -> Pattern {
        let mut values = Vec::with_capacity(pattern.values.len() + data.len());
        for (at, value) in pattern.values.iter().enumerate() {
            if !data.contains(&at) {
                values.push(value.clone());
                continue;
            }
            let root = self.builder.param("root", Type::I64);
            let table = self.builder.param("table", self.table_type());
            self.know(&value.var, parts_of(&root, &table));
            values.extend([root, table]);
        }
        let mut pattern = Pattern {
            context: pattern.context.clone(),
            values,
        };
        self.sizes.apply_pattern(&mut pattern);
        pattern
    }

    /// A `case` of the datum is one of its node.
    fn case_of_node(
        &mut self,
        parts: &Parts,
        arms: &[Arm],
        data: &[usize],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> (Atom, Vec<Arm>) {
        let node = self.builder.param("node", Type::Node(self.data));
        let scrutinee = Atom::Var(node.var.clone());
        let index = Stmt {
            pattern: one(node),
            exp: Exp::Index {
                array: parts.table.clone(),
                indices: vec![parts.root.clone()],
            },
            span,
        };
        out.push(index);
        let arms = arms
            .iter()
            .map(|arm| {
                let types = self.builder.signatures.node_fields(self.data, arm.constructor);
                let fields = self.with_positions(arm, &types.unwrap_or_default(), &parts.table);
                self.arm(arm, fields, data)
            })
            .collect();
        (scrutinee, arms)
    }

    /// The arms of a `case` of a sum that holds positions now.
    fn arms_of_sum(&mut self, sum: &Sum, arms: &[Arm], data: &[usize]) -> Vec<Arm> {
        arms.iter()
            .map(|arm| {
                let constructor = self.builder.signatures.constructor(sum.data, arm.constructor);
                let types = constructor.map(|it| it.fields.clone()).unwrap_or_default();
                let fields = self.with_positions(arm, &types, &sum.table);
                self.arm(arm, fields, data)
            })
            .collect()
    }

    /// The fields of an arm, with positions in place of data.
    fn with_positions(&mut self, arm: &Arm, types: &[Type], table: &Atom) -> Vec<Param> {
        let mut fields = Vec::with_capacity(arm.fields.len());
        for (at, field) in arm.fields.iter().enumerate() {
            let name = field.var.name.clone();
            match types.get(at) {
                Some(_) if self.is_datum(&field.ty) => {
                    let position = self.builder.param(name, Type::I64);
                    let (root, table) = (Atom::Var(position.var.clone()), table.clone());
                    self.know(&field.var, Parts { root, table });
                    fields.push(position);
                }
                Some(ty) if *ty == field.ty => fields.push(field.clone()),
                Some(Type::Data(data)) => {
                    let param = self.builder.param(name, Type::Data(*data));
                    let sum = Sum {
                        value: Atom::Var(param.var.clone()),
                        data: *data,
                        table: table.clone(),
                    };
                    self.sums.insert(field.var.clone(), sum);
                    self.gone.insert(field.var.clone());
                    fields.push(param);
                }
                // A tuple or an array of references is none of data.
                _ => {
                    self.fail();
                    fields.push(field.clone());
                }
            }
        }
        fields
    }

    fn arm(&mut self, arm: &Arm, fields: Vec<Param>, data: &[usize]) -> Arm {
        Arm {
            constructor: arm.constructor,
            context: arm.context.clone(),
            fields,
            body: self.body(&arm.body, data),
        }
    }
}
