//! What a release has besides programs, and the content of its archives.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

use super::files::PackedFiles;
use super::manual::manual_page;

/// What the programs besides kiln do. kiln writes its own man pages.
const SUMMARIES: [(&str, &str); 2] = [
    (
        "function-runner",
        "run functions on packages of Kubernetes resources, as a gRPC service",
    ),
    (
        "wrapper-server",
        "serve the function of an image in its pod",
    ),
];

/// Documents, man pages and completions; the same for all platforms.
pub(super) struct Extras {
    pub(super) licence: String,
    pub(super) changelog: String,
    pub(super) security: String,
    /// The unit of the function runner for systemd.
    pub(super) unit: String,
    /// The configuration that the unit names.
    pub(super) runner_config: String,
    /// The profile of AppArmor that lets installed programs make user namespaces.
    pub(super) apparmor: String,
    /// Man pages by file name.
    pub(super) manual: BTreeMap<String, Vec<u8>>,
    pub(super) bash: Vec<u8>,
    pub(super) zsh: Vec<u8>,
    pub(super) fish: Vec<u8>,
}

impl Extras {
    /// Reads the documents, and has the programs for this machine write the rest.
    pub(super) fn collect(root: &Path, programs: &PackedFiles) -> Result<Extras> {
        let work = tempfile::tempdir()?;
        for (name, file) in programs.iter() {
            let path = work.path().join(name);
            fs::write(&path, &file.bytes)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        let program = work.path().join("kiln");
        let pages = work.path().join("manual");
        output(Command::new(&program).arg("manual").arg(&pages))?;
        let mut manual = BTreeMap::new();
        for entry in fs::read_dir(&pages)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            manual.insert(name.into_owned(), fs::read(&path)?);
        }
        for (name, summary) in SUMMARIES {
            let help = output(Command::new(work.path().join(name)).arg("--help"))?;
            let page = manual_page(name, summary, &String::from_utf8_lossy(&help.stderr));
            manual.insert(format!("{name}.1"), page.into_bytes());
        }
        let completion = |shell| {
            let printed = output(Command::new(&program).args(["completion", shell]))?;
            anyhow::Ok(printed.stdout)
        };
        let document = |name: &str| {
            fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
        };
        Ok(Extras {
            licence: document("LICENSE")?,
            changelog: document("CHANGELOG.md")?,
            security: document("SECURITY.md")?,
            unit: document("deploy/function-runner.service")?,
            runner_config: document("deploy/function-runner.config.yaml")?,
            apparmor: document("deploy/apparmor/kiln")?,
            manual,
            bash: completion("bash")?,
            zsh: completion("zsh")?,
            fish: completion("fish")?,
        })
    }
}

/// The profile of AppArmor, below `share`. Not in `/etc`: versions of AppArmor before 4.0 cannot read it, and need none.
pub(super) const APPARMOR: &str = "kiln/apparmor/kiln";

/// The content of a platform's archive. Below `share` are the directories of a prefix like `/usr/local`.
pub(super) fn archive(programs: &PackedFiles, extras: &Extras, sbom: &str) -> PackedFiles {
    let mut files = PackedFiles::default();
    for (name, file) in programs.iter() {
        files.add_program(format!("bin/{name}"), file.bytes.clone());
    }
    for (name, page) in &extras.manual {
        files.add(format!("share/man/man1/{name}"), page.clone());
    }
    let completions = [
        ("bash-completion/completions/kiln", &extras.bash),
        ("fish/vendor_completions.d/kiln.fish", &extras.fish),
        ("zsh/site-functions/_kiln", &extras.zsh),
    ];
    for (path, script) in completions {
        files.add(format!("share/{path}"), script.clone());
    }
    files.add(format!("share/{APPARMOR}"), extras.apparmor.as_str());
    files.add("LICENSE", extras.licence.as_str());
    files.add("CHANGELOG.md", extras.changelog.as_str());
    files.add("SECURITY.md", extras.security.as_str());
    files.add("function-runner.service", extras.unit.as_str());
    files.add("function-runner.config.yaml", extras.runner_config.as_str());
    files.add("sbom.cdx.json", sbom);
    files
}

/// Whether the changelog has entries that belong to no version yet.
pub(super) fn has_unreleased(changelog: &str) -> bool {
    let lines = changelog
        .lines()
        .skip_while(|line| *line != "## Unreleased");
    let section = lines.skip(1).take_while(|line| !line.starts_with("## "));
    section.into_iter().any(|line| line.starts_with("- "))
}

/// The section of a version in the changelog: the notes of its release.
pub(super) fn release_notes(changelog: &str, version: &str) -> Result<String> {
    let is_heading = |line: &&str| line.starts_with("## ");
    let of_version = |line: &&str| line.split([' ', ',']).nth(1) == Some(version);
    let mut lines = changelog.lines();
    let heading = lines
        .by_ref()
        .find(|line| is_heading(line) && of_version(line));
    let Some(heading) = heading else {
        bail!("CHANGELOG.md has no section \"## {version}\"");
    };
    let body = lines.take_while(|line| !is_heading(line));
    let notes: Vec<&str> = std::iter::once(heading).chain(body).collect();
    Ok(format!("{}\n", notes.join("\n").trim_end()))
}

fn output(command: &mut Command) -> Result<Output> {
    let output = command.env_clear().output();
    let program = command.get_program().display().to_string();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output)
}
