//! The operators that evaluate two values.

use super::token::Token;

/// A binary operator, except comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    FloorDivide,
    /// `%`
    Modulo,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `in`
    In,
}

impl Operator {
    pub(crate) fn of(token: Token) -> Option<Operator> {
        Some(match token {
            Token::Plus => Operator::Add,
            Token::Minus => Operator::Subtract,
            Token::Star => Operator::Multiply,
            Token::Slash => Operator::Divide,
            Token::SlashSlash => Operator::FloorDivide,
            Token::Percent => Operator::Modulo,
            Token::Amp => Operator::And,
            Token::Pipe => Operator::Or,
            Token::Circumflex => Operator::Xor,
            Token::LtLt => Operator::ShiftLeft,
            Token::GtGt => Operator::ShiftRight,
            Token::In => Operator::In,
            _ => return None,
        })
    }

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::FloorDivide => "//",
            Operator::Modulo => "%",
            Operator::And => "&",
            Operator::Or => "|",
            Operator::Xor => "^",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
            Operator::In => "in",
        }
    }
}
