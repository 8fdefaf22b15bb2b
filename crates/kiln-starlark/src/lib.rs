//! Starlark, as go.starlark.net runs it.
//!
//! A [`Program`] is parsed and resolved once ([`Program::parse`]) and run ([`Program::run`]) with what its [`Host`]
//! provides. Semantics, and the words of every message, are go.starlark.net's; what differs is said where it does.
//!
//! No input makes it panic, overflow the stack or run without bound: [`Usage`] counts steps and memory against
//! [`Limits`], and calls the host's interrupt now and then.
//!
//! Deliberately not here: files, the environment, the clock. What a program can load is the host's business, and
//! [`modules`] has what the host may want to offer.

mod builder;
mod builtins;
mod compile;
mod dialect;
mod error;
mod eval;
mod limits;
pub mod modules;
mod program;
mod resolve;
mod spell;
mod syntax;
mod text;
mod usage;
mod value;

pub use builtins::stable_sort;
pub use dialect::Dialect;
pub use error::{EvalError, Failure, Frame};
pub use eval::{Arguments, Context, Host, Members};
pub use limits::Limits;
pub use num_bigint::BigInt;
pub use program::{Program, Run};
pub use syntax::{Operator, Position, SyntaxError};
pub use usage::Usage;
pub use value::{
    Ancestors, Builtin, Children, Dict, Kind, List, Module, NativeFn, Object, Set, Struct, Value,
    format_float,
};
