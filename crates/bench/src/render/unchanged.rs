//! Packages in which nothing has changed since the last render: skipped, and rendered again.

use std::ffi::OsString;
use std::fs;
use std::io::Write;

use anyhow::Context;

use super::namespace_and_labels::{native_pipeline, write_row};
use super::{Args, ROUNDS, best};
use crate::child::measure;
use crate::packages::Shape;

const SIZES: [usize; 2] = [1_000, 5_000];

/// Measures `fn render` and `fn render --check`, without kept results and with them.
pub(super) fn compare(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    for resources in SIZES {
        let directory = tempfile::tempdir().context("cannot create a directory for the package")?;
        let root = directory.path().join("package");
        let shape = Shape::Flat {
            resources,
            per_file: 1,
        };
        fs::create_dir(&root).and_then(|()| shape.write(&root, &native_pipeline()))?;
        let store = directory.path().join("store");
        let command = |flags: &[&str]| -> Vec<OsString> {
            let mut variable = OsString::from("KILN_STORE=");
            variable.push(&store);
            let program = ["env".into(), variable, args.kiln.clone().into()];
            let verb = ["fn", "render"].map(OsString::from);
            let flags = flags.iter().map(OsString::from);
            let words = program.into_iter().chain(verb);
            words.chain([root.clone().into()]).chain(flags).collect()
        };
        // The first one writes, the second one shows that nothing is left to write.
        for _ in 0..2 {
            measure(&command(&[]))?;
        }
        writeln!(
            out,
            "{resources} files, a namespace and two labels, nothing changed; best of {ROUNDS}"
        )?;
        for verb in [&[][..], &["--check"]] {
            let fresh = command(&[verb, &["--cache=off"]].concat());
            let fresh = best(ROUNDS, || measure(&fresh))?;
            let skipped = command(verb);
            let skipped = best(ROUNDS, || measure(&skipped))?;
            let name = ["kiln fn render", verb.first().copied().unwrap_or_default()].join(" ");
            write_row(&format!("{name} --cache=off"), fresh, "", out)?;
            let ratio = format!("{:.2}", fresh.wall / skipped.wall);
            write_row(&name, skipped, &ratio, out)?;
        }
    }
    Ok(())
}
