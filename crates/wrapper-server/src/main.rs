//! The server in function pods, the probe that checks its health, and the copier of both: one file, three names.
//!
//! It is copied into images that may contain nothing but a function, so it has no dependencies.

mod config;
mod copy;
mod entrypoint;
mod environment;
mod log;
mod probe;
mod serve;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().map(|argument| match argument.into_string() {
        Ok(text) => text,
        Err(bytes) => bytes.to_string_lossy().into_owned(),
    });
    let program = arguments.next().unwrap_or_default();
    let name = Path::new(&program).file_name();
    match name.and_then(|name| name.to_str()) {
        Some("grpc-health-probe" | "grpc_health_probe") => probe::main(arguments),
        Some("cp") => copy::main(arguments),
        _ => serve::main(arguments),
    }
}
