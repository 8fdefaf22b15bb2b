//! `kiln pkg diff`

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_task::pkg::{DiffError, DiffSides, DiffType, diff_sides};

use super::directory::PackageDirectory;
use super::sources::{GitTalk, with_sources};
use super::{DIFFERENCES, errors, named_version, only_argument};
use crate::compat::Compat;
use crate::complete;
use crate::environment::{KPT_EXTERNAL_DIFF, KPT_EXTERNAL_DIFF_OPTS, PATH};
use crate::error::{CommandError, bail_usage};
use crate::real_program::is_program;
use crate::report::contents_diff::contents_diff;
use crate::rpkg::directory::write as write_directory;
use crate::staging::Staging;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg diff app@v2")]
#[command(override_usage = "kiln pkg diff [OPTIONS] [PKG_PATH@VERSION]")]
pub(super) struct DiffArgs {
    /// Directory of the package, and a version of its upstream. Default: the current directory
    #[arg(value_name = "PKG_PATH@VERSION")]
    packages: Vec<String>,
    /// What to compare: local, remote, combined or 3way. Default: local, with a version combined
    #[arg(long, value_name = "TYPE", add = ArgValueCandidates::new(complete::diff_types))]
    diff_type: Option<String>,
    /// Program that compares two directories [env: KPT_EXTERNAL_DIFF]. Default: kiln itself
    #[arg(long, value_name = "PROGRAM")]
    diff_tool: Option<String>,
    /// Arguments of that program, separated by blanks [env: KPT_EXTERNAL_DIFF_OPTS]
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    diff_tool_opts: Option<String>,
    /// Exit with code 3 if there are differences
    #[arg(long)]
    exit_code: bool,
    /// Print the command line of the program, and keep the directories that it compares
    #[arg(long)]
    debug: bool,
    /// Print git's output
    #[arg(long)]
    verbose: bool,
}

pub(super) fn cmd_diff(ui: &Ui, args: &DiffArgs) -> Result<ExitCode> {
    let named = only_argument(&args.packages, ".")?;
    let Some((named, version)) = named_version(ui, named) else {
        bail_usage!("at most 1 version permitted");
    };
    let diff_type = match (
        args.diff_type.as_deref().filter(|text| !text.is_empty()),
        version,
    ) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(DiffType::Combined),
        (None, None) => Some(DiffType::Local),
    };
    let directory = PackageDirectory::resolve(ui, named)?;
    let diff_type = match (diff_type, &args.diff_type) {
        (Some(diff_type), _) => diff_type,
        (None, text) => text
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(CommandError::usage)?,
    };
    let tool = DiffTool::find(ui, args)?;
    let local = directory.read()?;
    check_kptfile(ui, &directory, local.bytes(FILE_NAME))?;
    let talk = GitTalk::new(ui, args.verbose);
    let sides = with_sources(ui, talk, |sources| {
        let sides = diff_sides(sources, &local, &directory.shown, diff_type, version);
        sides.map_err(|error| diff_error(ui, &error))
    })?;
    let is_different = sides.windows(2).any(|pair| pair[0].1 != pair[1].1);
    match tool {
        Some(tool) => tool.run(ui, &directory, &sides, args)?,
        None => {
            let [old, new] = &own_order(&sides, diff_type)[..] else {
                bail_usage!(
                    "--diff-type=3way needs a program that compares three directories: pass --diff-tool"
                );
            };
            ui.write_data(contents_diff(&old.1, &new.1).as_bytes())?;
        }
    }
    Ok(match args.exit_code && is_different {
        true => ExitCode::from(DIFFERENCES),
        false => ExitCode::SUCCESS,
    })
}

/// The older side first: kpt compares the package with its upstream, and kiln shows what was changed in the package.
fn own_order(sides: &DiffSides, diff_type: DiffType) -> DiffSides {
    let mut sides = sides.clone();
    if diff_type == DiffType::Local {
        sides.reverse();
    }
    sides
}

fn check_kptfile(ui: &Ui, directory: &PackageDirectory, kptfile: Option<&[u8]>) -> Result<()> {
    let path = &directory.shown;
    let reason = match kptfile.map(Kptfile::read) {
        Some(Ok(_)) => return Ok(()),
        Some(Err(problem)) => problem.to_string(),
        None => format!("open {path}/{FILE_NAME}: no such file or directory"),
    };
    match ui.compat() {
        Compat::Kiln => bail!("{path} is not a package: {reason}"),
        Compat::Kpt | Compat::KptV039 => bail!(
            "package missing Kptfile at '{path}': error reading Kptfile at {}: {reason}",
            kiln_go::quote(path)
        ),
    }
}

fn diff_error(ui: &Ui, error: &DiffError) -> Error {
    match error {
        DiffError::Fetch(error) => errors::fetch(ui, error),
        DiffError::Kptfile(error) => errors::kptfile(ui, error),
        error => anyhow!("{error}"),
    }
}

/// A program that compares directories.
struct DiffTool {
    path: PathBuf,
    options: String,
}

impl DiffTool {
    /// The program that flags or the environment name. kpt's default is `diff`, kiln's none.
    fn find(ui: &Ui, args: &DiffArgs) -> Result<Option<DiffTool>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let named = args
            .diff_tool
            .clone()
            .or_else(|| variable(KPT_EXTERNAL_DIFF));
        let name = match (named, ui.compat()) {
            (Some(name), _) => name,
            (None, Compat::Kiln) => return Ok(None),
            (None, Compat::Kpt | Compat::KptV039) => "diff".to_owned(),
        };
        let Some(path) = look_up(&name) else {
            bail_usage!("diff-tool '{name}' not found in the PATH");
        };
        let options = args.diff_tool_opts.clone();
        let options = options.or_else(|| variable(KPT_EXTERNAL_DIFF_OPTS));
        Ok(Some(DiffTool {
            path,
            options: options.unwrap_or_default(),
        }))
    }

    /// Writes the sides to temporary directories and compares them. Their paths are replaced in the output.
    fn run(
        &self,
        ui: &Ui,
        directory: &PackageDirectory,
        sides: &DiffSides,
        args: &DiffArgs,
    ) -> Result<()> {
        let staging = Staging::create(args.debug)?;
        let mut paths = Vec::new();
        for (name, contents) in sides {
            let path = staging.path.join(name);
            write_directory(contents, &path)?;
            paths.push((name, path.display().to_string()));
        }
        let mut command = Command::new(&self.path);
        if !self.options.is_empty() {
            command.args(self.options.split(' '));
        }
        command
            .args(paths.iter().map(|(_, path)| path))
            .stdin(Stdio::null());
        if args.debug {
            ui.write_data(format!("{command:?}\n").as_bytes())?;
        }
        let output = command.output();
        let output = output.with_context(|| format!("cannot run {}", self.path.display()))?;
        // kpt prints what the program prints as errors to standard output, too.
        ui.write_data(&output.stderr)?;
        let code = output.status.code();
        let is_failed = !matches!(code, Some(0 | 1));
        if is_failed {
            let path = self.path.display();
            let diff_type = args.diff_type.as_deref().unwrap_or("local");
            ui.write_data(
                format!("\nThe selected diff tool ({path}) exited with an error. It may not support the chosen diff type ({diff_type}). To use a different diff tool please provide the tool using the --diff-tool flag. \n\nFor more information about using kpt's diff command please see the commands --help.\n").as_bytes(),
            )?;
        }
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        for (name, path) in &paths {
            let shown = match name.starts_with("local-") {
                true => &directory.shown,
                false => *name,
            };
            text = text.replace(path.as_str(), shown);
        }
        ui.write_data(text.as_bytes())?;
        match (is_failed, code) {
            (false, _) => Ok(()),
            (true, Some(code)) => bail!("exit status {code}"),
            (true, None) => bail!("{}", output.status),
        }
    }
}

/// A program in a directory, or on the path.
fn look_up(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let directories = std::env::var_os(PATH)?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| is_program(path))
}
