//! The parsed program.
//!
//! Expressions are stored in one arena and refer to each other by index, so that neither dropping nor moving a
//! program depends on its depth.

use num_bigint::BigInt;

use super::position::Position;
use super::token::Token;

/// An index into an arena.
macro_rules! ids {
    ($($name:ident),*) => {
        $(#[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) u32);)*
    };
}

ids!(ExprId, IdentId, FunctionId);

#[derive(Debug, Default)]
pub(crate) struct Ast {
    pub(crate) exprs: Vec<Expr>,
    pub(crate) idents: Vec<Ident>,
    pub(crate) functions: Vec<FunctionNode>,
    pub(crate) statements: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) start: Position,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Ident(IdentId),
    Int(i64),
    Big(BigInt),
    Float(f64),
    String(Vec<u8>),
    Bytes(Vec<u8>),
    Paren(ExprId),
    List(Vec<ExprId>),
    Tuple(Vec<ExprId>),
    Dict(Vec<DictEntry>),
    Comprehension(Box<Comprehension>),
    Cond {
        condition: ExprId,
        yes: ExprId,
        no: ExprId,
    },
    Index {
        object: ExprId,
        bracket: Position,
        index: ExprId,
    },
    Slice(Box<Slice>),
    Dot {
        object: ExprId,
        dot: Position,
        name: String,
    },
    Call {
        callee: ExprId,
        paren: Position,
        arguments: Vec<Argument>,
    },
    Lambda(FunctionId),
    Unary {
        operator: Token,
        operand: ExprId,
    },
    Binary {
        operator: Token,
        position: Position,
        left: ExprId,
        right: ExprId,
    },
}

impl ExprKind {
    /// The description in the resolver's error about an assignment to it.
    pub(crate) fn description(&self) -> &'static str {
        match self {
            ExprKind::Ident(_) => "ident",
            ExprKind::Int(_)
            | ExprKind::Big(_)
            | ExprKind::Float(_)
            | ExprKind::String(_)
            | ExprKind::Bytes(_) => "literal",
            ExprKind::Paren(_) => "parenexpr",
            ExprKind::List(_) => "listexpr",
            ExprKind::Tuple(_) => "tupleexpr",
            ExprKind::Dict(_) => "dictexpr",
            ExprKind::Comprehension(_) => "comprehension",
            ExprKind::Cond { .. } => "condexpr",
            ExprKind::Index { .. } => "indexexpr",
            ExprKind::Slice(_) => "sliceexpr",
            ExprKind::Dot { .. } => "dotexpr",
            ExprKind::Call { .. } => "callexpr",
            ExprKind::Lambda(_) => "lambdaexpr",
            ExprKind::Unary { .. } => "unaryexpr",
            ExprKind::Binary { .. } => "binaryexpr",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DictEntry {
    pub(crate) key: ExprId,
    pub(crate) colon: Position,
    pub(crate) value: ExprId,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) object: ExprId,
    pub(crate) bracket: Position,
    pub(crate) low: Option<ExprId>,
    pub(crate) high: Option<ExprId>,
    pub(crate) step: Option<ExprId>,
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) body: Body,
    pub(crate) clauses: Vec<Clause>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    List(ExprId),
    Dict(DictEntry),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Clause {
    For {
        position: Position,
        variables: ExprId,
        iterable: ExprId,
    },
    If(ExprId),
}

#[derive(Debug)]
pub(crate) enum Argument {
    Positional(ExprId),
    Named {
        name: String,
        position: Position,
        value: ExprId,
    },
    Star {
        position: Position,
        value: ExprId,
    },
    StarStar {
        position: Position,
        value: ExprId,
    },
}

#[derive(Debug)]
pub(crate) struct Ident {
    pub(crate) name: String,
    pub(crate) position: Position,
}

#[derive(Debug)]
pub(crate) enum Param {
    Required(IdentId),
    Optional {
        name: IdentId,
        equals: Position,
        default: ExprId,
    },
    /// `*` without a name, or `*args`.
    Star {
        position: Position,
        name: Option<IdentId>,
    },
    StarStar {
        position: Position,
        name: IdentId,
    },
}

#[derive(Debug)]
pub(crate) struct FunctionNode {
    pub(crate) name: String,
    pub(crate) position: Position,
    pub(crate) params: Vec<Param>,
    pub(crate) body: FunctionBody,
}

#[derive(Debug)]
pub(crate) enum FunctionBody {
    Statements(Vec<Stmt>),
    Expression(ExprId),
}

#[derive(Debug)]
pub(crate) enum Stmt {
    Expr(ExprId),
    Pass,
    Break(Position),
    Continue(Position),
    If {
        arms: Vec<IfArm>,
        otherwise: Vec<Stmt>,
    },
    Assign {
        position: Position,
        target: ExprId,
        value: ExprId,
    },
    Augment {
        position: Position,
        operator: Token,
        target: ExprId,
        value: ExprId,
    },
    Def {
        name: IdentId,
        function: FunctionId,
    },
    For {
        position: Position,
        variables: ExprId,
        iterable: ExprId,
        body: Vec<Stmt>,
    },
    While {
        position: Position,
        condition: ExprId,
        body: Vec<Stmt>,
    },
    Return {
        position: Position,
        value: Option<ExprId>,
    },
    Load(Load),
}

/// `if` or `elif` with its block.
#[derive(Debug)]
pub(crate) struct IfArm {
    pub(crate) position: Position,
    pub(crate) condition: ExprId,
    pub(crate) body: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) position: Position,
    pub(crate) module: Vec<u8>,
    pub(crate) names: Vec<LoadName>,
}

#[derive(Debug)]
pub(crate) struct LoadName {
    pub(crate) from: String,
    pub(crate) from_position: Position,
    pub(crate) to: IdentId,
}

impl Ast {
    pub(crate) fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    pub(crate) fn ident(&self, id: IdentId) -> &Ident {
        &self.idents[id.0 as usize]
    }

    pub(crate) fn function(&self, id: FunctionId) -> &FunctionNode {
        &self.functions[id.0 as usize]
    }

    pub(crate) fn first_position(&self) -> Position {
        match self.statements.first() {
            Some(Stmt::Expr(expr) | Stmt::Assign { target: expr, .. }) => self.expr(*expr).start,
            Some(Stmt::Augment { target, .. }) => self.expr(*target).start,
            Some(Stmt::Def { function, .. }) => self.function(*function).position,
            Some(
                Stmt::Break(position)
                | Stmt::Continue(position)
                | Stmt::For { position, .. }
                | Stmt::While { position, .. }
                | Stmt::Return { position, .. },
            ) => *position,
            Some(Stmt::Load(load)) => load.position,
            Some(Stmt::If { arms, .. }) => {
                arms.first().map_or(Position::new(1, 1), |arm| arm.position)
            }
            Some(Stmt::Pass) | None => Position::new(1, 1),
        }
    }

    /// The expression inside any parentheses.
    pub(crate) fn unparen(&self, mut id: ExprId) -> ExprId {
        while let ExprKind::Paren(inner) = &self.expr(id).kind {
            id = *inner;
        }
        id
    }

    /// The first operand of an expression, and the expressions around it, outermost first. Such chains can be long, so
    /// callers follow them in a loop.
    pub(crate) fn left_chain(&self, expr: ExprId) -> (ExprId, Vec<ExprId>) {
        let mut chain = Vec::new();
        let mut base = expr;
        loop {
            let next = match &self.expr(base).kind {
                ExprKind::Paren(inner) => *inner,
                ExprKind::Binary { left, .. } => *left,
                ExprKind::Index { object, .. } | ExprKind::Dot { object, .. } => *object,
                ExprKind::Slice(slice) => slice.object,
                ExprKind::Call { callee, .. } => *callee,
                _ => return (base, chain),
            };
            chain.push(base);
            base = next;
        }
    }

    pub(crate) fn add_expr(&mut self, start: Position, kind: ExprKind) -> ExprId {
        self.exprs.push(Expr { start, kind });
        ExprId(index(self.exprs.len()))
    }

    pub(crate) fn add_ident(&mut self, name: String, position: Position) -> IdentId {
        self.idents.push(Ident { name, position });
        IdentId(index(self.idents.len()))
    }

    pub(crate) fn add_function(&mut self, function: FunctionNode) -> FunctionId {
        self.functions.push(function);
        FunctionId(index(self.functions.len()))
    }
}

/// The index of the last of `length` elements. A source is at most 4 GiB, which `Program::parse` checks.
fn index(length: usize) -> u32 {
    u32::try_from(length.saturating_sub(1)).unwrap_or(u32::MAX)
}
