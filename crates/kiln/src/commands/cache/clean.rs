//! `kiln cache clean`

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use kiln_store::ResultCache;

use crate::environment::own_cache_directory;
use crate::image_store::store_directory;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln cache clean")]
pub(super) struct CleanArgs {}

/// Copies of repositories, and WebAssembly modules with their compiled code. All of it is made again when it is needed.
const REMOVED: [&str; 2] = ["git", "wasm"];

pub(super) fn cmd_clean(ui: &Ui) -> Result<()> {
    let cache = own_cache_directory()?.join("kiln");
    for name in REMOVED {
        remove(ui, &cache.join(name))?;
    }
    remove(ui, &ResultCache::path(&store_directory()))
}

/// Moves the directory away first, so that a command that starts meanwhile finds an empty cache and not half of one.
fn remove(ui: &Ui, directory: &Path) -> Result<()> {
    let cannot_remove = || format!("cannot remove {}", directory.display());
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let moved = directory.with_file_name(format!(".{name}-removed-{}", std::process::id()));
    match fs::rename(directory, &moved) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ui.print_message(&format!("{} does not exist", directory.display()));
            return Ok(());
        }
        Err(error) => return Err(error).with_context(cannot_remove),
    }
    let size = size_of(&moved);
    fs::remove_dir_all(&moved).with_context(cannot_remove)?;
    let size = size / 1024;
    ui.print_message(&format!("removed {} ({size} KiB)", directory.display()));
    Ok(())
}

/// The size of all files below a directory. What cannot be read does not count.
fn size_of(directory: &Path) -> u64 {
    let mut size = 0;
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) => size += metadata.len(),
                Err(_) => {}
            }
        }
    }
    size
}
