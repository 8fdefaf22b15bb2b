//! `kiln pkg init`

use std::path::Path;
use std::{fs, io};

use anyhow::{Error, Result, anyhow};
use clap::Args;
use kiln_go::errno_text;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::package::{FileAction, FileChange};
use kiln_krm::paths;
use kiln_package::ApplyOptions;
use kiln_task::InitTask;
use kiln_task::pkg::starter_files;

use super::directory::PackageDirectory;
use super::{only_argument, rules};
use crate::compat::Compat;
use crate::package::write::{make_directories, write};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg init app")]
// More than one DIR is refused in kpt's words, which needs them parsed.
#[command(override_usage = "kiln pkg init [OPTIONS] [DIR]")]
pub(super) struct InitArgs {
    /// Directory of the package. Default: the current directory. A missing one is created
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Description of the package
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "sample description",
        allow_hyphen_values = true
    )]
    description: String,
    /// Keywords of the package
    #[arg(long, value_name = "WORD")]
    keywords: Vec<String>,
    /// Web page of the package
    #[arg(long, value_name = "URL", default_value = "")]
    site: String,
}

pub(super) fn cmd_init(ui: &Ui, args: &InitArgs) -> Result<()> {
    let named = only_argument(&args.dirs, ".")?;
    let directory = PackageDirectory::at(named)?;
    let task = InitTask {
        subpackage: String::new(),
        description: args.description.clone(),
        keywords: args.keywords.iter().flat_map(|text| words(text)).collect(),
        site: args.site.clone(),
    };
    let mut made = Vec::new();
    // kpt prints what it is going to do.
    let (mut messages, is_own) = (Vec::new(), ui.compat() == Compat::Kiln);
    let mut announce = |message: String| match is_own {
        true => messages.push(message),
        false => ui.print_message(&message),
    };
    if !directory.path.exists() {
        announce(format!("creating package directory {named}"));
        made = make_directories(&directory.path).map_err(|error| not_made(&directory, &error))?;
    }
    let mut changes = Vec::new();
    for (file, text) in starter_files(&directory.name, &task, rules(ui)) {
        if directory.path.join(file).symlink_metadata().is_err() {
            announce(format!("writing {}", paths::join(&[named, file])));
            if !directory.path.is_dir() {
                return Err(not_a_directory(ui, &directory));
            }
            changes.push(FileChange {
                path: file.to_owned(),
                action: FileAction::Write(text.into_bytes()),
            });
        }
    }
    let written = write(ui, &directory.path, None, &changes, ApplyOptions::default());
    if written.is_err() {
        remove_all(&made);
        return written;
    }
    for message in messages {
        ui.print_message(&message);
    }
    Ok(())
}

/// A file with the name of the package.
fn not_a_directory(ui: &Ui, directory: &PackageDirectory) -> Error {
    let shown = &directory.shown;
    match ui.compat() {
        Compat::Kiln => anyhow!("{shown} is a file, not the directory of a package"),
        Compat::Kpt | Compat::KptV039 => anyhow!("open {shown}/{FILE_NAME}: not a directory"),
    }
}

/// A directory that cannot be made, and the file in its way.
fn not_made(directory: &PackageDirectory, error: &io::Error) -> Error {
    let mut ancestors = directory.path.ancestors();
    let file = ancestors.find(|one| one.is_file());
    let blocked = file.unwrap_or(&directory.path).display();
    let (shown, reason) = (&directory.shown, errno_text(error));
    anyhow!("failed to create directory {shown}: mkdir {blocked}: {reason}")
}

/// The words of a list with commas; one in double quotes may have commas itself.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    if !text.is_empty() {
        words.push(word);
    }
    words
}

/// Removes directories that were made and are still empty, inner ones first.
fn remove_all(made: &[impl AsRef<Path>]) {
    for directory in made.iter().rev() {
        let _ = fs::remove_dir(directory);
    }
}
