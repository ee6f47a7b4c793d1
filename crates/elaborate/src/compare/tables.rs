//! Equality of recursive data, which compares unfoldings: data may be cyclic, and its parts shared.
//!
//! Two tables unfold to the same from their roots when there is a relation between their nodes that holds for the roots, and whose
//! pairs are alike but for references, which lead to pairs again. The least equivalence that holds for the roots is built as
//! Hopcroft and Karp do for automata, with a forest of classes: each step joins two classes or adds nothing, so there are at most
//! as many as nodes, however often parts are shared.
//!
//! ```text
//! loop (up = iota (n + m), sizes, left, right, next, height = 1, equal = alike root root') while equal && height > 0 do
//!   (x, y) are the pair on top; u, v the references number next[top] of both, or x, y where there are no more
//!   the smaller class of those of u and v joins the larger; where they were different, the pair (u, v) goes on top, if alike
//! ```
//!
//! The state is arrays that are updated in place, one after another; branches only choose numbers.
//!
//! Every pair that was joined was compared, so no NaN is equal to itself here either.

use super::{Comparison, body, boolean};
use crate::emit::i64_atom;
use crate::errors::{bug, ill_typed};
use crate::statics::Static;
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core as core;
use almach_core::typing::Signature;
use almach_core::{
    Arm, Atom, Body, DataId, Dim, Exp, FunId, InPlace, Lambda, Op, Param, ResultType, Size, SlicePart, Type,
};
use almach_prim::{Annotation, Prim};
use almach_value::BinOp;

/// A datum's table.
struct Table {
    root: Atom,
    /// How many nodes there are.
    count: Atom,
    /// The nodes, with 0 for every reference.
    nodes: Atom,
    /// The references of every node, in order.
    references: Atom,
}

impl<'a> Elaborator<'a> {
    /// Whether nodes of a type hold references to nodes of its tables.
    pub(super) fn refers_to_itself(&self, data: DataId, span: Span) -> Res<bool> {
        let def = self.builder.signatures.data(data);
        let def = def.map_err(|error| ill_typed(span, &error))?;
        let mut fields = def
            .constructors
            .iter()
            .flat_map(|constructor| &constructor.fields);
        Ok(fields.any(|field| self.refers(field, data)))
    }

    /// Whether a field holds references to nodes of the same table.
    fn refers(&self, ty: &Type, data: DataId) -> bool {
        match ty {
            Type::Data(id) => *id == data || self.part(*id, data).is_some(),
            Type::Tuple(parts) => parts.iter().any(|part| self.refers(part, data)),
            Type::Array(_, element) => self.refers(element, data),
            Type::Scalar(_) | Type::Vector(..) | Type::Node(_) => false,
        }
    }

    /// What a sum that holds references is in nodes.
    fn part(&self, id: DataId, data: DataId) -> Option<DataId> {
        self.builder.signatures.data(data).ok()?.part(id)
    }

    /// Roots are compared first, without what they refer to: that often tells.
    pub(super) fn equal_unfoldings(&mut self, data: DataId, a: Atom, b: Atom, span: Span) -> Res<Atom> {
        let a_number = self.constructor_number(data, &a, span)?;
        let b_number = self.constructor_number(data, &b, span)?;
        let same = self.emit_binary(BinOp::Eq, a_number, b_number, span)?;
        let (stmts, equal) = self.in_body(|this| {
            let tables = this.tables_function(data, span)?;
            let count = this.constructor_count(data, span)?;
            let mut arms = Vec::with_capacity(count);
            for at in 0..count as u32 {
                arms.push(this.root_arm(data, at, (&a, &b), tables, span)?);
            }
            this.emit_case(a, arms, None, ResultType::one(Type::BOOL), span)
        })?;
        self.emit_choice(same, body(stmts, equal), boolean(false), span)
    }

    fn root_arm(
        &mut self,
        data: DataId,
        at: u32,
        (a, b): (&Atom, &Atom),
        tables: FunId,
        span: Span,
    ) -> Res<Arm> {
        let count = self.constructor_count(data, span)?;
        let (arm, fields) = self.comparison_arm(data, a, at, span)?;
        let types = self.field_types(data, at, span)?;
        let (stmts, equal) = self.in_body(|this| {
            let (inner, others) = this.comparison_arm(data, b, at, span)?;
            let refers: Vec<bool> = types.iter().map(|ty| this.refers(ty, data)).collect();
            let own = |fields: &[Static<'a>]| -> Vec<Static<'a>> {
                let fields = fields.iter().zip(&refers);
                fields
                    .filter(|(_, refers)| !**refers)
                    .map(|(field, _)| field.clone())
                    .collect()
            };
            let (stmts, alike) =
                this.in_body(|this| this.compare_all(Comparison::Equal, &own(&fields), &own(&others), span))?;
            let arms = vec![Arm {
                body: body(stmts, alike),
                ..inner
            }];
            // Not reached: the constructors are the same.
            let default = (count > 1).then(|| body(Vec::new(), boolean(true)));
            let alike = this.emit_case(b.clone(), arms, default, ResultType::one(Type::BOOL), span)?;
            if !refers.contains(&true) {
                return Ok(alike);
            }
            let (stmts, equal) = this.in_body(|this| {
                let call = Exp::Call {
                    function: tables,
                    context: Vec::new(),
                    args: vec![a.clone(), b.clone()],
                };
                this.emit(call, "equal", span)
            })?;
            this.emit_choice(alike, body(stmts, equal), boolean(false), span)
        })?;
        Ok(Arm {
            body: body(stmts, equal),
            ..arm
        })
    }

    /// The function that compares data by their tables.
    fn tables_function(&mut self, data: DataId, span: Span) -> Res<FunId> {
        let params = vec![
            self.builder.param("a", Type::Data(data)),
            self.builder.param("b", Type::Data(data)),
        ];
        let result = ResultType::one(Type::BOOL);
        let id = self.builder.declare(Signature {
            name: "equal_tables".into(),
            context: Vec::new(),
            params: params.clone(),
            result: result.clone(),
        });
        self.functions.push(None);
        let data_of = |param: &Param| Atom::Var(param.var.clone());
        let (stmts, equal) = self.in_body(|this| {
            let mut tables = Vec::new();
            for param in &params {
                tables.push(this.table(data, data_of(param), span)?);
            }
            match tables.as_slice() {
                [left, right] => this.compare_tables(left, right, span),
                _ => Err(bug(span, "two tables are compared")),
            }
        })?;
        if let Some(slot) = self.functions.get_mut(id.0 as usize) {
            *slot = Some(core::Function {
                name: "equal_tables".into(),
                context: Vec::new(),
                params,
                result,
                body: body(stmts, equal),
                span,
            });
        }
        Ok(id)
    }

    fn table(&mut self, data: DataId, datum: Atom, span: Span) -> Res<Table> {
        let root = self.emit(plain_op(Prim::RootOf, vec![datum.clone()]), "root", span)?;
        let nodes = self.emit(plain_op(Prim::Nodes, vec![datum]), "nodes", span)?;
        let (count, _) = self.array_type(&nodes, span)?;
        let count = self.size_atom(&count, span)?;
        let references = self.each(nodes.clone(), &Type::Node(data), span, |this, node| {
            this.references_of((data, data), &node, data, span)
        })?;
        let nodes = self.each(nodes, &Type::Node(data), span, |this, node| {
            let empty = |at, fields| Exp::ConstructNode {
                data,
                constructor: at,
                fields,
            };
            this.without_references((data, data), &node, data, (&empty, Type::Node(data)), span)
        })?;
        Ok(Table {
            root,
            count,
            nodes,
            references,
        })
    }

    /// What a function makes of every element of an array.
    fn each(
        &mut self,
        array: Atom,
        element: &Type,
        span: Span,
        make: impl FnOnce(&mut Self, Atom) -> Res<Atom>,
    ) -> Res<Atom> {
        let mut context = Vec::new();
        let builder = &mut self.builder;
        let opened = element.open(&mut || {
            let var = builder.size_var("rows");
            context.push(var.clone());
            var
        });
        let param = self.builder.param("x", opened);
        let value = Atom::Var(param.var.clone());
        let (body, result) = self.sized_body(span, |this| make(this, value))?;
        let function = Lambda {
            context,
            params: vec![param],
            result,
            body,
        };
        self.emit(super::operation(Prim::Map, function, vec![array]), "each", span)
    }

    /// A body whose value comes with the sizes that it has.
    fn sized_body(
        &mut self,
        span: Span,
        inside: impl FnOnce(&mut Self) -> Res<Atom>,
    ) -> Res<(Body, ResultType)> {
        let (stmts, (value, ty, sizes, context)) = self.in_body(|this| {
            let value = inside(this)?;
            let ty = this.type_of(&value, span)?;
            let (mut sizes, mut context) = (Vec::new(), Vec::new());
            let builder = &mut this.builder;
            let ty = ty.map_dims(&mut |dim| match dim {
                Dim::Size(size) if size.as_constant().is_none() => {
                    let var = builder.size_var("k");
                    context.push(var.clone());
                    sizes.push(size.clone());
                    Dim::Size(Size::var(var))
                }
                other => other.clone(),
            });
            let sizes: Res<Vec<Atom>> = sizes.iter().map(|size| this.size_atom(size, span)).collect();
            Ok((value, ty, sizes?, context))
        })?;
        let body = Body {
            stmts,
            context: sizes,
            values: vec![value],
        };
        let result = ResultType {
            context,
            types: vec![ty],
        };
        Ok((body, result))
    }

    /// The references of a node, or of a sum in it, as an array. The sum has a type as whole data have it, and one in nodes.
    fn references_of(
        &mut self,
        (whole, shown): (DataId, DataId),
        node: &Atom,
        data: DataId,
        span: Span,
    ) -> Res<Atom> {
        let size = self.builder.size_var("k");
        let mut arms = Vec::new();
        for at in 0..self.constructor_count(whole, span)? as u32 {
            let types = self.field_types(whole, at, span)?;
            let (arm, fields) = self.comparison_arm(shown, node, at, span)?;
            let (stmts, (value, count)) = self.in_body(|this| {
                let mut all = this.emit(Exp::Array(Vec::new(), Type::I64), "none", span)?;
                for (field, ty) in fields.iter().zip(&types) {
                    let field = this.atom(field, span)?;
                    all = this.with_references(all, field, ty, data, span)?;
                }
                let (count, _) = this.array_type(&all, span)?;
                let count = this.size_atom(&count, span)?;
                Ok((all, count))
            })?;
            arms.push(Arm {
                body: Body {
                    stmts,
                    context: vec![count],
                    values: vec![value],
                },
                ..arm
            });
        }
        let result = ResultType {
            context: vec![size.clone()],
            types: vec![Type::array(Size::var(size), Type::I64)],
        };
        self.emit_case(node.clone(), arms, None, result, span)
    }

    /// References, and those of a field behind them.
    fn with_references(&mut self, all: Atom, field: Atom, ty: &Type, data: DataId, span: Span) -> Res<Atom> {
        if !self.refers(ty, data) {
            return Ok(all);
        }
        let more = match ty {
            Type::Tuple(parts) => {
                let mut all = all;
                for (at, part) in (0u32..).zip(parts) {
                    let component = self.emit(Exp::Project(field.clone(), at), "part", span)?;
                    all = self.with_references(all, component, part, data, span)?;
                }
                return Ok(all);
            }
            Type::Array(_, element) if **element == Type::Data(data) => field,
            Type::Array(_, element) => {
                let (_, shown) = self.array_type(&field, span)?;
                let rows = self.each(field, &shown, span, |this, value| {
                    let none = this.emit(Exp::Array(Vec::new(), Type::I64), "none", span)?;
                    this.with_references(none, value, element, data, span)
                })?;
                let flat = match self.array_type(&rows, span)?.1 {
                    Type::Array(Dim::Jagged, _) => Prim::Flatten,
                    _ => Prim::Join,
                };
                self.emit(plain_op(flat, vec![rows]), "flat", span)?
            }
            Type::Data(id) => match self.part(*id, data) {
                Some(shown) => self.references_of((*id, shown), &field, data, span)?,
                None => self.emit(Exp::Array(vec![field], Type::I64), "one", span)?,
            },
            _ => return Ok(all),
        };
        self.emit(plain_op(Prim::Concat, vec![all, more]), "all", span)
    }

    /// A node, or a sum in it, with 0 for every reference.
    fn without_references(
        &mut self,
        (whole, shown): (DataId, DataId),
        node: &Atom,
        data: DataId,
        (construct, ty): (&dyn Fn(u32, Vec<Atom>) -> Exp, Type),
        span: Span,
    ) -> Res<Atom> {
        let mut arms = Vec::new();
        for at in 0..self.constructor_count(whole, span)? as u32 {
            let types = self.field_types(whole, at, span)?;
            let (arm, fields) = self.comparison_arm(shown, node, at, span)?;
            let (stmts, made) = self.in_body(|this| {
                let mut own = Vec::new();
                for (field, ty) in fields.iter().zip(&types) {
                    let field = this.atom(field, span)?;
                    own.push(this.zeroed(field, ty, data, span)?);
                }
                this.emit(construct(at, own), "node", span)
            })?;
            arms.push(Arm {
                body: body(stmts, made),
                ..arm
            });
        }
        self.emit_case(node.clone(), arms, None, ResultType::one(ty), span)
    }

    fn zeroed(&mut self, field: Atom, ty: &Type, data: DataId, span: Span) -> Res<Atom> {
        if !self.refers(ty, data) {
            return Ok(field);
        }
        match ty {
            Type::Tuple(parts) => {
                let mut own = Vec::new();
                for (at, part) in (0u32..).zip(parts) {
                    let component = self.emit(Exp::Project(field.clone(), at), "part", span)?;
                    own.push(self.zeroed(component, part, data, span)?);
                }
                self.emit(Exp::Tuple(own), "parts", span)
            }
            Type::Array(_, element) => {
                let (_, shown) = self.array_type(&field, span)?;
                self.each(field, &shown, span, |this, value| {
                    this.zeroed(value, element, data, span)
                })
            }
            Type::Data(id) => match self.part(*id, data) {
                Some(shown) => {
                    let empty = |at, fields| Exp::Construct {
                        data: shown,
                        constructor: at,
                        fields,
                    };
                    let ty = Type::Data(shown);
                    self.without_references((*id, shown), &field, data, (&empty, ty), span)
                }
                None => Ok(i64_atom(0)),
            },
            _ => Ok(field),
        }
    }

    fn compare_tables(&mut self, left: &Table, right: &Table, span: Span) -> Res<Atom> {
        let all = self.emit_binary(BinOp::Add, left.count.clone(), right.count.clone(), span)?;
        let up = self.emit(plain_op(Prim::Iota, vec![all.clone()]), "up", span)?;
        let second = self.emit_binary(BinOp::Add, left.count.clone(), right.root.clone(), span)?;
        let up = self.updated(up, &second, left.root.clone(), span)?;
        let ones = self.emit(
            plain_op(Prim::Replicate, vec![all.clone(), i64_atom(1)]),
            "sizes",
            span,
        )?;
        let sizes = self.updated(ones, &left.root, i64_atom(2), span)?;
        let empty = self.emit(plain_op(Prim::Replicate, vec![all, i64_atom(0)]), "stack", span)?;
        let lefts = self.updated(empty.clone(), &i64_atom(0), left.root.clone(), span)?;
        let rights = self.updated(empty.clone(), &i64_atom(0), right.root.clone(), span)?;
        let alike = self.alike(left, &left.root, right, &right.root, span)?;
        let mut params = Vec::new();
        for (name, start) in [
            ("up", up),
            ("sizes", sizes),
            ("left", lefts),
            ("right", rights),
            ("next", empty),
            ("height", i64_atom(1)),
            ("equal", alike),
        ] {
            let ty = self.type_of(&start, span)?;
            params.push((self.builder.param(name, ty), start));
        }
        let state: Vec<Atom> = params
            .iter()
            .map(|(param, _)| Atom::Var(param.var.clone()))
            .collect();
        let [up, sizes, lefts, rights, next, height, equal] = state.as_slice() else {
            return Err(bug(span, "a comparison has seven parts"));
        };
        let (stmts, goes_on) = self.in_body(|this| {
            let some = this.emit_binary(BinOp::Gt, height.clone(), i64_atom(0), span)?;
            this.emit_binary(BinOp::And, equal.clone(), some, span)
        })?;
        let condition = body(stmts, goes_on);
        let (stmts, values) = self.in_body(|this| {
            this.compare_step((left, right), [up, sizes, lefts, rights, next, height], span)
        })?;
        let exp = Exp::Loop(Box::new(core::Loop {
            context: Vec::new(),
            params,
            form: core::LoopForm::While(condition),
            body: Body {
                stmts,
                context: Vec::new(),
                values,
            },
        }));
        let mut results = self.emit_all(exp, "compared", span)?;
        results.pop().ok_or_else(|| bug(span, "a loop without a result"))
    }

    /// One reference of the pair on top.
    fn compare_step(
        &mut self,
        (left, right): (&Table, &Table),
        [up, sizes, lefts, rights, next, height]: [&Atom; 6],
        span: Span,
    ) -> Res<Vec<Atom>> {
        let top = self.emit_binary(BinOp::Sub, height.clone(), i64_atom(1), span)?;
        let x = self.element(lefts, &top, span)?;
        let y = self.element(rights, &top, span)?;
        let number = self.element(next, &top, span)?;
        let own = self.element(&left.references, &x, span)?;
        let (count, _) = self.array_type(&own, span)?;
        let count = self.size_atom(&count, span)?;
        let more = self.emit_binary(BinOp::Lt, number.clone(), count, span)?;
        let (stmts, u) = self.in_body(|this| this.element(&own, &number, span))?;
        let u = self.emit_choice(more.clone(), body(stmts, u), x.clone(), span)?;
        let (stmts, v) = self.in_body(|this| {
            let row = this.element(&right.references, &y, span)?;
            this.element(&row, &number, span)
        })?;
        let v = self.emit_choice(more.clone(), body(stmts, v), y.clone(), span)?;
        let first = self.class_of(up, u.clone(), span)?;
        let place = self.emit_binary(BinOp::Add, left.count.clone(), v.clone(), span)?;
        let second = self.class_of(up, place, span)?;
        let joins = self.emit_binary(BinOp::Ne, first.clone(), second.clone(), span)?;
        let (up, sizes) = self.join_classes((up, sizes), &joins, &first, &second, span)?;
        let (stmts, alike) = self.in_body(|this| this.alike(left, &u, right, &v, span))?;
        let equal = self.emit_choice(joins.clone(), body(stmts, alike), boolean(true), span)?;
        // Where nothing is pushed the pair on top is written again, with its next reference.
        let after = self.emit_binary(BinOp::Add, number, i64_atom(1), span)?;
        let next = self.updated(next.clone(), &top, after.clone(), span)?;
        let at = self.emit_choice(joins.clone(), body(Vec::new(), height.clone()), top.clone(), span)?;
        let pushed = self.emit_choice(joins.clone(), body(Vec::new(), u), x, span)?;
        let lefts = self.updated(lefts.clone(), &at, pushed, span)?;
        let pushed = self.emit_choice(joins.clone(), body(Vec::new(), v), y, span)?;
        let rights = self.updated(rights.clone(), &at, pushed, span)?;
        let pushed = self.emit_choice(joins.clone(), body(Vec::new(), i64_atom(0)), after, span)?;
        let next = self.updated(next, &at, pushed, span)?;
        let higher = self.emit_binary(BinOp::Add, height.clone(), i64_atom(1), span)?;
        let lower = self.emit_choice(more, body(Vec::new(), height.clone()), top, span)?;
        let height = self.emit_choice(joins, body(Vec::new(), higher), lower, span)?;
        Ok(vec![up, sizes, lefts, rights, next, height, equal])
    }

    /// The smaller of two classes goes below the larger; of a class with itself nothing changes.
    fn join_classes(
        &mut self,
        (up, sizes): (&Atom, &Atom),
        joins: &Atom,
        first: &Atom,
        second: &Atom,
        span: Span,
    ) -> Res<(Atom, Atom)> {
        let first_size = self.element(sizes, first, span)?;
        let second_size = self.element(sizes, second, span)?;
        let is_smaller = self.emit_binary(BinOp::Lt, first_size.clone(), second_size.clone(), span)?;
        let chosen = |then: &Atom| body(Vec::new(), then.clone());
        let larger = self.emit_choice(is_smaller.clone(), chosen(second), first.clone(), span)?;
        let smaller = self.emit_choice(is_smaller, chosen(first), second.clone(), span)?;
        let both = self.emit_binary(BinOp::Add, first_size.clone(), second_size, span)?;
        let size = self.emit_choice(joins.clone(), body(Vec::new(), both), first_size, span)?;
        let up = self.updated(up.clone(), &smaller, larger.clone(), span)?;
        let sizes = self.updated(sizes.clone(), &larger, size, span)?;
        Ok((up, sizes))
    }

    /// Two nodes are alike but for what they refer to.
    fn alike(&mut self, left: &Table, x: &Atom, right: &Table, y: &Atom, span: Span) -> Res<Atom> {
        let x = self.element(&left.nodes, x, span)?;
        let y = self.element(&right.nodes, y, span)?;
        self.compare_atoms(Comparison::Equal, x, y, span)
    }

    /// The class of a node: the one at the top of its tree, which is never deeper than the logarithm of its size.
    fn class_of(&mut self, up: &Atom, node: Atom, span: Span) -> Res<Atom> {
        let at = self.builder.param("at", Type::I64);
        let here = Atom::Var(at.var.clone());
        let (stmts, goes_on) = self.in_body(|this| {
            let above = this.element(up, &here, span)?;
            this.emit_binary(BinOp::Ne, above, here.clone(), span)
        })?;
        let condition = body(stmts, goes_on);
        let (stmts, above) = self.in_body(|this| this.element(up, &here, span))?;
        let exp = Exp::Loop(Box::new(core::Loop {
            context: Vec::new(),
            params: vec![(at, node)],
            form: core::LoopForm::While(condition),
            body: body(stmts, above),
        }));
        self.emit(exp, "class", span)
    }

    fn element(&mut self, array: &Atom, at: &Atom, span: Span) -> Res<Atom> {
        let exp = Exp::Index {
            array: array.clone(),
            indices: vec![at.clone()],
        };
        self.emit(exp, "element", span)
    }

    fn updated(&mut self, array: Atom, at: &Atom, value: Atom, span: Span) -> Res<Atom> {
        let exp = Exp::Update {
            array,
            parts: vec![SlicePart::At(at.clone())],
            value,
            in_place: InPlace::WherePossible,
        };
        self.emit(exp, "updated", span)
    }

    fn emit_case(
        &mut self,
        scrutinee: Atom,
        arms: Vec<Arm>,
        default: Option<Body>,
        result: ResultType,
        span: Span,
    ) -> Res<Atom> {
        let exp = Exp::Case {
            scrutinee,
            arms,
            default,
            result,
        };
        self.emit(exp, "case", span)
    }

    /// What a body gives where the condition holds, else a scalar.
    fn emit_choice(&mut self, condition: Atom, then: Body, otherwise: Atom, span: Span) -> Res<Atom> {
        let ty = self.type_of(&otherwise, span)?;
        let exp = Exp::If {
            condition,
            then,
            otherwise: body(Vec::new(), otherwise),
            result: ResultType::one(ty),
        };
        self.emit(exp, "chosen", span)
    }

    fn field_types(&self, data: DataId, constructor: u32, span: Span) -> Res<Vec<Type>> {
        let found = self.builder.signatures.constructor(data, constructor);
        Ok(found.map_err(|error| ill_typed(span, &error))?.fields.clone())
    }
}

fn plain_op(prim: Prim, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation::NONE,
        functions: Vec::new(),
        args,
    })
}
