//! Functions that do one simple thing each, as trees or over the wire, and are written in a Kptfile by their words.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use kiln_krm::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_krm::{Dialect, Resource, ResourceList, Wrapper, write_list};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext, RunError,
    Runner, Target,
};

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Pass,
    Reverse,
    /// Loses all comments.
    Strip,
    Mark,
    /// Deletes the resources whose number leaves this rest.
    Delete(usize),
    Rename(usize),
    Move(usize),
    /// Makes a secret, unless it is there.
    Generate(usize),
    Report,
    Fail,
    Garbage,
    /// Reports an error, with exit code 0.
    Complain,
    /// Moves a resource out of the package.
    Escape,
    /// Gives two resources the same place.
    Collide,
}

/// The rests that [`Action::Delete`] and its like can ask for.
pub(crate) const RESTS: usize = 5;

/// Whether an action is meant for the resource with this number.
pub(crate) fn is_meant(number: usize, rest: usize) -> bool {
    number % RESTS == rest
}

const WORDS: [(&str, Action); 14] = [
    ("pass", Action::Pass),
    ("reverse", Action::Reverse),
    ("strip", Action::Strip),
    ("mark", Action::Mark),
    ("delete", Action::Delete(0)),
    ("rename", Action::Rename(0)),
    ("move", Action::Move(0)),
    ("generate", Action::Generate(0)),
    ("report", Action::Report),
    ("fail", Action::Fail),
    ("garbage", Action::Garbage),
    ("complain", Action::Complain),
    ("escape", Action::Escape),
    ("collide", Action::Collide),
];

impl Action {
    fn with_rest(self, rest: usize) -> Action {
        match self {
            Action::Delete(_) => Action::Delete(rest),
            Action::Rename(_) => Action::Rename(rest),
            Action::Move(_) => Action::Move(rest),
            Action::Generate(_) => Action::Generate(rest),
            other => other,
        }
    }

    fn rest(self) -> usize {
        match self {
            Action::Delete(rest)
            | Action::Rename(rest)
            | Action::Move(rest)
            | Action::Generate(rest) => rest,
            _ => 0,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS
            .iter()
            .find(|(_, action)| *action == self.with_rest(0))
            .map_or("", |(word, _)| word);
        write!(f, "{word} {}", self.rest())
    }
}

/// A function as a Kptfile names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Doing {
    pub(crate) action: Action,
    pub(crate) is_wire: bool,
    pub(crate) is_native: bool,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crossing = if self.is_wire { "wire" } else { "tree" };
        let place = if self.is_native { "native" } else { "external" };
        write!(f, "{} {crossing} {place}", self.action)
    }
}

impl Doing {
    fn parse(text: &str) -> Option<Doing> {
        let [word, rest, crossing, place] = text.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let action = WORDS.iter().find(|(known, _)| *known == word)?.1;
        Some(Doing {
            action: action.with_rest(rest.parse().ok()?),
            is_wire: crossing == "wire",
            is_native: place == "native",
        })
    }
}

/// Runs [`Doing`]s and remembers those that were not native, with what they got, in the order in which they ran.
#[derive(Clone, Default)]
pub(crate) struct Actions {
    pub(crate) external: Arc<Mutex<Vec<String>>>,
}

impl Evaluator for Actions {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let doing = match &function.target {
            Target::Exec(text) => Doing::parse(text),
            _ => None,
        };
        Ok(Found::blocking(Acting {
            doing: doing.ok_or_else(|| FindError::not_found(function))?,
            external: self.external.clone(),
        }))
    }
}

struct Acting {
    doing: Doing,
    external: Arc<Mutex<Vec<String>>>,
}

impl Runner for Acting {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        if !self.doing.is_native {
            let names: Vec<&str> = input.items().iter().map(Resource::name).collect();
            let line = format!("{} {}", self.doing, names.join(" "));
            self.external.lock().expect("not poisoned").push(line);
        }
        // Others get a chance to come first.
        thread::yield_now();
        if ctx.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let mut items = input.items().to_vec();
        let action = self.doing.action;
        items.retain(|item| match (action, number(item)) {
            (Action::Delete(rest), Some(number)) => !is_meant(number, rest),
            _ => true,
        });
        items
            .iter_mut()
            .for_each(|item| change(item, action).expect("can be changed"));
        match action {
            Action::Reverse => items.reverse(),
            Action::Generate(which) => generate(&mut items, which),
            Action::Escape => relocate(&mut items, 1, "../out.yaml"),
            Action::Collide => relocate(&mut items, 2, "same.yaml"),
            _ => {}
        }
        let results = match action {
            Action::Report => Some("- message: seen\n  severity: info\n"),
            Action::Complain => Some("- message: bad\n  severity: error\n"),
            _ => None,
        };
        let results = results.and_then(|text| kiln_yaml::parse(text).expect("is YAML"));
        let output = match (self.doing.is_wire, action) {
            (_, Action::Garbage) => Output::Wire(b"a: b: c".as_slice().into()),
            (_, Action::Strip) => Output::Wire(without_comments(input.wire()).into()),
            (true, _) => {
                let wrapper = Wrapper::resource_list(Dialect::Current);
                let text = write_list(&wrapper, &items, None, results.as_ref());
                Output::Wire(text.into())
            }
            (false, _) => Output::List(ResourceList {
                items,
                results,
                ..ResourceList::default()
            }),
        };
        let is_failure = action == Action::Fail;
        Ok(Outcome {
            exit_code: if is_failure { 3 } else { 0 },
            signal: None,
            output,
            stderr: if is_failure { b"why".to_vec() } else { vec![] },
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        self.doing.is_native
    }
}

/// The number in a resource's name: `r12`, or `r12-x` after a renaming.
pub(crate) fn number(resource: &Resource) -> Option<usize> {
    let name = resource.name().strip_prefix('r')?;
    name.trim_end_matches("-x").parse().ok()
}

fn change(resource: &mut Resource, action: Action) -> Result<(), kiln_yaml::EditError> {
    let Some(number) = number(resource) else {
        return Ok(());
    };
    match action {
        Action::Mark => resource.set_annotation("mark", "yes"),
        Action::Rename(rest) if is_meant(number, rest) => {
            let name = format!("r{number}-x");
            let mut root = resource.document_mut().root_mut();
            root.set_string(&["metadata", "name"], &name).map(drop)
        }
        Action::Move(rest) if is_meant(number, rest) => {
            let path = format!("moved{rest}/m{number}.yaml");
            resource.set_annotation(PATH, &path)?;
            resource.set_annotation(LEGACY_PATH, &path)?;
            // Some functions forget about the index, some leave one that makes no sense any more.
            match rest % 2 {
                0 => Ok(()),
                _ => resource.clear_annotations(&[INDEX, LEGACY_INDEX]),
            }
        }
        _ => Ok(()),
    }
}

fn generate(items: &mut Vec<Resource>, which: usize) {
    let name = format!("gen-{which}");
    if items.iter().any(|item| item.name() == name) {
        return;
    }
    let text = format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n");
    let document = kiln_yaml::parse(&text).expect("is YAML");
    items.extend(document.map(Resource::new));
}

/// Gives the first resources with numbers a path, and the same index.
fn relocate(items: &mut [Resource], count: usize, path: &str) {
    let numbered = items.iter_mut().filter(|item| number(item).is_some());
    for item in numbered.take(count) {
        for (key, value) in [
            (PATH, path),
            (LEGACY_PATH, path),
            (INDEX, "0"),
            (LEGACY_INDEX, "0"),
        ] {
            item.set_annotation(key, value).expect("can be changed");
        }
    }
}

/// A text without comments, in which `#` begins nothing else.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| match line.find('#') {
        Some(at) => line[..at].trim_end(),
        None => line,
    });
    let lines = lines.filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}
