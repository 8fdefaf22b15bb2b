//! The layer rule: dependencies point down only, and lower layers do less.
//!
//! | layer | may |
//! |---|---|
//! | L4 programs | print, read the environment, exit, use `anyhow` and `clap` |
//! | L3, L2, L1 | use files, network and processes as their callers configure |
//! | L0 | compute: no files, no environment, no network, no processes, no clock |
//!
//! For dev-dependencies and test code only the direction of dependencies is checked.

use super::code::{code_only, paths};
use super::tree::{Crate, Tree};
use super::{Violation, files};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Layer {
    Pure,
    Port,
    Evaluator,
    Service,
    Program,
}

/// All crates, also planned ones. A crate that is not listed is a violation.
const LAYERS: &[(&str, Layer)] = &[
    ("kiln-go", Layer::Pure),
    ("kiln-yaml", Layer::Pure),
    ("kiln-krm", Layer::Pure),
    ("kiln-starlark", Layer::Pure),
    ("kiln-signature", Layer::Pure),
    ("kiln-lock", Layer::Pure),
    ("kiln-runtime", Layer::Port),
    ("kiln-package", Layer::Port),
    ("kiln-oci", Layer::Port),
    ("kiln-store", Layer::Port),
    ("kiln-policy", Layer::Port),
    ("kiln-tls", Layer::Port),
    ("kiln-sandbox", Layer::Port),
    ("kiln-proto", Layer::Port),
    ("kiln-functions", Layer::Evaluator),
    ("kiln-exec", Layer::Evaluator),
    ("kiln-pods", Layer::Evaluator),
    ("kiln-remote", Layer::Evaluator),
    ("kiln-container", Layer::Evaluator),
    ("kiln-image", Layer::Evaluator),
    ("kiln-wasm", Layer::Evaluator),
    ("kiln-render", Layer::Service),
    ("kiln-task", Layer::Service),
    ("kiln-server", Layer::Service),
    ("kiln-telemetry", Layer::Service),
    ("kiln-evaluators", Layer::Service),
    ("kiln-pages", Layer::Service),
    ("kiln", Layer::Program),
    ("function-runner", Layer::Program),
    ("wrapper-server", Layer::Program),
    ("conformance", Layer::Program),
    ("bench", Layer::Program),
    ("xtask", Layer::Program),
];

/// Dependencies inside a layer that the design names; all others between siblings fail.
const SIBLINGS: &[(&str, &str)] = &[
    ("kiln-yaml", "kiln-go"),
    ("kiln-krm", "kiln-go"),
    ("kiln-krm", "kiln-yaml"),
    ("kiln-starlark", "kiln-go"),
    ("kiln-lock", "kiln-go"),
    ("kiln-lock", "kiln-yaml"),
    // The crate that starts processes also confines them.
    ("kiln-runtime", "kiln-sandbox"),
    // The store pulls images.
    ("kiln-store", "kiln-oci"),
    // Rules are for images, and decide about functions.
    ("kiln-policy", "kiln-oci"),
    ("kiln-policy", "kiln-runtime"),
    // Rules name keys, which the store reads and verifies with.
    ("kiln-policy", "kiln-store"),
    // One place builds the TLS configurations of clients.
    ("kiln-oci", "kiln-tls"),
    ("kiln-task", "kiln-render"),
    // The server reports calls to the observer of telemetry.
    ("kiln-telemetry", "kiln-server"),
    // For its tests, which run recorded cases.
    ("kiln", "conformance"),
    // `kiln serve` is the runner with other defaults.
    ("kiln", "function-runner"),
];

/// Forbidden dependencies that the layers would allow: a runner of functions knows nothing about packages.
const STRANGERS: &[(&str, &[&str])] = &[
    (
        "kiln-server",
        &["kiln-package", "kiln-render", "kiln-task", "kiln-functions"],
    ),
    (
        "function-runner",
        &["kiln-package", "kiln-render", "kiln-task"],
    ),
    (
        "wrapper-server",
        &["kiln-package", "kiln-render", "kiln-task", "kiln-functions"],
    ),
];

/// Crates that do I/O, run tasks or read a clock.
const IMPURE: &[&str] = &[
    "async-channel",
    "async-io",
    "async-std",
    "async-trait",
    "axum",
    "caps",
    "chrono",
    "crossbeam-channel",
    "dirs",
    "fs-err",
    "futures",
    "futures-util",
    "getrandom",
    "git2",
    "gix",
    "h2",
    "home",
    "http-body",
    "hyper",
    "hyper-util",
    "ignore",
    "inotify",
    "jiff",
    "kube",
    "landlock",
    "libc",
    "memmap2",
    "mio",
    "nix",
    "notify",
    "oci-client",
    "opentelemetry",
    "polling",
    "quinn",
    "rand",
    "reqwest",
    "rustix",
    "rustls",
    "signal-hook",
    "smol",
    "socket2",
    "tar",
    "tempfile",
    "time",
    "tokio",
    "tokio-stream",
    "tokio-util",
    "tonic",
    "tower",
    "tracing",
    "ureq",
    "uuid",
    "walkdir",
    "which",
    "windows-sys",
];

/// Only programs use these.
const PROGRAM_ONLY: &[&str] = &["anyhow", "clap"];

/// A forbidden path, and what its use means.
type Ban = (&'static str, &'static str);

/// What only programs do.
const TALKING: &[Ban] = &[
    ("std::env", "reads the environment"),
    ("std::process::exit", "ends the process"),
    ("process::exit", "ends the process"),
    ("std::process::abort", "ends the process"),
    ("process::abort", "ends the process"),
    ("env::var", "reads the environment"),
    ("env::var_os", "reads the environment"),
    ("env::vars", "reads the environment"),
    ("env::args", "reads the environment"),
    ("std::io::stdout", "prints"),
    ("std::io::stderr", "prints"),
    ("io::stdout", "prints"),
    ("io::stderr", "prints"),
];

/// What a pure crate does not do either.
const WORLDLY: &[Ban] = &[
    ("std::fs", "uses files"),
    ("std::net", "uses the network"),
    ("std::os", "uses the operating system"),
    ("std::process", "uses processes"),
    ("std::io::stdin", "reads input"),
    ("io::stdin", "reads input"),
    ("std::time::SystemTime", "reads the clock"),
    ("std::time::Instant", "reads the clock"),
    ("SystemTime::now", "reads the clock"),
    ("Instant::now", "reads the clock"),
];

/// Values and constants in banned modules.
const HARMLESS: &[&str] = &[
    "std::env::consts",
    "std::net::AddrParseError",
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::SocketAddr",
];

const PRINTING_MACROS: &[&str] = &["print!", "println!", "eprint!", "eprintln!", "dbg!"];

fn layer_of(name: &str) -> Option<Layer> {
    let entry = LAYERS.iter().find(|(known, _)| *known == name);
    entry.map(|(_, layer)| *layer)
}

pub(super) fn check_dependencies(
    crate_: &Crate,
    members: &[Crate],
    violations: &mut Vec<Violation>,
) {
    let path = crate_.manifest_path();
    let name = crate_.name.as_str();
    let Some(layer) = layer_of(name) else {
        let message =
            format!("crate {name} has no layer: add it to the table in xtask/src/tidy/layers.rs");
        violations.push(Violation::file(&path, message));
        return;
    };
    for dependency in dependencies(&crate_.manifest) {
        let other = dependency.name.as_str();
        if members.iter().any(|member| member.name == other) {
            if let Some(message) = wrong_direction(name, layer, other) {
                violations.push(Violation::file(&path, message));
            }
            if strangers(name).contains(&other) {
                let message = format!(
                    "{name} may not depend on {other}: it runs functions and knows no packages"
                );
                violations.push(Violation::file(&path, message));
            }
        } else if dependency.for_tests {
            continue;
        }
        if layer == Layer::Pure && IMPURE.contains(&other) {
            let message = format!("{name} is pure (L0) and may not depend on {other}");
            violations.push(Violation::file(&path, message));
        }
        if layer != Layer::Program && PROGRAM_ONLY.contains(&other) {
            let message = format!("{name} is a library; only programs (L4) use {other}");
            violations.push(Violation::file(&path, message));
        }
    }
}

fn strangers(name: &str) -> &'static [&'static str] {
    let entry = STRANGERS.iter().find(|(known, _)| *known == name);
    entry.map_or(&[], |(_, strangers)| strangers)
}

fn wrong_direction(name: &str, layer: Layer, other: &str) -> Option<String> {
    let other_layer = layer_of(other)?;
    if other_layer > layer {
        return Some(format!(
            "{name} ({layer:?}) depends upwards on {other} ({other_layer:?})"
        ));
    }
    let sibling = other_layer == layer && !SIBLINGS.contains(&(name, other));
    sibling.then(|| format!("{name} depends on its sibling {other}, both in layer {layer:?}"))
}

struct Dependency {
    name: String,
    for_tests: bool,
}

/// The dependencies of all sections, also of `[target.…]`, under their real names.
fn dependencies(manifest: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(|targets| targets.values());
    let tables = targets.filter_map(toml::Value::as_table);
    for table in std::iter::once(manifest).chain(tables) {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                found.push(Dependency {
                    name: renamed.unwrap_or(key).to_owned(),
                    for_tests: section == "dev-dependencies",
                });
            }
        }
    }
    found
}

/// Checks what a library's code uses.
pub(super) fn check_sources(crate_: &Crate, tree: &Tree, violations: &mut Vec<Violation>) {
    let layer = layer_of(&crate_.name).unwrap_or(Layer::Pure);
    if layer == Layer::Program {
        return;
    }
    let mut banned: Vec<(&Ban, &str)> = TALKING
        .iter()
        .map(|ban| (ban, "only programs may"))
        .collect();
    if layer == Layer::Pure {
        banned.extend(WORLDLY.iter().map(|ban| (ban, "a pure crate may not")));
    }
    for (path, text) in tree.sources(&format!("{}/src", crate_.directory)) {
        if files::is_test_code(path) {
            continue;
        }
        let code = code_only(text);
        for (line, used) in paths(&code) {
            if HARMLESS.iter().any(|harmless| is_below(&used, harmless)) {
                continue;
            }
            let hit = banned
                .iter()
                .find(|((prefix, _), _)| is_below(&used, prefix));
            if let Some(((_, what), rule)) = hit {
                let message = format!("{} {what} ({used}); {rule}", crate_.name);
                violations.push(Violation::line(path, line, message));
            }
        }
        for (line, name) in files::occurrences(&code, PRINTING_MACROS) {
            let message = format!("{} prints ({name}); only programs may", crate_.name);
            violations.push(Violation::line(path, line, message));
        }
    }
}

/// Whether `path` is `prefix` or an item in it.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
