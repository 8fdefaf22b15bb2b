//! Calls whose answers can be kept.

use crate::identity::FunctionIdentity;

/// What the answer of a call depends on besides its input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReproducibleCall {
    pub identity: FunctionIdentity,
    /// How input and output are passed, for example `wasi1`, and how the function is isolated if there are several ways.
    pub interface: &'static str,
    /// `OS/ARCHITECTURE`, for images.
    pub platform: Option<String>,
    /// The name of the program and its arguments.
    pub arguments: Vec<Vec<u8>>,
    /// All variables of the function, in their order.
    pub environment: Vec<Vec<u8>>,
    /// Limit of the memory, in bytes, if the function can notice it.
    pub memory: Option<u64>,
    pub certainty: Certainty,
}

/// How sure it is that the answer depends on nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// The function cannot reach anything else.
    Guaranteed,
    /// The function could read a clock or random bytes; the user decides.
    Assumed,
}
