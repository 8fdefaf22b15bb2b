//! Starlark, as go.starlark.net runs it.
//!
//! A [`Program`] is parsed and resolved once ([`Program::parse`]) and run ([`Program::run`]) with a [`Host`].
//! Semantics and the wording of every message are go.starlark.net's; differences are documented where they occur.
//!
//! No input makes it panic, overflow the stack or run without bound: [`Usage`] counts steps and memory against
//! [`Limits`], and calls the host's interrupt from time to time.
//!
//! Deliberately absent: files, the environment, the clock. The host decides which modules a program can load, and
//! [`modules`] contains those that the host may offer.

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
    Ancestors, Builtin, Dict, List, Module, NativeFn, Object, Set, Struct, Value, ValueChildren,
    ValueKind, format_float,
};
