//! Which of the optional features a program may use.

/// The features that the users of go.starlark.net switch on or off, and those that its older versions lack.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// The function `set`.
    pub sets: bool,
    /// Floating-point literals, the function `float` and the operator `/`.
    pub floats: bool,
    pub nested_functions: bool,
    pub lambdas: bool,
    pub while_loops: bool,
    /// `if`, `for` and `while` outside of functions.
    pub top_level_control: bool,
    /// More than one assignment to a global name.
    pub global_reassign: bool,
    /// Functions that call themselves, directly or not.
    pub recursion: bool,
    /// Whether the error about a token that is not an operand has the position of the token, as since 2024, or the
    /// position after it.
    pub complains_at_token: bool,
}

impl Dialect {
    /// The default features.
    pub fn standard() -> Dialect {
        Dialect {
            sets: false,
            floats: true,
            nested_functions: true,
            lambdas: true,
            while_loops: false,
            top_level_control: false,
            global_reassign: false,
            recursion: false,
            complains_at_token: true,
        }
    }

    /// The default features of March 2020.
    pub fn of_2020() -> Dialect {
        Dialect {
            floats: false,
            nested_functions: false,
            lambdas: false,
            complains_at_token: false,
            ..Dialect::standard()
        }
    }

    /// All features.
    pub fn extended() -> Dialect {
        Dialect {
            sets: true,
            floats: true,
            nested_functions: true,
            lambdas: true,
            while_loops: true,
            top_level_control: true,
            global_reassign: true,
            recursion: true,
            complains_at_token: true,
        }
    }
}
