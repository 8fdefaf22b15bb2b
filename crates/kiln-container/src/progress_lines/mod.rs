//! The lines that engines print about their own progress, which are not output of the function.

use crate::engine::Engine;

/// Progress of `docker pull`.
const DOCKER: &[&str] = &[
    ": Already exists",
    ": Pulling fs layer",
    ": Verifying Checksum",
    ": Download complete",
    ": Pulling from",
    ": Waiting",
    ": Pull complete",
    "Digest: sha256",
    "Status: Downloaded newer image",
    "Status: Image is up to date for",
    "Unable to find image",
];

/// Progress of podman, besides lines that are a digest.
const PODMAN: &[&str] = &[
    "Trying to pull",
    "Getting image source signatures",
    "Copying blob sha256:",
    "Copying config sha256:",
    "Writing manifest to image destination",
    "Storing signatures",
];

/// Progress of nerdctl, besides lines that are a digest.
const NERDCTL: &[&str] = &[
    "index-sha256:",
    "Copying blob sha256:",
    "manifest-sha256:",
    "config-sha256:",
    "layer-sha256:",
    "elapsed:",
    "++++++++++++++++++++++++++++++++++++++",
    "--------------------------------------",
];

/// stderr without the engine's own lines, and without a trailing line break.
pub(crate) fn without_progress_lines(engine: Engine, stderr: &[u8]) -> Vec<u8> {
    let stderr = stderr.strip_suffix(b"\n").unwrap_or(stderr);
    let lines = stderr
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !is_chatter(engine, line));
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn is_chatter(engine: Engine, line: &[u8]) -> bool {
    let (marks, digests) = match engine {
        Engine::Docker => (DOCKER, false),
        Engine::Podman => (PODMAN, true),
        Engine::Nerdctl => (NERDCTL, true),
    };
    let line_text = String::from_utf8_lossy(line);
    marks.iter().any(|mark| line_text.contains(mark)) || digests && is_digest(line)
}

fn is_digest(line: &[u8]) -> bool {
    line.len() == 64 && line.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests;
