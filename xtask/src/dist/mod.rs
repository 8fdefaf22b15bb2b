//! `cargo xtask dist`: everything of a release, in one directory.
//!
//! A module per artifact makes bytes from bytes; only this module writes the directory. Programs are built ([`target`]) or
//! taken from a directory. Equal programs give equal files, whatever the machine and the time.

mod content;
mod debian;
mod files;
mod formula;
mod images;
mod manual;
mod sbom;
mod target;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kiln_oci::{Digest, write_archive};

use crate::images::{CertificateArgs, Target, push};
use content::Extras;
use files::{PackedFiles, gzip};
use formula::FormulaSource;
use target::{BuiltPrograms, PROGRAMS, git};

pub use target::{ReleaseTarget, TARGETS};

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
pub struct DistArgs {
    /// Platforms of the release [default: all for which this machine has compilers]
    #[arg(long = "target", value_name = "TRIPLE", value_delimiter = ',')]
    targets: Vec<ReleaseTarget>,
    /// Cargo profile of the programs
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Package the programs in DIRECTORY/TRIPLE instead of building them
    #[arg(long, value_name = "DIRECTORY")]
    programs: Option<PathBuf>,
    /// Make a release although files differ from the last commit, which the sources and the version of the programs are of
    #[arg(long)]
    allow_dirty: bool,
    /// Directory of the release; an old one is replaced [default: target/dist/VERSION]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Address of all releases, for the install script and the Homebrew formula; this one will be at ADDRESS/vVERSION
    #[arg(long, value_name = "ADDRESS", value_parser = without_last_slash)]
    releases: Option<String>,
    #[command(flatten)]
    certificates: CertificateArgs,
    #[command(flatten)]
    registry: Target,
}

fn without_last_slash(address: &str) -> Result<String, Infallible> {
    Ok(address.trim_end_matches('/').to_owned())
}

/// The files of a release by name.
type Artifacts = BTreeMap<String, Vec<u8>>;

/// Makes a release, and prints the checksums of its files.
pub fn run(root: &Path, args: &DistArgs) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let target_directory = crate::target_directory(root).join("dist");
    let directory = match &args.output {
        Some(directory) => directory.clone(),
        None => target_directory.join(version),
    };
    check_output(&directory)?;
    check_work_tree(root, args.allow_dirty)?;
    let time = release_time(root)?;
    let mut artifacts = Artifacts::new();
    let mut programs = Vec::new();
    for target in chosen(args)? {
        let built = match &args.programs {
            Some(directory) => prebuilt(&directory.join(target.triple()))?,
            None => target.build(root, &target_directory, &args.profile)?,
        };
        let name = format!("kiln-{version}-{}", target.triple());
        if built.debug.iter().next().is_some() {
            let files = built.debug.below(&name);
            artifacts.insert(format!("{name}-debug.tar.gz"), files.tar_gz(time)?);
        }
        programs.push((target, built.programs));
    }
    let extras = extras(root, &programs)?;
    for (target, programs) in &programs {
        let name = format!("kiln-{version}-{}", target.triple());
        let sbom = sbom::sbom(root, target, version)?;
        let files = content::archive(programs, &extras, &sbom).below(&name);
        artifacts.insert(format!("{name}.tar.gz"), files.tar_gz(time)?);
        artifacts.insert(format!("{name}.cdx.json"), sbom.into_bytes());
        let package = debian::package(target, version, programs, &extras, time)?;
        let package_name = format!("kiln_{version}_{}.deb", target.debian());
        artifacts.insert(package_name, package);
    }
    let sources = format!("kiln-{version}-sources.tar.gz");
    artifacts.insert(sources.clone(), source_archive(root, version)?);
    let notes = content::release_notes(&extras.changelog, version)?;
    if content::has_unreleased(&extras.changelog) {
        report("CHANGELOG.md has entries below \"Unreleased\", which are not in the release notes");
    }
    artifacts.insert("RELEASE_NOTES.md".to_owned(), notes.into_bytes());
    let script = fs::read_to_string(root.join("deploy/install"))?;
    let script = with_defaults(&script, version, args.releases.as_deref())?;
    artifacts.insert("install.sh".to_owned(), script.into_bytes());
    match &args.releases {
        Some(releases) => {
            let targets: Vec<ReleaseTarget> = programs.iter().map(|(target, _)| *target).collect();
            let formula = formula_of(version, releases, &sources, &targets, &artifacts)?;
            artifacts.insert("kiln.rb".to_owned(), formula.into_bytes());
        }
        None => report("no formula for Homebrew, because --releases is not set"),
    }
    let certificates = args.certificates.read("dist")?;
    let tag = format!("v{version}");
    let images = images::images(root, &programs, certificates.as_deref(), &tag)?;
    for (name, layout) in &images {
        let mut archive = Vec::new();
        write_archive(layout, &mut archive)?;
        artifacts.insert(format!("{name}-{version}.oci.tar"), archive);
    }
    let sums = checksums(&artifacts);
    artifacts.insert("SHA256SUMS".to_owned(), sums.clone().into_bytes());
    write(&directory, &artifacts)
        .with_context(|| format!("cannot write {}", directory.display()))?;
    io::stdout().write_all(sums.as_bytes())?;
    push(&args.registry, &images, &tag)
}

/// The requested platforms, or those that this machine can build for. Those that it cannot build for are reported with what is
/// missing.
fn chosen(args: &DistArgs) -> Result<Vec<ReleaseTarget>> {
    let wanted = match args.targets.is_empty() {
        true => TARGETS,
        false => args.targets.as_slice(),
    };
    let mut targets = Vec::new();
    for target in wanted {
        let missing = match &args.programs {
            Some(directory) if directory.join(target.triple()).is_dir() => Vec::new(),
            Some(directory) => vec![format!("{}/{}", directory.display(), target.triple())],
            None => target.missing()?,
        };
        if missing.is_empty() {
            targets.push(*target);
            continue;
        }
        let message = format!(
            "no programs for {}; missing:\n  {}",
            target.triple(),
            missing.join("\n  ")
        );
        if !args.targets.is_empty() {
            bail!(message);
        }
        report(&message);
    }
    // Before the build, which takes minutes.
    if !targets.iter().any(ReleaseTarget::is_this_machine) {
        let own = TARGETS.iter().find(|target| target.is_this_machine());
        let hint = own.map_or("make the release on another machine".to_owned(), |own| {
            format!("add --target {}", own.triple())
        });
        bail!(
            "no platform of the release is that of this machine, whose programs write the man pages; {hint}"
        );
    }
    Ok(targets)
}

fn prebuilt(directory: &Path) -> Result<BuiltPrograms> {
    let mut programs = PackedFiles::default();
    for (name, _) in PROGRAMS {
        let path = directory.join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        programs.add_program(*name, bytes);
    }
    Ok(BuiltPrograms {
        programs,
        debug: PackedFiles::default(),
    })
}

/// Man pages and completions come from the programs that run on this machine.
fn extras(root: &Path, programs: &[(ReleaseTarget, PackedFiles)]) -> Result<Extras> {
    let own = programs.iter().find(|(target, _)| target.is_this_machine());
    let (_, programs) = own.context("the release has no programs for this machine")?;
    Extras::collect(root, programs)
}

/// The files that show that a directory is a release, which may be replaced.
const RELEASE_FILES: [&str; 2] = ["SHA256SUMS", "install.sh"];

/// Refuses a directory with other files than those of an old release: it would lose them.
fn check_output(directory: &Path) -> Result<()> {
    let mut entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("cannot read {}", directory.display()))?,
    };
    let is_release = RELEASE_FILES
        .iter()
        .all(|name| directory.join(name).is_file());
    if entries.next().is_some() && !is_release {
        bail!(
            "{} has files and is not an old release, which has {}; use another --output",
            directory.display(),
            RELEASE_FILES.join(" and ")
        );
    }
    Ok(())
}

/// Refuses files that differ from the last commit: programs would have them, the sources of the release would not.
fn check_work_tree(root: &Path, allow_dirty: bool) -> Result<()> {
    let status = git(root, &["status", "--porcelain"])?;
    let Some(first) = status.lines().next() else {
        return Ok(());
    };
    let count = match status.lines().count() {
        1 => "1 file differs".to_owned(),
        count => format!("{count} files differ"),
    };
    let message = format!("{count} from the last commit: {:?}", first.trim());
    if !allow_dirty {
        bail!("{message}; commit them, or use --allow-dirty");
    }
    report(&format!(
        "{message}; the sources of the release do not have the changes"
    ));
    Ok(())
}

/// The time of all files: `SOURCE_DATE_EPOCH`, or that of the last commit.
fn release_time(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => git(root, &["log", "-1", "--format=%ct"])?,
    };
    let seconds = text.trim().parse();
    seconds.with_context(|| format!("{text:?} is not a number of seconds"))
}

/// What the last commit contains, for builds from source.
fn source_archive(root: &Path, version: &str) -> Result<Vec<u8>> {
    let prefix = format!("--prefix=kiln-{version}/");
    let output = std::process::Command::new("git")
        .args(["archive", "--format=tar", &prefix, "HEAD"])
        .current_dir(root)
        .output()
        .context("cannot run git archive")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("git archive failed: {}", message.trim());
    }
    gzip(&output.stdout)
}

/// The install script with the version, and the address if it is known, as defaults.
fn with_defaults(script: &str, version: &str, releases: Option<&str>) -> Result<String> {
    let mut script = script.to_owned();
    let defaults = [("KILN_VERSION", Some(version)), ("KILN_RELEASES", releases)];
    for (name, value) in defaults {
        let Some(value) = value else { continue };
        let before = format!("\n{name}=${{{name}:-}}\n");
        if !script.contains(&before) || value.contains(['}', '"', '$', '`', '\\', ' ']) {
            bail!("cannot set {name} to {value:?} in the install script");
        }
        let after = format!("\n{name}=${{{name}:-{value}}}\n");
        script = script.replacen(&before, &after, 1);
    }
    Ok(script)
}

fn formula_of(
    version: &str,
    releases: &str,
    sources: &str,
    targets: &[ReleaseTarget],
    artifacts: &Artifacts,
) -> Result<String> {
    let sum = |name: &str| -> Result<String> {
        let bytes = artifacts.get(name);
        let bytes = bytes.with_context(|| format!("the release has no {name}"))?;
        Ok(sha256(bytes))
    };
    let mut archives = Vec::new();
    for target in targets {
        let name = format!("kiln-{version}-{}.tar.gz", target.triple());
        let processor = match target.debian() {
            "amd64" => "intel",
            _ => "arm",
        };
        archives.push((processor, sum(&name)?, name));
    }
    let archives: Vec<(&str, FormulaSource<'_>)> = archives
        .iter()
        .map(|(processor, sha256, name)| (*processor, FormulaSource { name, sha256 }))
        .collect();
    let sha256 = sum(sources)?;
    let sources = FormulaSource {
        name: sources,
        sha256: &sha256,
    };
    Ok(formula::formula(version, releases, &sources, &archives))
}

/// The checksums in the format of `sha256sum`.
fn checksums(artifacts: &Artifacts) -> String {
    let line = |(name, bytes): (&String, &Vec<u8>)| format!("{}  {name}\n", sha256(bytes));
    artifacts.iter().map(line).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Digest::of(bytes).to_string();
    digest.trim_start_matches("sha256:").to_owned()
}

fn write(directory: &Path, artifacts: &Artifacts) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(directory)?,
    }
    for (name, bytes) in artifacts {
        fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}

fn report(message: &str) {
    let _ = writeln!(io::stderr(), "dist: {message}");
}

#[cfg(test)]
mod tests;
