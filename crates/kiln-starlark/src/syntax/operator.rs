//! The operators that evaluate two values.

use super::token::Token;

macro_rules! operators {
    ($($operator:ident = $token:ident,)*) => {
        /// A binary operator, except comparisons.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operator {
            $($operator,)*
        }

        impl Operator {
            pub(crate) fn of(token: Token) -> Option<Operator> {
                match token {
                    $(Token::$token => Some(Operator::$operator),)*
                    _ => None,
                }
            }

            pub(crate) fn symbol(self) -> &'static str {
                match self {
                    $(Operator::$operator => Token::$token.name(),)*
                }
            }
        }
    };
}

operators! {
    Add = Plus,
    Subtract = Minus,
    Multiply = Star,
    Divide = Slash,
    FloorDivide = SlashSlash,
    Modulo = Percent,
    And = Amp,
    Or = Pipe,
    Xor = Circumflex,
    ShiftLeft = LtLt,
    ShiftRight = GtGt,
    In = In,
}
