//! The recorded kinds of output, and how kiln produces each of them.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use clap::ValueEnum;
use kiln_krm::roundtrip;
use kiln_yaml::{Encoder, SequenceStyle, parse_all, parse_until_error};

use super::nodes;

/// A kind of output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// The stream decoded and encoded again, sequences not indented.
    Compact,
    /// The same with sequences indented.
    Wide,
    /// The trees of the documents before the first error.
    Nodes,
    /// Read and written by kyaml's reader and writer of resources.
    Kio,
    /// The same as a file of a package, its path set and cleared.
    Pkg,
    /// The same resources as a list between functions.
    Wire,
    /// That list read and written as a file again.
    Wireback,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] = [
        Kind::Compact,
        Kind::Wide,
        Kind::Nodes,
        Kind::Kio,
        Kind::Pkg,
        Kind::Wire,
        Kind::Wireback,
    ];

    /// The name of the field in a recorded case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Compact => "compact",
            Kind::Wide => "wide",
            Kind::Nodes => "nodes",
            Kind::Kio => "kio",
            Kind::Pkg => "pkg",
            Kind::Wire => "wire",
            Kind::Wireback => "wireback",
        }
    }

    /// kiln's output for an input: text, or the error.
    fn run(self, input: &[u8]) -> Result<String, String> {
        match self {
            Kind::Compact => encode(input, SequenceStyle::Compact),
            Kind::Wide => encode(input, SequenceStyle::Wide),
            Kind::Nodes => Ok(nodes::dump(parse_until_error(input).0.into_iter())),
            Kind::Kio => roundtrip::kio(input).map_err(|error| error.to_string()),
            Kind::Pkg => roundtrip::pkg(input).map_err(|error| error.to_string()),
            Kind::Wire => roundtrip::wire(input).map_err(|error| error.to_string()),
            Kind::Wireback => roundtrip::wireback(input).map_err(|error| error.to_string()),
        }
    }

    /// The same; a panic becomes the outer error.
    pub(crate) fn run_guarded(self, input: &[u8]) -> Result<Result<String, String>, String> {
        silence_panics();
        panic::catch_unwind(AssertUnwindSafe(|| self.run(input))).map_err(|payload| {
            let place = LAST_PANIC.take();
            place.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned())
        })
    }
}

fn encode(input: &[u8], style: SequenceStyle) -> Result<String, String> {
    let documents = parse_all(input).map_err(|error| error.to_string())?;
    let mut encoder = Encoder::new();
    for document in &documents {
        encoder.document(document, style);
    }
    Ok(encoder.finish())
}

thread_local! {
    /// Text and position of the thread's last panic.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics are reported with their case, not when they happen.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            LAST_PANIC.set(Some(format!("{} at {place}", payload_text(info.payload()))));
        }));
    });
}

fn payload_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
