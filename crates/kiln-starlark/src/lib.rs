//! Starlark, as go.starlark.net runs it.
//!
//! A [`Program`] is parsed and resolved once ([`Program::parse`]) and run ([`Program::run`]) in a [`World`] that its host
//! provides. Semantics, and the words of every message, are go.starlark.net's; what differs is said where it does.
//!
//! No input makes it panic, overflow the stack or run without bound: steps and memory are counted ([`Limits`]), and
//! the host is asked now and then whether to go on.
//!
//! Deliberately not here: files, the environment, the clock. What a program can load is the host's business, and
//! [`modules`] has what the host may want to offer.

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
mod value;

pub use dialect::Dialect;
pub use error::{EvalError, Failure, Frame};
pub use eval::{Arguments, Context, Members, World};
pub use limits::Limits;
pub use num_bigint::BigInt;
pub use program::{Program, Run};
pub use syntax::{Operator, Position, SyntaxError};
pub use value::{Builtin, Dict, Kind, List, Module, NativeFn, Object, Set, Struct, Value};
