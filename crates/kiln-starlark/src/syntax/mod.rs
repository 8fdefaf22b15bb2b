//! Scanning and parsing.
//!
//! Names are resolved later, in `resolve`.

pub(crate) mod ast;
mod expression;
mod literal;
mod operator;
mod parser;
mod position;
mod scanner;
mod token;
mod unquote;

pub use operator::Operator;
pub(crate) use parser::parse;
pub use position::{Position, SyntaxError};
pub(crate) use scanner::{ParseFailure, refuse};
pub(crate) use token::Token;
