//! The flags of a function that reads and writes files instead of its standard streams.
//!
//! Of the functions of the catalog only gatekeeper has them: `--input FILE --output FILE [--json]`. The files are those of the
//! container, so only what is mounted exists.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use kiln_container::Mount;
use kiln_functions::registry::Registry;
use kiln_krm::write::json::to_json;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

use super::EngineLink;
use super::command_line::RunCommand;
use super::error::EngineLinkError;
use super::permissions::Permissions;
use super::run::{exit_code, output_bytes};

/// The function with these flags.
const GATEKEEPER: &str = "gatekeeper";

/// Where a function reads and writes, as paths in the container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FunctionFiles {
    pub(super) input: String,
    pub(super) output: String,
    /// The files are JSON and not YAML.
    pub(super) is_json: bool,
}

impl FunctionFiles {
    /// Parses the arguments of an image; `None` if it has no such flags, or if they do not name both files.
    pub(super) fn parse(image: &str, arguments: &[&str]) -> Option<FunctionFiles> {
        let registry = Registry::builtin();
        registry.find_image(image)?;
        let function = registry.function_of_image(image)?;
        let (mut input, mut output, mut is_json) = (None, None, false);
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match name {
                "--input" | "-i" => input = inline.or_else(|| words.next()),
                "--output" | "-o" => output = inline.or_else(|| words.next()),
                "--json" if inline.is_none() => is_json = true,
                _ => return None,
            }
        }
        let files = FunctionFiles {
            input: input?.to_owned(),
            output: output?.to_owned(),
            is_json,
        };
        (function.name == GATEKEEPER).then_some(files)
    }
}

impl EngineLink<'_> {
    /// Runs a function on a file. What is wrong with the files is a failure of the function.
    pub(super) fn run_on_files(
        &self,
        command: &RunCommand,
        files: &FunctionFiles,
    ) -> Result<ExitCode, EngineLinkError> {
        let mounts = Permissions::of_environment().check_mounts(&command.mounts)?;
        let read = MountedFile::find(&mounts, &files.input).and_then(|file| file.read());
        let input = read.and_then(|text| match files.is_json {
            // JSON is YAML.
            true => serde_json::from_str::<IgnoredAny>(&text)
                .map(|_| text)
                .map_err(|error| error.to_string()),
            false if text.starts_with('{') => {
                Err("tried to parse JSON as YAML. Use --json flag.".to_owned())
            }
            false => Ok(text),
        });
        let input = match input {
            Ok(input) => input,
            Err(problem) => return Ok(self.failure(&files.input, &problem)),
        };
        let outcome = self.run_on(command, &input)?;
        let output = output_bytes(&outcome);
        let written = match files.is_json {
            true => as_json(&output),
            false => Ok(output.into_owned()),
        };
        let written = written.and_then(|bytes| {
            let file = MountedFile::find(&mounts, &files.output)?;
            file.write(&bytes)
        });
        match written {
            Ok(()) => Ok(exit_code(outcome.exit_code, outcome.signal)),
            Err(problem) => Ok(self.failure(&files.output, &problem)),
        }
    }

    fn failure(&self, file: &str, problem: &str) -> ExitCode {
        self.ui.print_message(&format!("{file}: {problem}"));
        ExitCode::FAILURE
    }
}

fn as_json(yaml: &[u8]) -> Result<Vec<u8>, String> {
    let document = kiln_yaml::parse_first(yaml).map_err(|error| error.to_string())?;
    let document = document.ok_or("the function has no output")?;
    let text = to_json(&document).map_err(|error| error.to_string())?;
    Ok(compact(&text).into_bytes())
}

/// JSON without indentation. Strings have no line breaks in them, so each line begins with a key, a value or a bracket.
fn compact(indented: &str) -> String {
    let mut out = String::with_capacity(indented.len());
    for line in indented.lines() {
        let line = line.trim_start();
        let mut strings = Deserializer::from_str(line).into_iter::<IgnoredAny>();
        let key_end = match line.starts_with('"') && strings.next().is_some() {
            true => strings.byte_offset(),
            false => 0,
        };
        let (key, rest) = line.split_at(key_end);
        out.push_str(key);
        match rest.strip_prefix(": ") {
            Some(value) if !key.is_empty() => {
                out.push(':');
                out.push_str(value);
            }
            _ => out.push_str(rest),
        }
    }
    out
}

/// A file of a container that is a file of this machine.
struct MountedFile {
    path: PathBuf,
    is_writable: bool,
    /// The directory that the mount allows, without links.
    allowed: PathBuf,
}

impl MountedFile {
    fn find(mounts: &[Mount], named: &str) -> Result<MountedFile, String> {
        let inside = Path::new("/").join(named);
        let is_plain = inside
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let mut directories = mounts.iter().filter(|mount| mount.kind == "bind");
        let found = directories.find_map(|mount| {
            let rest = inside.strip_prefix(&mount.target).ok()?;
            Some(MountedFile {
                path: Path::new(&mount.source).join(rest),
                is_writable: mount.writable,
                allowed: PathBuf::from(&mount.source),
            })
        });
        match found {
            Some(found) if is_plain => Ok(found),
            _ => Err("no such file in the container: mount its directory".to_owned()),
        }
    }

    /// A link in the directory must not lead out of it.
    fn resolved(&self) -> Result<PathBuf, String> {
        let resolved = match self.path.canonicalize() {
            Ok(resolved) => resolved,
            // A new file.
            Err(_) if !self.path.is_symlink() => {
                let parent = self.path.parent().unwrap_or(&self.allowed);
                let parent = parent.canonicalize().map_err(|error| error.to_string())?;
                parent.join(self.path.file_name().unwrap_or_default())
            }
            Err(error) => return Err(error.to_string()),
        };
        match resolved.starts_with(&self.allowed) {
            true => Ok(resolved),
            false => Err("a link leads out of the mounted directory".to_owned()),
        }
    }

    fn read(&self) -> Result<String, String> {
        fs::read_to_string(self.resolved()?).map_err(|error| error.to_string())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), String> {
        if !self.is_writable {
            return Err("the mount is read-only".to_owned());
        }
        fs::write(self.resolved()?, bytes).map_err(|error| error.to_string())
    }
}
