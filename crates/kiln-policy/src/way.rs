//! The ways in which functions run, as policies name them.

use std::fmt;

/// How a function runs: which kind of evaluator runs it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RunWay {
    /// Built into kiln.
    Native,
    /// As a WebAssembly module.
    Wasm,
    /// As a program that a table of this machine maps the image to.
    Exec,
    /// By another function runner, which has its own policy.
    Remote,
    /// As an image, without a container engine.
    Image,
    /// By a container engine.
    Engine,
    /// In a pod.
    Pod,
}

impl RunWay {
    pub const ALL: [RunWay; 7] = [
        RunWay::Native,
        RunWay::Wasm,
        RunWay::Exec,
        RunWay::Remote,
        RunWay::Image,
        RunWay::Engine,
        RunWay::Pod,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RunWay::Native => "native",
            RunWay::Wasm => "wasm",
            RunWay::Exec => "exec",
            RunWay::Remote => "remote",
            RunWay::Image => "image",
            RunWay::Engine => "engine",
            RunWay::Pod => "pod",
        }
    }

    /// Whether the content of the image itself runs, so that its signatures count. A built-in function is part of kiln.
    pub fn runs_image(self) -> bool {
        match self {
            RunWay::Native | RunWay::Exec => false,
            RunWay::Wasm | RunWay::Remote | RunWay::Image | RunWay::Engine | RunWay::Pod => true,
        }
    }

    pub(crate) fn parse(name: &str) -> Option<RunWay> {
        RunWay::ALL.into_iter().find(|way| way.name() == name)
    }
}

impl fmt::Display for RunWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
