//! Random packages with packages in them, and what is to become of their resources.

use std::fmt::Write;

use kiln_krm::package::MemoryFiles;
use proptest::prelude::*;

use crate::actions::{Action, Doing, RESTS, is_meant};

/// A package.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    files: Vec<Vec<Doc>>,
    mutators: Vec<Step>,
    validators: Vec<Step>,
    inner: Vec<Tree>,
    /// Whether there is an ordinary directory between the package and the one around it.
    is_deeper: bool,
}

/// A function with a selection of one kind, or of all but one.
#[derive(Clone, Debug)]
struct Step {
    doing: Doing,
    selection: Option<(usize, bool)>,
}

/// A document: its kind, and how it is written.
#[derive(Clone, Copy, Debug)]
struct Doc {
    kind: usize,
    writing: usize,
}

const KINDS: [&str; 3] = ["ConfigMap", "Deployment", "Thing"];
const FILES: [&str; 4] = ["a.yaml", "b/c.yml", ".hidden.yaml", "z.json"];
/// With the resource's number for `N`.
const WRITINGS: [&str; 4] = [
    "data:\n  b: 1 # line of N;\n  # head of N;\n  a: [x, y]\n",
    "data: {b: 'quoted', a: \"twice\"} # flow of N;\n\n\n# foot of N;\n",
    "data:\n    text: |\n      several\n      lines\n    list:\n    - 1\n    # between of N;\n    - two: 2\n",
    "spec:\n  b: &anchor\n  - 0x10\n  a: *anchor\n",
];

/// What is expected of a package.
pub(crate) struct Expected {
    pub(crate) files: MemoryFiles,
    pub(crate) resources: Vec<Numbered>,
}

/// What is expected of a resource.
pub(crate) struct Numbered {
    pub(crate) number: usize,
    /// Whether it is to be there after a render.
    pub(crate) is_kept: bool,
    /// How many comments it has, all of which end with its number.
    pub(crate) comments: usize,
}

impl Tree {
    /// The package's files, with annotations on the root Kptfile.
    pub(crate) fn build(&self, annotations: &[&str]) -> Expected {
        let mut expected = Expected {
            files: MemoryFiles::new(),
            resources: Vec::new(),
        };
        expected.files.insert("README.md", "# not a resource");
        self.add("", "root", annotations, &mut Vec::new(), &mut expected);
        expected
    }

    fn add<'a>(
        &'a self,
        directory: &str,
        name: &str,
        annotations: &[&str],
        outer: &mut Vec<&'a Tree>,
        expected: &mut Expected,
    ) {
        outer.push(self);
        let kptfile = self.kptfile(name, annotations);
        expected
            .files
            .insert(format!("{directory}Kptfile"), kptfile);
        for (file, docs) in FILES.iter().zip(&self.files) {
            let mut text = String::new();
            for doc in docs {
                let number = expected.resources.len();
                let separator = if text.is_empty() { "" } else { "---\n" };
                let kind = KINDS[doc.kind];
                let body = WRITINGS[doc.writing].replace("of N;", &format!("of {number};"));
                let _ = write!(
                    text,
                    "{separator}# about of {number};\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: r{number} # name of {number};\n{body}"
                );
                let is_kept = !outer.iter().any(|tree| tree.deletes(number, doc.kind));
                expected.resources.push(Numbered {
                    number,
                    is_kept,
                    comments: body.matches('#').count() + 2,
                });
            }
            expected.files.insert(format!("{directory}{file}"), text);
        }
        for (number, inner) in self.inner.iter().enumerate() {
            let between = if inner.is_deeper { "b/" } else { "" };
            let name = format!("p{number}");
            let directory = format!("{directory}{between}{name}/");
            inner.add(&directory, &name, &[], outer, expected);
        }
        outer.pop();
    }

    fn deletes(&self, number: usize, kind: usize) -> bool {
        self.mutators.iter().any(|step| {
            let is_selected = match step.selection {
                None => true,
                Some((selected, is_exclusion)) => (selected == kind) != is_exclusion,
            };
            let is_meant =
                matches!(step.doing.action, Action::Delete(rest) if is_meant(number, rest));
            is_selected && is_meant
        })
    }

    fn kptfile(&self, name: &str, annotations: &[&str]) -> String {
        let mut text = format!(
            "# about the package\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name} # mine\n"
        );
        if !annotations.is_empty() {
            text.push_str("  annotations:\n");
        }
        for key in annotations {
            let _ = writeln!(text, "    {key}: \"true\"");
        }
        if !self.mutators.is_empty() || !self.validators.is_empty() {
            text.push_str("pipeline:\n");
        }
        for (field, steps) in [
            ("mutators", &self.mutators),
            ("validators", &self.validators),
        ] {
            if !steps.is_empty() {
                let _ = writeln!(text, "  {field}:");
            }
            for step in steps {
                let _ = writeln!(text, "  - exec: {} # why", step.doing);
                if let Some((kind, is_exclusion)) = step.selection {
                    let field = if is_exclusion { "exclude" } else { "selectors" };
                    let _ = writeln!(text, "    {field}:\n    - kind: {}", KINDS[kind]);
                }
            }
        }
        text
    }
}

/// Packages whose functions succeed, and make no difference when they run again.
pub(crate) fn harmless() -> BoxedStrategy<Tree> {
    tree(harmless_action().boxed())
}

/// Packages whose functions may fail in any way.
pub(crate) fn faulty() -> BoxedStrategy<Tree> {
    let faulty = prop_oneof![
        Just(Action::Fail),
        Just(Action::Garbage),
        Just(Action::Complain),
        Just(Action::Escape),
        Just(Action::Collide),
    ];
    tree(prop_oneof![12 => harmless_action(), 1 => faulty].boxed())
}

fn harmless_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Pass),
        Just(Action::Reverse),
        Just(Action::Strip),
        Just(Action::Mark),
        Just(Action::Report),
        (0..RESTS).prop_map(Action::Delete),
        (0..RESTS).prop_map(Action::Rename),
        (0..RESTS).prop_map(Action::Move),
        (0..RESTS).prop_map(Action::Generate),
    ]
}

fn tree(action: BoxedStrategy<Action>) -> BoxedStrategy<Tree> {
    let package = (
        prop::collection::vec(prop::collection::vec(doc(), 1..4), 0..=FILES.len()),
        prop::collection::vec(step(action.clone()), 0..4),
        prop::collection::vec(step(action), 0..2),
        any::<bool>(),
    );
    let package = package.prop_map(|(files, mutators, validators, is_deeper)| Tree {
        files,
        mutators,
        validators,
        inner: Vec::new(),
        is_deeper,
    });
    let package = package.boxed();
    let leaf = package.clone();
    leaf.prop_recursive(3, 16, 4, move |inner| {
        let inner = prop::collection::vec(inner, 0..5);
        (package.clone(), inner).prop_map(|(package, inner)| Tree { inner, ..package })
    })
    .boxed()
}

fn doc() -> impl Strategy<Value = Doc> {
    (0..KINDS.len(), 0..WRITINGS.len()).prop_map(|(kind, writing)| Doc { kind, writing })
}

fn step(action: BoxedStrategy<Action>) -> impl Strategy<Value = Step> {
    let selection = prop::option::weighted(0.3, (0..KINDS.len(), any::<bool>()));
    (action, any::<bool>(), any::<bool>(), selection).prop_map(
        |(action, is_wire, is_native, selection)| Step {
            doing: Doing {
                action,
                is_wire,
                is_native,
            },
            // A generator must see whether it ran before.
            selection: selection.filter(|_| !matches!(action, Action::Generate(_))),
        },
    )
}
