//! The original functions as programs of this machine.
//!
//! kpt runs images only by a container engine, so it gets one whose images are the programs of a directory: `NAME@TAG`, or `NAME`
//! for every tag. The engine is a script of our own, first on the PATH of that kpt and of nothing else.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use kiln_krm::image::{ImageRef, TagRequest, best_tag};
use kiln_krm::kptfile::Function;
use kiln_task::Contents;

use super::kpt_engine::functions_with_images;
use crate::environment::{KRM_FN_RUNTIME, PATH};
use crate::error::bail_usage;
use crate::real_program::{is_program, is_this_program};
use crate::staging::Staging;

/// A directory of programs, and the engine that runs them.
pub(super) struct FunctionPrograms {
    directory: PathBuf,
    /// The names of the programs, sorted.
    names: Vec<String>,
    engine: Staging,
}

impl FunctionPrograms {
    pub(super) fn open(directory: &Path) -> Result<FunctionPrograms> {
        let given = directory.display();
        let entries = match directory.canonicalize().and_then(fs::read_dir) {
            Ok(entries) => entries,
            Err(error) => bail_usage!("cannot read the functions in {given}: {error}"),
        };
        let directory = directory.canonicalize()?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {given}"))?;
            let name = entry.file_name().into_string();
            names.extend(name.ok().filter(|_| is_program(&entry.path())));
        }
        names.sort();
        if names.is_empty() {
            bail_usage!(
                "{given} has no programs, named NAME@TAG or NAME, such as set-labels@v0.2.0"
            );
        }
        let engine = Staging::create(false)?;
        let path = engine.path.join("docker");
        let script = script(&directory)?;
        let written = fs::write(&path, script)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(FunctionPrograms {
            directory,
            names,
            engine,
        })
    }

    /// The variables of a kpt that is to run the programs.
    pub(super) fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        let search_path = std::env::var_os(PATH).unwrap_or_default();
        let directories = std::env::split_paths(&search_path);
        let directories = std::iter::once(self.engine.path.clone()).chain(directories);
        let search_path = std::env::join_paths(directories);
        let search_path = search_path.context("the path of temporary directories has a colon")?;
        let own = [(PATH, search_path), (KRM_FN_RUNTIME, "docker".into())];
        let others = std::env::vars_os();
        let others = others.filter(|(name, _)| own.iter().all(|(own, _)| name != own));
        let mut variables: Vec<(OsString, OsString)> = others.collect();
        variables.extend(own.map(|(name, value)| (name.into(), value)));
        Ok(variables)
    }

    /// The functions of a package that have no program here.
    pub(super) fn missing(&self, package: &Contents) -> Vec<String> {
        let functions = functions_with_images(package);
        let missing = functions
            .iter()
            .filter_map(|function| self.missing_program(function));
        missing.collect()
    }

    fn missing_program(&self, function: &Function) -> Option<String> {
        // kpt reports what is wrong with an image or a tag.
        let image = ImageRef::parse(&function.image).ok()?;
        let name = image.name();
        let name = name.rsplit('/').next()?;
        let tag = match (function.tag.as_str(), TagRequest::parse(&function.tag)) {
            ("", _) => image.tag.unwrap_or_else(|| "latest".to_owned()),
            (range, Ok(TagRequest::Constraint(constraint))) => {
                let tags = self
                    .names
                    .iter()
                    .filter_map(|program| program.strip_prefix(name)?.strip_prefix('@'));
                let has_one = best_tag(&constraint, tags).is_some();
                return (!has_one).then(|| format!("{name}@{range}"));
            }
            (_, Ok(TagRequest::Exact(tag) | TagRequest::Literal { tag, .. })) => tag,
            (_, Err(_)) => return None,
        };
        let program = format!("{name}@{tag}");
        let is_there = |wanted: &str| self.names.iter().any(|found| found == wanted);
        (!is_there(&program) && !is_there(name)).then_some(program)
    }

    /// Whether a program is kiln itself, so that kpt runs kiln's functions.
    pub(super) fn have_links_to_kiln(&self) -> bool {
        let mut programs = self.names.iter().map(|name| self.directory.join(name));
        programs.any(|program| is_this_program(&program))
    }
}

/// The engine: it runs a program for `run … IMAGE`, and lists the tags of programs for `image ls … reference=IMAGE`.
fn script(directory: &Path) -> Result<String> {
    let text = directory.to_str();
    let text = text.ok_or_else(|| anyhow!("the name of {} is not UTF-8", directory.display()))?;
    let quoted = text.replace('\'', r"'\''");
    Ok(format!("#!/bin/sh\nfunctions='{quoted}'\n{COMMANDS}"))
}

const COMMANDS: &str = r#"case "$1" in
version) echo 27.0.0 ;;
image)
    for word; do
        case "$word" in reference=*) image=${word#reference=} ;; esac
    done
    for program in "$functions/${image##*/}@"*; do
        [ ! -x "$program" ] || echo "${program##*@}"
    done
    ;;
run)
    while [ $# -gt 1 ]; do
        case "$1" in -e | --env)
            case "$2" in [A-Za-z_]*=*) export "$2" ;; esac
            ;;
        esac
        shift
    done
    image=${1%%@*}
    name=${image##*/}
    case "$name" in
    *:*) tag=${name#*:} name=${name%%:*} ;;
    *) tag=latest ;;
    esac
    for program in "$functions/$name@$tag" "$functions/$name"; do
        [ ! -x "$program" ] || exec "$program"
    done
    echo "$functions has no program $name@$tag" >&2
    exit 125
    ;;
*)
    echo "cannot $1: this docker only runs the programs in $functions" >&2
    exit 125
    ;;
esac
"#;
