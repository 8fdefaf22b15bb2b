//! The function to run, as a pipeline or a command line declares it.
//!
//! Names are final here: prefixes, tags and defaults have been applied before.

/// A function to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionSpec {
    pub target: Target,
    /// The network that an image can reach; other targets reach the same as the caller.
    pub network: Network,
    /// `NAME=value`, or `NAME` to pass the caller's own value; for images only.
    pub env: Vec<String>,
    /// The exact version to run; without it, whatever an evaluator has under the name.
    pub pin: Option<FunctionPin>,
}

/// The exact version of an image, as a lock file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionPin {
    /// The digest of the index or manifest: `sha256:…`. Without one, only the built-in function may run.
    pub digest: Option<String>,
    /// The identity of the built-in function that may run in place of the image, without `native:`.
    pub native: Option<String>,
}

/// Where the program of a function is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// An image by its full reference, or a built-in function by its name.
    Image(String),
    /// A command line as it was declared, to be split into words.
    Exec(String),
    /// The path of a program that gets no arguments (kpt v0.39).
    Program(String),
}

/// The network of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Network {
    #[default]
    None,
    Host,
}

impl FunctionSpec {
    /// A function without network.
    pub fn new(target: Target) -> FunctionSpec {
        FunctionSpec {
            target,
            network: Network::None,
            env: Vec::new(),
            pin: None,
        }
    }

    pub fn image(reference: impl Into<String>) -> FunctionSpec {
        FunctionSpec::new(Target::Image(reference.into()))
    }

    pub fn exec(command_line: impl Into<String>) -> FunctionSpec {
        FunctionSpec::new(Target::Exec(command_line.into()))
    }

    /// The name of the function in messages: the full reference, command line or path.
    pub fn name(&self) -> &str {
        match &self.target {
            Target::Image(name) | Target::Exec(name) | Target::Program(name) => name,
        }
    }
}
