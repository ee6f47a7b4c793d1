//! The C tree: what every C-like back end builds and [`crate::print`] prints.

use almach_imp::Width;
use almach_value::ScalarType;

/// A type as it stands in a declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CType {
    Scalar(ScalarType),
    /// `T *`.
    Pointer(Box<CType>),
    /// `const T *`.
    ConstPointer(Box<CType>),
    /// `T const` of a name that keeps its value; printed as `const T`.
    Const(Box<CType>),
    /// A pointer through which alone its cells are reached.
    Restrict(Box<CType>),
    /// A type by its name, such as `struct dot_ctx`.
    Named(String),
    Void,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CExpr {
    /// A literal; printed as it is.
    Literal(String),
    Name(String),
    Call(String, Vec<CExpr>),
    Unary(CUnary, Box<CExpr>),
    Binary(CBinary, Box<CExpr>, Box<CExpr>),
    /// `c ? a : b`.
    Conditional(Box<CExpr>, Box<CExpr>, Box<CExpr>),
    Cast(CType, Box<CExpr>),
    /// `a[i]`.
    Subscript(Box<CExpr>, Box<CExpr>),
    /// `p->field`.
    Arrow(Box<CExpr>, String),
    /// `s.field`.
    Dot(Box<CExpr>, String),
    /// `sizeof *p`.
    SizeOfCell(Box<CExpr>),
    /// `(const T[]){a, b}`.
    Cells(CType, Vec<CExpr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CUnary {
    Minus,
    Not,
    Complement,
    Address,
    Follow,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CBinary {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CStmt {
    Declare {
        ty: CType,
        name: String,
        value: Option<CExpr>,
    },
    /// `T name[size];`
    DeclareCells {
        ty: CType,
        name: String,
        size: i64,
    },
    Do(CExpr),
    Assign(CExpr, CExpr),
    If {
        condition: CExpr,
        then: Vec<CStmt>,
        otherwise: Vec<CStmt>,
    },
    /// `for (int64_t index = 0; index < count; index++)`.
    Count {
        index: String,
        width: Width,
        count: CExpr,
        body: Vec<CStmt>,
    },
    /// `for (place = 0; place < count; place++)`.
    CountPlace {
        place: CExpr,
        count: CExpr,
        body: Vec<CStmt>,
    },
    /// `for (int64_t index = take; index < count; index = take)`.
    Take {
        index: String,
        take: CExpr,
        count: CExpr,
        body: Vec<CStmt>,
    },
    While(CExpr, Vec<CStmt>),
    Switch(CExpr, Vec<CStmt>),
    /// A place in a `switch`, also deep inside of it.
    Case(usize),
    Block(Vec<CStmt>),
    Goto(String),
    Label(String),
    Continue,
    Break,
    Return(Option<CExpr>),
    /// `#pragma …`.
    Pragma(String),
    /// A macro that tells the compiler something about the statement behind it.
    Mark(String),
    Comment(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct CParam {
    pub ty: CType,
    pub name: String,
}

/// A part of a `struct`; an array where it has a number of cells.
#[derive(Clone, PartialEq, Debug)]
pub struct CField {
    pub ty: CType,
    pub name: String,
    pub cells: Option<i64>,
}

/// A function with its body.
#[derive(Clone, PartialEq, Debug)]
pub struct CFunction {
    pub linkage: Linkage,
    pub result: CType,
    pub name: String,
    pub params: Vec<CParam>,
    pub body: Vec<CStmt>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    External,
    Static,
}

impl CExpr {
    pub fn name(name: impl Into<String>) -> CExpr {
        CExpr::Name(name.into())
    }

    pub fn literal(text: impl Into<String>) -> CExpr {
        CExpr::Literal(text.into())
    }

    pub fn call(function: impl Into<String>, arguments: impl Into<Vec<CExpr>>) -> CExpr {
        CExpr::Call(function.into(), arguments.into())
    }

    /// Gives a call, which may be converted, one more argument.
    pub fn add_argument(&mut self, argument: CExpr) {
        match self {
            CExpr::Call(_, arguments) => arguments.push(argument),
            CExpr::Cast(_, inner) => inner.add_argument(argument),
            _ => {}
        }
    }

    pub fn unary(op: CUnary, argument: CExpr) -> CExpr {
        CExpr::Unary(op, Box::new(argument))
    }

    pub fn binary(op: CBinary, left: CExpr, right: CExpr) -> CExpr {
        CExpr::Binary(op, Box::new(left), Box::new(right))
    }

    pub fn cast(ty: CType, argument: CExpr) -> CExpr {
        CExpr::Cast(ty, Box::new(argument))
    }

    pub fn at(self, index: CExpr) -> CExpr {
        CExpr::Subscript(Box::new(self), Box::new(index))
    }

    pub fn arrow(self, field: &str) -> CExpr {
        CExpr::Arrow(Box::new(self), field.to_string())
    }

    pub fn dot(self, field: &str) -> CExpr {
        CExpr::Dot(Box::new(self), field.to_string())
    }
}

impl CStmt {
    /// An `if` without `else`.
    pub fn when(condition: CExpr, then: Vec<CStmt>) -> CStmt {
        CStmt::If {
            condition,
            then,
            otherwise: Vec::new(),
        }
    }

    /// `(void)x;`: what C has no use for.
    pub fn unused(value: CExpr) -> CStmt {
        CStmt::Do(CExpr::cast(CType::Void, value))
    }

    /// With another statement in place of every jump to a label.
    pub fn with_goto(self, label: &str, instead: &CStmt) -> CStmt {
        let all = |stmts: Vec<CStmt>| {
            stmts
                .into_iter()
                .map(|stmt| stmt.with_goto(label, instead))
                .collect()
        };
        match self {
            CStmt::Goto(to) if to == label => instead.clone(),
            CStmt::If {
                condition,
                then,
                otherwise,
            } => CStmt::If {
                condition,
                then: all(then),
                otherwise: all(otherwise),
            },
            CStmt::Count {
                index,
                width,
                count,
                body,
            } => CStmt::Count {
                index,
                width,
                count,
                body: all(body),
            },
            CStmt::CountPlace { place, count, body } => CStmt::CountPlace {
                place,
                count,
                body: all(body),
            },
            CStmt::Take {
                index,
                take,
                count,
                body,
            } => CStmt::Take {
                index,
                take,
                count,
                body: all(body),
            },
            CStmt::While(condition, body) => CStmt::While(condition, all(body)),
            CStmt::Switch(value, body) => CStmt::Switch(value, all(body)),
            CStmt::Block(body) => CStmt::Block(all(body)),
            other => other,
        }
    }
}

impl CType {
    pub fn pointer(self) -> CType {
        CType::Pointer(Box::new(self))
    }

    pub fn const_pointer(self) -> CType {
        CType::ConstPointer(Box::new(self))
    }

    pub fn restrict(self) -> CType {
        CType::Restrict(Box::new(self))
    }

    pub fn constant(self) -> CType {
        CType::Const(Box::new(self))
    }
}

/// The C name of a scalar type.
pub fn scalar_c_name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 => "int8_t",
        ScalarType::I16 => "int16_t",
        ScalarType::I32 => "int32_t",
        ScalarType::I64 => "int64_t",
        ScalarType::U8 => "uint8_t",
        ScalarType::U16 => "uint16_t",
        ScalarType::U32 => "uint32_t",
        ScalarType::U64 => "uint64_t",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ScalarType::Bool => "bool",
    }
}
