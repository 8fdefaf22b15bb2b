//! What is to be run, as a pipeline or a command line declares it.
//!
//! Names are final here: prefixes, tags and defaults have been applied before.

/// A function to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionSpec {
    /// The program.
    pub target: Target,
    /// What an image may reach; other targets reach what the caller reaches.
    pub network: Network,
    /// `NAME=value`, or `NAME` to pass the caller's own value on; for images only.
    pub env: Vec<String>,
}

/// Where the program of a function is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// An image by its whole reference, or a builtin by its name.
    Image(String),
    /// A command line as it was declared, to be split into words.
    Exec(String),
    /// The path of a program that gets no arguments, as the older command has it.
    Program(String),
}

/// The network of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Network {
    /// None at all.
    #[default]
    None,
    /// That of the host.
    Host,
}

impl FunctionSpec {
    /// A function that may reach nothing.
    pub fn new(target: Target) -> FunctionSpec {
        FunctionSpec {
            target,
            network: Network::None,
            env: Vec::new(),
        }
    }

    /// An image.
    pub fn image(reference: impl Into<String>) -> FunctionSpec {
        FunctionSpec::new(Target::Image(reference.into()))
    }

    /// A command line.
    pub fn exec(command_line: impl Into<String>) -> FunctionSpec {
        FunctionSpec::new(Target::Exec(command_line.into()))
    }

    /// What the function is called in messages: the reference, command line or path, whole.
    pub fn name(&self) -> &str {
        match &self.target {
            Target::Image(name) | Target::Exec(name) | Target::Program(name) => name,
        }
    }
}
