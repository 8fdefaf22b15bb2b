//! The `inputs` sub-command: writes the inputs of recorded sets to files, for programs that need a directory of them.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::yaml::{collect_sets, load};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of JSON lines, or directories of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The directory to write to; created if it is missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes a file for every case, named after its set and line.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let out = &args.out;
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut files = Vec::new();
    for path in &args.paths {
        collect_sets(path, &mut files)?;
    }
    for file in &files {
        let set = file.file_stem().unwrap_or_default().to_string_lossy();
        for (index, case) in load(file)?.iter().enumerate() {
            let path = out.join(format!("{set}-{}", index + 1));
            let written = fs::write(&path, &case.input);
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}
