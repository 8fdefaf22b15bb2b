//! Checks that a container engine was called exactly as kpt calls it.
//!
//! The expected calls follow from the arguments of the program under test and from the images in the Kptfiles of the case.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use kiln_krm::kptfile::{FILE_NAME, Function, Kptfile};

use super::Mode;
use super::judge::{About, Problem};

/// The registry of names without one.
const REGISTRY: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// Ranges of versions in cases, and the newest tag of our engine in each.
const TAGS: [(&str, &str); 2] = [("0.4.1 - 0.4.3", "v0.4.3"), ("~0.2", "v0.2.5")];

/// Arguments of a program.
pub(super) type Call = Vec<String>;

/// The calls that one of our programs has recorded.
pub(super) fn noted(path: &Path) -> Vec<Call> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let calls = text.split_terminator("\u{1e}\u{1f}");
    calls
        .map(|call| call.split_terminator('\u{1f}').map(str::to_owned).collect())
        .collect()
}

/// Problems of the calls of the engine. `package` is the directory of the case's Kptfiles.
pub(super) fn check(
    program: &[Call],
    engine: &[Call],
    package: &Path,
    mode: Mode,
) -> Result<Vec<Problem>> {
    let runs = engine.iter().filter(|call| is_verb(call, "run"));
    let runs: Vec<&Call> = runs.collect();
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let declared = declared_images(package)?;
    let user = fs::metadata(package).map(|owner| format!("{}:{}", owner.uid(), owner.gid()))?;
    let mut allowed: Vec<Call> = Vec::new();
    for call in program {
        allowed.extend(allowed_runs(call, &declared, &user));
    }
    let unknown = runs.into_iter().filter(|run| {
        let mut run = (*run).clone();
        if mode == Mode::Default {
            remove_name(&mut run);
        }
        !allowed.contains(&run)
    });
    let problem = |run: &Call| {
        let allowed: Vec<String> = allowed.iter().map(|words| words.join(" ")).collect();
        let sentence = format!(
            "the engine was called with\n    {}\n  wanted one of\n    {}",
            run.join(" "),
            allowed.join("\n    ")
        );
        Problem::plain(About::Engine, sentence)
    };
    Ok(unknown.map(problem).collect())
}

fn is_verb(call: &Call, verb: &str) -> bool {
    call.first().is_some_and(|word| word == verb)
}

/// In its own mode kiln gives containers a name, so that it can remove them.
fn remove_name(run: &mut Call) {
    let place = run.iter().position(|word| word == "--name");
    let named = place.filter(|place| {
        let name = run.get(place + 1);
        name.is_some_and(|name| name.starts_with("kiln-"))
    });
    if let Some(place) = named {
        run.drain(place..place + 2);
    }
}

/// All allowed calls of the engine for a call of the program.
fn allowed_runs(call: &Call, declared: &[Function], user: &str) -> Vec<Call> {
    let [group, verb, rest @ ..] = &call[..] else {
        return Vec::new();
    };
    let flags = Flags::of(rest);
    match (group.as_str(), verb.as_str()) {
        ("fn", "render") => {
            let images = declared.iter().map(rendered_image);
            images.map(|image| flags.run(&image, user)).collect()
        }
        ("fn", "eval") => {
            let images = flags.images.iter().map(|image| with_registry(image));
            images.map(|image| flags.run(&image, user)).collect()
        }
        _ => Vec::new(),
    }
}

/// The options of a call of the program that concern containers.
#[derive(Default)]
struct Flags<'a> {
    images: Vec<&'a str>,
    pull: Option<&'a str>,
    env: Vec<&'a str>,
    mounts: Vec<&'a str>,
    has_network: bool,
    is_current_user: bool,
}

impl<'a> Flags<'a> {
    fn of(words: &'a [String]) -> Flags<'a> {
        let mut flags = Flags::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let mut value = || value.or_else(|| words.next());
            match name {
                "--" => break,
                "--image" | "-i" => flags.images.extend(value()),
                "--image-pull-policy" => flags.pull = value(),
                "--env" | "-e" => flags.env.extend(value()),
                "--mount" => flags.mounts.extend(value()),
                "--network" | "--allow-network" => flags.has_network = true,
                "--as-current-user" => flags.is_current_user = true,
                _ => {}
            }
        }
        flags
    }

    /// The arguments of the engine.
    fn run(&self, image: &str, user: &str) -> Call {
        let network = if self.has_network { "host" } else { "none" };
        let user = if self.is_current_user { user } else { "nobody" };
        let pull = match self.pull.map(str::to_ascii_lowercase).as_deref() {
            Some("always") => "always",
            Some("never") => "never",
            _ => "missing",
        };
        let words = ["run", "--rm", "-i", "--network", network, "--user", user];
        let mut words: Call = words.map(str::to_owned).into();
        let more = ["--security-opt=no-new-privileges", "--pull", pull];
        words.extend(more.map(str::to_owned));
        for mount in &self.mounts {
            words.extend(["--mount".to_owned(), written_mount(mount)]);
        }
        let (mut values, bare): (Vec<&str>, Vec<&str>) =
            self.env.iter().partition(|variable| variable.contains('='));
        values.sort_unstable();
        for variable in values.into_iter().chain(bare) {
            words.extend(["-e".to_owned(), variable.to_owned()]);
        }
        words.push(image.to_owned());
        words
    }
}

/// `type=bind,src=/a,dst=/b` as the engine gets it.
fn written_mount(mount: &str) -> String {
    let value = |names: [&str; 2]| {
        let mut options = mount.split(',').filter_map(|option| option.split_once('='));
        let found = options.find(|(name, _)| names.contains(name));
        found.map_or("", |(_, value)| value)
    };
    let (kind, source, target) = (
        value(["type", ""]),
        value(["src", "source"]),
        value(["dst", "target"]),
    );
    let mode = match value(["rw", ""]) {
        "true" => "",
        _ => ",readonly",
    };
    format!("type={kind},source={source},target={target}{mode}")
}

fn with_registry(image: &str) -> String {
    match image.contains('/') {
        true => image.to_owned(),
        false => format!("{REGISTRY}/{image}"),
    }
}

/// The image that a function of a pipeline runs.
fn rendered_image(function: &Function) -> String {
    let image = with_registry(&function.image);
    let name = image.rsplit('/').next().unwrap_or_default();
    let tag = function.tag.as_str();
    if !tag.is_empty() {
        let range = TAGS.iter().find(|(range, _)| *range == tag);
        return format!("{image}:{}", range.map_or(tag, |(_, newest)| newest));
    }
    match name.contains([':', '@']) {
        true => image,
        false => format!("{image}:latest"),
    }
}

/// The functions with images of all Kptfiles below a directory.
fn declared_images(package: &Path) -> Result<Vec<Function>> {
    let mut functions = Vec::new();
    let mut pending = vec![package.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else if entry.file_name() == FILE_NAME {
                let kptfile = Kptfile::read(&fs::read(entry.path())?);
                let pipeline = kptfile.ok().and_then(|kptfile| kptfile.pipeline);
                let pipeline = pipeline.unwrap_or_default();
                functions.extend(pipeline.mutators);
                functions.extend(pipeline.validators);
            }
        }
    }
    functions.retain(|function| !function.image.is_empty());
    Ok(functions)
}

#[cfg(test)]
mod tests {
    use super::{Flags, rendered_image, with_registry};
    use kiln_krm::kptfile::Function;

    #[track_caller]
    fn check(flags: &str, expect: &str) {
        let words: Vec<String> = flags.split(' ').map(str::to_owned).collect();
        let words = Flags::of(&words).run("IMAGE", "1:2");
        assert_eq!(words.join(" "), expect);
    }

    #[test]
    fn flags_become_the_engines_words() {
        check(
            "pkg",
            "run --rm -i --network none --user nobody --security-opt=no-new-privileges --pull missing IMAGE",
        );
        check(
            "-e B=1 -e HOME --env=A=2 --network --as-current-user --image-pull-policy ALWAYS \
             --mount type=bind,src=/a,dst=/b -- -e X=1",
            "run --rm -i --network host --user 1:2 --security-opt=no-new-privileges --pull always \
             --mount type=bind,source=/a,target=/b,readonly -e A=2 -e B=1 -e HOME IMAGE",
        );
    }

    #[test]
    fn names_are_made_whole() {
        assert_eq!(with_registry("x/y:1"), "x/y:1");
        let function = Function {
            image: "set-labels".to_owned(),
            ..Function::default()
        };
        let whole = "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest";
        assert_eq!(rendered_image(&function), whole);
    }
}
