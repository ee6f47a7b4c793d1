//! Random trees, to print and parse back.

use super::tests::support::Random;
use crate::ast::*;
use almach_base::{Name, Span};
use almach_prim::{Annotation, Chunk, Effect, Level};
use almach_value::{BinOp, ScalarType, UnOp};

const NAMES: &[&str] = &["x", "f", "xs'", "_y", "data", "map", "fun", "i32"];
const CAPITALS: &[&str] = &["Some", "Cons", "T"];

pub struct Trees<'r> {
    pub random: &'r mut Random,
}

impl Trees<'_> {
    fn name(&mut self) -> Name {
        Name::from(*self.random.pick(NAMES))
    }

    fn ident(&mut self) -> Ident {
        Ident {
            name: self.name(),
            span: Span::NONE,
        }
    }

    fn capital(&mut self) -> Ident {
        Ident {
            name: Name::from(*self.random.pick(CAPITALS)),
            span: Span::NONE,
        }
    }

    fn path(&mut self, name: Ident) -> Path {
        let qualifier = (self.random.below(4) == 0).then(|| Ident {
            name: Name::from("M"),
            span: Span::NONE,
        });
        Path {
            qualifier,
            name,
            span: Span::NONE,
        }
    }

    fn some<T>(&mut self, least: usize, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.random.below(most - least + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.random.below(2) == 0).then(|| make(self))
    }

    pub fn expr(&mut self, size: usize) -> Expr {
        let kind = match size.checked_sub(1) {
            None => self.leaf(),
            Some(size) => self.node(size),
        };
        Expr {
            kind,
            span: Span::NONE,
        }
    }

    fn boxed(&mut self, size: usize) -> Box<Expr> {
        Box::new(self.expr(size))
    }

    fn leaf(&mut self) -> ExprKind {
        match self.random.below(10) {
            0 => ExprKind::Int {
                value: self.random.next().into(),
                suffix: None,
            },
            1 => ExprKind::Int {
                value: 7,
                suffix: Some(ScalarType::U8),
            },
            2 => ExprKind::Float {
                text: Name::from("1.5e-3"),
                suffix: self.maybe(|_| ScalarType::F32),
            },
            3 => ExprKind::Bool(self.random.below(2) == 0),
            4 => ExprKind::Str(vec![b'a', b'"', b'\\', 0xff, b'\n', 0]),
            5 => {
                let name = self.capital();
                ExprKind::Constructor(self.path(name))
            }
            6 => {
                let name = self.capital();
                ExprKind::NodeConstructor(self.path(name))
            }
            7 => ExprKind::Annotated {
                name: Path {
                    qualifier: None,
                    name: self.ident(),
                    span: Span::NONE,
                },
                annotation: Annotation {
                    level: Some(*self.random.pick(&[Level::Par, Level::Grid(1), Level::Local(0)])),
                    effect: self.maybe(|_| Effect::Destination),
                    chunk: self.maybe(|_| Chunk::MIN),
                },
            },
            8 => ExprKind::Operator(self.operator()),
            _ => {
                let name = self.ident();
                ExprKind::Var(self.path(name))
            }
        }
    }

    fn operator(&mut self) -> BinaryOp {
        use BinOp::*;
        let scalar = [
            Add, Sub, Mul, Div, Rem, Pow, Shl, Shr, And, Or, Xor, Eq, Ne, Lt, Le, Gt, Ge,
        ];
        match self.random.below(7) {
            0 => BinaryOp::LogicalAnd,
            1 => BinaryOp::LogicalOr,
            2 => BinaryOp::Concat,
            3 => BinaryOp::PipeRight,
            4 => BinaryOp::PipeLeft,
            _ => BinaryOp::Scalar(*self.random.pick(&scalar)),
        }
    }

    fn node(&mut self, size: usize) -> ExprKind {
        match self.random.below(27) {
            0..=2 => ExprKind::Apply(
                self.boxed(size / 2),
                self.some(1, 3, |trees| trees.expr(size / 3)),
            ),
            3 => ExprKind::Lambda(self.params(), self.boxed(size)),
            4 => ExprKind::Let(
                self.some(1, 3, |trees| trees.binding(size / 2)),
                self.boxed(size / 2),
            ),
            5 => ExprKind::If(self.boxed(size / 3), self.boxed(size / 3), self.boxed(size / 3)),
            6 | 7 => ExprKind::Case(self.boxed(size / 2), self.some(1, 3, |trees| trees.arm(size / 2))),
            8 => match self.random.below(3) {
                0 => ExprKind::Tuple(Vec::new()),
                _ => ExprKind::Tuple(self.some(2, 3, |trees| trees.expr(size / 2))),
            },
            9 => ExprKind::Record(self.some(1, 3, |trees| (trees.ident(), trees.expr(size / 2)))),
            10 => ExprKind::Project(self.boxed(size), self.random.below(12) as u32),
            11 => ExprKind::Field(self.boxed(size), self.ident()),
            12 => ExprKind::Index(
                self.boxed(size / 2),
                self.some(1, 2, |trees| trees.index(size / 3)),
            ),
            13 => ExprKind::Range(self.boxed(size / 2), self.boxed(size / 2)),
            14 => ExprKind::Array(self.some(0, 3, |trees| trees.expr(size / 2))),
            15 => {
                let op = *self.random.pick(&[UnOp::Neg, UnOp::Not, UnOp::Complement]);
                ExprKind::Unary(UnaryOp::Scalar(op), self.boxed(size))
            }
            16..=19 => ExprKind::Binary(
                self.operator(),
                Span::NONE,
                self.boxed(size / 2),
                self.boxed(size / 2),
            ),
            20 => ExprKind::LeftSection(self.operator(), self.boxed(size)),
            21 => match self.operator() {
                BinaryOp::Scalar(BinOp::Sub) => ExprKind::RightSection(BinaryOp::Concat, self.boxed(size)),
                op => ExprKind::RightSection(op, self.boxed(size)),
            },
            22 => ExprKind::Loop(Box::new(self.loop_form(size))),
            23 => ExprKind::With {
                array: self.boxed(size / 2),
                indices: self.some(1, 2, |trees| trees.index(size / 3)),
                value: self.boxed(size / 2),
                in_place: *self.random.pick(&[InPlace::Required, InPlace::WherePossible]),
            },
            24 => match self.random.below(2) {
                0 => ExprKind::Assert {
                    condition: self.boxed(size / 2),
                    text: Name::from("a \"b\"\n"),
                    body: self.boxed(size / 2),
                },
                _ => ExprKind::Trace {
                    label: Name::from("l"),
                    body: self.boxed(size),
                },
            },
            25 => match self.random.below(2) {
                0 => ExprKind::Ascribe(self.boxed(size), Box::new(self.ty(2))),
                _ => ExprKind::Coerce(self.boxed(size), Box::new(self.ty(2))),
            },
            _ => ExprKind::Foreach {
                node: Box::new(self.pattern(2)),
                datum: self.boxed(size / 2),
                rename: self.ident(),
                down: self.ident(),
                body: self.boxed(size / 2),
            },
        }
    }

    fn params(&mut self) -> Vec<Param> {
        self.some(1, 3, |trees| Param {
            pattern: trees.pattern(2),
        })
    }

    fn binding(&mut self, size: usize) -> Binding {
        match self.random.below(3) {
            0 => Binding::Value {
                pattern: self.pattern(2),
                value: self.expr(size),
                span: Span::NONE,
            },
            1 => {
                let params = self.params();
                Binding::Functions(vec![self.def(size, Recursive::No, params)])
            }
            _ => Binding::Functions(self.some(1, 2, |trees| trees.def(size / 2, Recursive::Yes, Vec::new()))),
        }
    }

    fn def(&mut self, size: usize, recursive: Recursive, params: Vec<Param>) -> Def {
        Def {
            kind: DefKind::Local,
            recursive,
            name: self.ident(),
            sizes: self.some(0, 2, Self::ident),
            params,
            result: self.maybe(|trees| trees.ty(2)),
            body: self.expr(size),
            span: Span::NONE,
        }
    }

    fn arm(&mut self, size: usize) -> Arm {
        Arm {
            pattern: self.pattern(2),
            guard: self.maybe(|trees| trees.expr(size / 2)),
            body: self.expr(size / 2),
            span: Span::NONE,
        }
    }

    fn index(&mut self, size: usize) -> IndexArg {
        match self.random.below(3) {
            0 => IndexArg::At(self.expr(size)),
            choice => IndexArg::Slice {
                begin: self.maybe(|trees| trees.expr(size / 2)),
                end: match choice {
                    1 => self.maybe(|trees| trees.expr(size / 2)),
                    _ => Some(self.expr(size / 2)),
                },
                bound: match choice {
                    1 => SliceBound::Before,
                    _ => SliceBound::Count,
                },
                step: self.maybe(|trees| trees.expr(size / 2)),
                span: Span::NONE,
            },
        }
    }

    fn loop_form(&mut self, size: usize) -> Loop {
        Loop {
            pattern: self.pattern(2),
            initial: self.maybe(|trees| trees.expr(size / 2)),
            form: match self.random.below(2) {
                0 => LoopForm::While(self.expr(size / 2)),
                _ => LoopForm::For {
                    index: self.ident(),
                    bound: self.expr(size / 2),
                },
            },
            body: self.expr(size / 2),
        }
    }

    pub fn pattern(&mut self, size: usize) -> Pattern {
        let kind = match (self.random.below(9), size.checked_sub(1)) {
            (0, _) => PatternKind::Wildcard,
            (1, _) => PatternKind::Int {
                value: 3,
                negative: *self.random.pick(&[Negative::Yes, Negative::No]),
                suffix: None,
            },
            (2, _) => PatternKind::Float {
                text: Name::from("0.5"),
                negative: *self.random.pick(&[Negative::Yes, Negative::No]),
                suffix: Some(ScalarType::F64),
            },
            (3, _) => PatternKind::Bool(true),
            (4, Some(size)) => PatternKind::Tuple(self.some(2, 3, |trees| trees.pattern(size))),
            (5, Some(size)) => {
                PatternKind::Record(self.some(1, 3, |trees| (trees.ident(), trees.pattern(size))))
            }
            (6, Some(size)) => {
                let name = self.capital();
                PatternKind::Constructor(self.path(name), self.some(0, 2, |trees| trees.pattern(size)))
            }
            (7, Some(size)) => {
                let name = self.capital();
                PatternKind::NodeConstructor(self.path(name), self.some(0, 2, |trees| trees.pattern(size)))
            }
            (8, Some(size)) => PatternKind::Ascribed(Box::new(self.pattern(size)), self.ty(2)),
            _ => PatternKind::Var(self.name()),
        };
        Pattern {
            kind,
            span: Span::NONE,
        }
    }

    pub fn ty(&mut self, size: usize) -> TypeExpr {
        let kind = match (self.random.below(8), size.checked_sub(1)) {
            (0, _) => TypeKind::Var(Name::from("a")),
            (1, Some(size)) => {
                let name = self.capital();
                TypeKind::Named(self.path(name), self.some(0, 2, |trees| trees.ty(size)))
            }
            (2, Some(size)) => TypeKind::Tuple(self.some(2, 3, |trees| trees.ty(size))),
            (3, Some(size)) => TypeKind::Record(self.some(1, 2, |trees| (trees.ident(), trees.ty(size)))),
            (4, Some(size)) => {
                let dim = match self.random.below(3) {
                    0 => Dim::Inferred(Span::NONE),
                    1 => Dim::Unknown(Span::NONE),
                    _ => Dim::Size(self.size(3)),
                };
                TypeKind::Array(dim, Box::new(self.ty(size)))
            }
            (5, Some(size)) => TypeKind::Vector(Box::new(self.size(1)), Box::new(self.ty(size))),
            (6, Some(size)) => TypeKind::Function {
                param_name: self.maybe(Self::ident),
                param: Box::new(self.ty(size)),
                result: Box::new(self.ty(size)),
            },
            _ => TypeKind::Scalar(*self.random.pick(&ScalarType::ALL)),
        };
        TypeExpr {
            kind,
            span: Span::NONE,
        }
    }

    fn size(&mut self, size: usize) -> SizeExpr {
        let kind = match size.checked_sub(1) {
            Some(size) if self.random.below(3) > 0 => SizeKind::Binary(
                *self
                    .random
                    .pick(&[SizeOp::Add, SizeOp::Sub, SizeOp::Mul, SizeOp::Div]),
                Box::new(self.size(size)),
                Box::new(self.size(size)),
            ),
            _ if self.random.below(2) == 0 => SizeKind::Literal(12),
            _ => SizeKind::Var(self.name()),
        };
        SizeExpr {
            kind,
            span: Span::NONE,
        }
    }
}
