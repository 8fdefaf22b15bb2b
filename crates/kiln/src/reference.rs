//! The command line reference, docs/cli.md, generated from the definitions that parse the command line.

use std::fmt::Write;

use crate::cli;
use crate::compat::Compat;
use crate::environment::{KILN_CACHE, KILN_COMPAT, KILN_IMAGE_RUNTIME, KILN_STORE};

fn reference() -> String {
    let mut out = String::from(
        "# Command line reference\n\n\
         Generated from kiln's own definitions; a test fails when this file is stale\n\
         (`KILN_UPDATE=1 cargo test -p kiln reference` updates it).\n",
    );
    let _ = write!(
        out,
        "\n## Environment\n\n\
         - `{KILN_COMPAT}`: compatibility mode if `--compat` is not given.\n\
         - `{KILN_STORE}`: directory of the image store if `--store` is not given.\n\
         - `{KILN_IMAGE_RUNTIME}`: how images run if `--image-runtime` is not given.\n\
         - `{KILN_CACHE}`: which answers of functions are kept if `--cache` is not given.\n"
    );
    for (compat, title) in [
        (Compat::Kiln, "kiln and today's kpt"),
        (Compat::KptV039, "kpt v0.39 (`--compat=kpt-v0.39`)"),
    ] {
        let _ = write!(out, "\n## {title}\n");
        // The same for every terminal.
        let mut command = cli::documented_grammar(compat).term_width(120);
        describe(&mut out, &mut command, "kiln");
    }
    out
}

/// A command and its subcommands. The recursion is bounded: there are three levels.
fn describe(out: &mut String, command: &mut clap::Command, name: &str) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(out, "\n### {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    for below in command.get_subcommands_mut() {
        if below.get_name() != "help" {
            let name = format!("{name} {}", below.get_name());
            describe(out, below, &name);
        }
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let made = reference();
    if std::env::var_os("KILN_UPDATE").is_some() {
        std::fs::write(path, &made).expect("writes");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        made, kept,
        "docs/cli.md is stale; set KILN_UPDATE=1 to write it"
    );
}
