//! Programs that are not part of a case: kiln itself, and substitutes for other programs.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The kiln in the directory of this program; under cargo it is built first, so that it is never stale.
pub(super) fn build_kiln() -> Result<PathBuf> {
    let here = env::current_exe().context("cannot find this program")?;
    let dir = here.parent().context("this program is in no directory")?;
    if let Some(cargo) = env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "-p", "kiln"]);
        if dir.ends_with("release") {
            build.arg("--release");
        }
        let status = build.status().context("cannot run cargo")?;
        if !status.success() {
            bail!("kiln does not build");
        }
    }
    let kiln = dir.join("kiln");
    if !kiln.is_file() {
        bail!(
            "no kiln at {}; build it or name a program with --bin",
            kiln.display()
        );
    }
    Ok(kiln)
}

/// A directory of substitute programs for each case: `kpt` records its arguments and runs the program under test, `docker`
/// records its arguments and simulates the few images that need an engine.
pub(super) const FAKES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fakes");

/// Image names in cases that deliberately do not exist.
const NOWHERE: [&str; 2] = ["dne", "not-exist"];

/// The first requested image that a case needs.
pub(super) fn needed_image(asked_for: &str) -> Option<&str> {
    asked_for.lines().find(|image| {
        let name = image.rsplit('/').next().unwrap_or(image);
        let name = name.split([':', '@']).next().unwrap_or(name);
        !NOWHERE.contains(&name)
    })
}
