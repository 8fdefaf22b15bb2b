//! Programs that are not part of a case: kiln itself, and those that stand in for others.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The kiln beside this program; under cargo it is built first, so that what is tested is never stale.
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

/// A directory of programs that stand in for others in each case: `kpt` notes how it is called and is then the program
/// under test, `docker` notes how it is called and plays the few images that cannot do without an engine.
pub(super) const FAKES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fakes");

/// Image names that cases use because nobody has such an image.
const NOWHERE: [&str; 2] = ["dne", "not-exist"];

/// The first of the images asked for that a case needs to have.
pub(super) fn needed_image(asked_for: &str) -> Option<&str> {
    asked_for.lines().find(|image| {
        let name = image.rsplit('/').next().unwrap_or(image);
        let name = name.split([':', '@']).next().unwrap_or(name);
        !NOWHERE.contains(&name)
    })
}
