//! From text to a tree: scanning and parsing.
//!
//! Nothing here knows what a name means; that is the resolver's business.

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
pub(crate) use scanner::Trouble;
pub(crate) use token::Token;
