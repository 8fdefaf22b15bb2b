//! `kiln pkg cat`

use anyhow::{Error, Result, anyhow};
use clap::Args;
use kiln_go::quote;
use kiln_krm::package::PackageError;
use kiln_package::{Access, DiskFiles};
use kiln_task::pkg::{CatError, CatOptions, CatStyle, PkgRules, cat};

use super::{only_argument, rules};
use crate::error::CommandError;
use crate::error::package::file_error;
use crate::flag_values::go_bool;
use crate::package::{self, Location, absolute, resolve_as_named};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg cat app")]
#[command(override_usage = "kiln pkg cat [OPTIONS] [FILE | DIR]")]
pub(super) struct CatArgs {
    /// File or directory. Default: the current directory
    #[arg(value_name = "FILE | DIR")]
    paths: Vec<String>,
    /// Add annotations with the file and the index of each resource
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_parser = go_bool, value_name = "BOOL")]
    annotate: bool,
    /// Put the fields of resources into their canonical order
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", value_parser = go_bool, value_name = "BOOL")]
    format: bool,
    /// Print sub-packages too
    #[arg(short = 'R', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", value_parser = go_bool, value_name = "BOOL")]
    recurse_subpackages: bool,
    /// Remove comments
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_parser = go_bool, value_name = "BOOL")]
    strip_comments: bool,
    /// Style of the YAML: TaggedStyle, DoubleQuotedStyle, LiteralStyle, FoldedStyle or FlowStyle
    #[arg(long, value_name = "STYLE", value_delimiter = ',')]
    style: Vec<String>,
}

pub(super) fn cmd_cat(ui: &Ui, args: &CatArgs) -> Result<()> {
    let named = only_argument(&args.paths, ".")?;
    let rules = rules(ui);
    let styles = args.style.iter().map(|style| style.parse::<CatStyle>());
    let styles: Vec<CatStyle> = match rules {
        // kpt ignores styles that it does not know.
        PkgRules::Kpt => styles.flatten().collect(),
        PkgRules::Kiln => styles
            .collect::<Result<_, _>>()
            .map_err(CommandError::usage)?,
    };
    let options = CatOptions {
        format: args.format,
        annotate: args.annotate,
        strip_comments: args.strip_comments,
        recurse: args.recurse_subpackages,
        styles,
        rules,
    };
    let resolved = resolve_as_named(ui, named)?;
    let location = Location::at(absolute(&resolved)?, named)?;
    let _lock = package::lock(ui, location.root(), Access::Read)?;
    let files = DiskFiles::open(location.root(), ui.compat().outside_links())?;
    let text = cat(&files, location.file(), &options);
    let text = text.map_err(|error| command_error(ui, &location, error, rules))?;
    ui.write_data(text.as_bytes())
}

fn command_error(ui: &Ui, location: &Location, error: CatError, rules: PkgRules) -> Error {
    match (rules, error) {
        (PkgRules::Kiln, CatError::Read { path, error, .. }) => {
            file_error(ui.compat(), location, &PackageError::Read { path, error })
        }
        (PkgRules::Kiln, error) => anyhow!("{error}"),
        (
            PkgRules::Kpt,
            CatError::Read {
                path,
                inner_path,
                error,
            },
        ) => {
            let (inner, path) = (quote(&inner_path), location.absolute(&path));
            anyhow!("kpt pkg cat: {inner}: {path}: {error}")
        }
        (
            PkgRules::Kpt,
            CatError::Sequence {
                path,
                inner_path,
                text,
            },
        ) => {
            let (inner, path) = (quote(&inner_path), location.absolute(&path));
            anyhow!(
                "kpt pkg cat: {inner}: {path}: wrong node kind: expected MappingNode but got SequenceNode: node contents:\n{text}"
            )
        }
        (PkgRules::Kpt, error) => anyhow!("kpt pkg cat: {error}"),
    }
}
