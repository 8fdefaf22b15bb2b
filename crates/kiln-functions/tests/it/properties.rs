//! Properties of every function of the registry: none panics on any input; idempotent functions change nothing the
//! second time; and none changes fields that are not its own.
//!
//! Lists are generated from a fixed seed, of ordinary resources and odd ones. A function that is not in the table
//! runs with all configurations, so that new functions are covered.

use kiln_functions::registry::{FunctionVersion, Registry};
use kiln_functions::wire::{self, ProgramOutput};
use kiln_functions::{Context, NoFiles};
use kiln_runtime::RunContext;

/// The properties of a function.
struct Row {
    name: &'static str,
    good: &'static [&'static str],
    /// Invalid configurations of its own kind.
    bad: &'static [&'static str],
    again: Again,
    rest: Rest,
}

/// How a second run changes the items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Nothing,
    Something,
}

/// What happens to fields that are not its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// They keep their text, with comments and styles.
    Written,
    /// They keep their values. Some versions pass resources through JSON.
    Meant,
    /// Not checked: it removes or generates resources.
    Gone,
}

const fn row(
    name: &'static str,
    good: &'static [&'static str],
    bad: &'static [&'static str],
    again: Again,
    rest: Rest,
) -> Row {
    Row {
        name,
        good,
        bad,
        again,
        rest,
    }
}

const NAMESPACE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: prod}}";
const LABELS: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {color: blue}}";
const SUBSTRING: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {prepend: x-}}";

const ROWS: &[Row] = &[
    row(
        "annotate-apply-time-mutations",
        &["{}"],
        &[],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "apply-replacements",
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, metadata: {name: c}, replacements: [{source: {kind: Service, fieldPath: metadata.name}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.paused]}]}]}",
        ],
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, replacements: 5}",
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, replacements: [{source: {fieldPath: a.b.[c=}, targets: [{select: {}, fieldPaths: ['*.[x=y].0', '']}]}]}",
        ],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "apply-setters",
        &["{apiVersion: v1, kind: ConfigMap, data: {replicas: '3', image: nginx, list: '[x, y]'}}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {replicas: '', list: 'a: ['}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "create-setters",
        &["{apiVersion: v1, kind: ConfigMap, data: {image: nginx}}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {a: '', b: '['}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "delete-annotations",
        &["{apiVersion: v1, kind: ConfigMap, data: {annotationKeys: 'a,note'}}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {annotationKeys: ''}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row("drop-comments", &["{}"], &[], Again::Nothing, Rest::Meant),
    row(
        "enable-gcp-services",
        &["{}"],
        &[],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "ensure-name-substring",
        &[SUBSTRING],
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: EnsureNameSubstring, metadata: {name: c}, substring: a, additionalNameFields: [{path: ''}, {path: 'spec/[]/x', create: true}]}",
        ],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "export-terraform",
        &["{}"],
        &[],
        Again::Nothing,
        Rest::Written,
    ),
    row("fix", &["{}"], &[], Again::Nothing, Rest::Written),
    row("gatekeeper", &["{}"], &[], Again::Nothing, Rest::Written),
    row(
        "kubeconform",
        &["{}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {strict: maybe, skip_kinds: ',,'}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "kubeval",
        &["{}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {strict: maybe}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row("list-setters", &["{}"], &[], Again::Nothing, Rest::Written),
    row("no-op", &["{}"], &[], Again::Nothing, Rest::Written),
    row(
        "remove-local-config-resources",
        &["{}"],
        &[],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "search-replace",
        &["{apiVersion: v1, kind: ConfigMap, data: {by-path: spec.replicas, put-value: '4'}}"],
        &[
            "{apiVersion: v1, kind: ConfigMap, data: {by-value-regex: '(', put-value: '${9}'}}",
            "{apiVersion: v1, kind: ConfigMap, data: {by-path: '**.[*].a[', by-file-path: '[', put-comment: 'a: b # c'}}",
        ],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "set-annotations",
        &["{apiVersion: v1, kind: ConfigMap, data: {owner: me}}"],
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: SetAnnotations, annotations: {a: b}, additionalAnnotationFields: [{path: '', create: true}, {path: 'spec/5/[]', create: true}]}",
        ],
        Again::Nothing,
        Rest::Meant,
    ),
    row(
        "set-enforcement-action",
        &["{apiVersion: v1, kind: ConfigMap, data: {enforcementAction: warn}}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {enforcementAction: maybe}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "set-image",
        &["{apiVersion: v1, kind: ConfigMap, data: {name: nginx, newTag: '2'}}"],
        &[
            "{apiVersion: v1, kind: ConfigMap, data: {name: '(', newTag: '2'}}",
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: SetImage, image: {name: nginx, newTag: '2'}, additionalImageFields: [{path: ''}, {path: 'spec/*/[]'}]}",
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: SetImage, image: [a], additionalImageFields: 5}",
        ],
        Again::Nothing,
        Rest::Meant,
    ),
    row(
        "set-labels",
        &[LABELS],
        &["{apiVersion: fn.kpt.dev/v1alpha1, kind: SetLabels, labels: [a]}"],
        Again::Nothing,
        Rest::Meant,
    ),
    row(
        "set-namespace",
        &[NAMESPACE],
        &["{apiVersion: fn.kpt.dev/v1alpha1, kind: SetNamespace, namespace: [a]}"],
        Again::Nothing,
        Rest::Meant,
    ),
    row(
        "set-project-id",
        &["{apiVersion: v1, kind: ConfigMap, data: {project-id: p}}"],
        &["{apiVersion: v1, kind: ConfigMap, data: {project-id: ''}}"],
        Again::Nothing,
        Rest::Written,
    ),
    row(
        "starlark",
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 'x = 1'}",
        ],
        &[
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 'ctx.resource_list[\"items\"] = 5'}",
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 'def f(: ['}",
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 5}",
        ],
        Again::Nothing,
        Rest::Meant,
    ),
    row(
        "upsert-resource",
        &["{apiVersion: v1, kind: Secret, metadata: {name: new}}"],
        &["{apiVersion: v1, kind: List, items: [5, {}, [a]]}"],
        // The first version writes the positions of empty values.
        Again::Something,
        Rest::Written,
    ),
];

/// Configurations for every function, valid or not.
const ANYBODYS: &[&str] = &[
    "",
    "{}",
    "null",
    "{kind: ConfigMap}",
    "{apiVersion: v1, kind: ConfigMap}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: function-input}, data: {}}",
    "{apiVersion: v1, kind: ConfigMap, data: [a]}",
    "{apiVersion: v1, kind: ConfigMap, data: a}",
    "{apiVersion: v1, kind: ConfigMap, data: {a: {b: c}, d: [e], f: null, 5: 6, 'on': 'yes'}}",
    "{apiVersion: example.com/v1, kind: Other, spec: {}}",
    "{apiVersion: [v1], kind: {a: b}, metadata: c, data: &x {a: b}, e: *x}",
    NAMESPACE,
];

const ORDINARY: &[&str] = &[
    "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: old
  labels: {app: web}
spec:
  replicas: 1 # kpt-set: ${replicas}
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: c
        image: nginx:1.2 # kpt-set: ${image}:${tag}
",
    "apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: old
spec:
  selector: {app: web}
  ports:
  - port: 80
",
    "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: b
  namespace: old
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- kind: ServiceAccount
  name: default
  namespace: old
",
    "apiVersion: constraints.gatekeeper.sh/v1beta1
kind: MustHave
metadata:
  name: c
spec:
  enforcementAction: deny
",
];

/// Without one `fix` does nothing.
const OLD_KPTFILE: &str = "apiVersion: kpt.dev/v1alpha1
kind: Kptfile
metadata:
  name: pkg
  annotations:
    config.kubernetes.io/path: Kptfile
openAPI:
  definitions:
    io.k8s.cli.setters.replicas:
      x-k8s-cli:
        setter:
          name: replicas
          value: \"1\"
";

/// Invalid or unusual resources.
const ODD: &[&str] = &[
    "{}\n",
    "kind: 5\n",
    "apiVersion: v1\nkind: Pod\nmetadata: [a]\nspec: text\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: 7, namespace: true, labels: [a], annotations: text}\nspec:\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {config.kubernetes.io/local-config: 'true', 5: 6, x: null}}\nspec: {containers: [null, text, {image: [a]}, {image: nginx}], initContainers: {a: b}}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: text, template: [a], replicas: .inf}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\nspec: {template: {metadata: null, spec: {containers: text}}}\n",
    "apiVersion: a/b/c\nkind: List\nitems: 5\n",
    "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: in}}, 5, null]\n",
    "apiVersion: v1\nkind: Namespace\nmetadata: &m {name: old}\nspec: {a: *m, <<: *m}\n",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {conversion: text}\n",
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\nsubjects: [null, text, {namespace: [a]}]\n",
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile}}\npipeline: {mutators: [5, {image: apply-setters, configMap: [a]}]}\n",
    "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nmetadata: {name: k, annotations: {config.kubernetes.io/path: ../../Kptfile}}\nopenAPI: {definitions: {io.k8s.cli.setters.a: {x-k8s-cli: {setter: {name: a, value: '[', listValues: [null, [b]]}}}, io.k8s.cli.substitutions.s: 5}}\n",
    "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata: {name: k, annotations: {config.kubernetes.io/path: /}}\npipeline: {mutators: [{image: 'gcr.io/kpt-fn/apply-setters:v0.1', configMap: {a: '[b', '': ''}}]}\n",
    "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: t}\nspec: {crd: 5, targets: [{rego: 'package {'}]}\n",
    "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyTimeMutation\nmetadata: {name: a, annotations: {internal.config.kubernetes.io/index: x}}\nspec: {targetRef: [a], substitutions: text}\n",
    "apiVersion: blueprints.cloud.google.com/v1alpha1\nkind: ProjectServiceSet\nmetadata: {name: [a], annotations: {x: null}}\nspec: {services: [a.b.c, [d], null]}\n",
    "apiVersion: compute.cnrm.cloud.google.com/v1beta1\nkind: ComputeNetwork\nmetadata: {name: n, annotations: {cnrm.cloud.google.com/project-id: n}}\nspec: {networkRef: {name: n}, routerRef: [a], natIps: [5, {name: [b]}]}\n",
    "? [a, b]\n: c\n? {d: e}\n: f\n'': g\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata:\n  a: \"\\u0000\\x85\\u2028\" # kpt-set: ${\n  b: !!binary aGk=\n  c: 2001-12-14t21:59:43.10-05:00 # kpt-set: ${}${\n  d: 0x7fffffffffffffffff\n  e: [a] # kpt-set: ${a}${b}\n",
];

/// The fields of a ConfigMap that no function owns.
const REST: &str = "  data:
    plain: text # keep
    # keep this
    quoted: 'it is' # keep
    double: \"8080\"
    block: |
      one
        two
    flow: {a: b, c: [d, 'e']} # keep
    empty: \"\"
";

/// Reproducible pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

fn item(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    let rest: String = lines.map(|line| format!("  {line}\n")).collect();
    format!("- {first}\n{rest}")
}

fn list(items: &[String], config: &str) -> String {
    let config = match config {
        "" => String::new(),
        config => format!("functionConfig: {config}\n"),
    };
    let items = match items {
        [] => "items: []\n".to_owned(),
        items => format!("items:\n{}", items.concat()),
    };
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n{items}{config}")
}

/// Input on which a function should succeed.
fn package(function: &str) -> Vec<String> {
    let kptfile = (function == "fix").then_some(OLD_KPTFILE);
    let items = ORDINARY.iter().copied().chain(kptfile).map(item);
    items.chain([witness()]).collect()
}

/// The ConfigMap whose data no function changes.
fn witness() -> String {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: witness\n  namespace: old\n  annotations:\n    internal.config.kubernetes.io/path: 'f.yaml'\n    internal.config.kubernetes.io/index: '0'\n";
    format!("{}{REST}", item(head))
}

fn run(version: &FunctionVersion, input: &str) -> ProgramOutput {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(version, input.as_bytes(), &ctx).unwrap()
}

/// All versions of all functions except `sleep`, each with its row if it has one.
fn all() -> impl Iterator<Item = (&'static str, &'static FunctionVersion, Option<&'static Row>)> {
    let functions = Registry::builtin().all_functions();
    functions
        .filter(|info| info.name != "sleep")
        .flat_map(|info| {
            let row = ROWS.iter().find(|row| row.name == info.name);
            let versions = info.versions.iter();
            versions.map(move |version| (info.name, version, row))
        })
}

fn items_of(list: &str) -> &str {
    let start = list.find("items:").unwrap_or(list.len());
    let items = &list[start..];
    let end = items.find("\nfunctionConfig:");
    let end = end.or_else(|| items.find("\nresults:"));
    &items[..end.unwrap_or(items.len())]
}

#[test]
fn rows_are_about_functions_that_there_are() {
    for row in ROWS {
        assert!(
            Registry::builtin().function(row.name).is_some(),
            "{}",
            row.name
        );
    }
}

#[test]
fn no_list_and_no_configuration_makes_a_function_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut lists = vec![Vec::new()];
    for odd in ODD {
        lists.push(vec![item(odd)]);
    }
    for _ in 0..4 {
        let count = random.below(5) + 1;
        let pick = |random: &mut Random| match random.below(3) {
            0 => item(ORDINARY[random.below(ORDINARY.len())]),
            1 => witness(),
            _ => item(ODD[random.below(ODD.len())]),
        };
        lists.push((0..count).map(|_| pick(&mut random)).collect());
    }
    for (name, version, row) in all() {
        let own = row.map_or([&[][..], &[]], |row| [row.good, row.bad]);
        let own = own.into_iter().flatten().map(|config| (config, 0, 1));
        // With a configuration of another function it fails early, so every third list suffices.
        let anybodys = ANYBODYS.iter().enumerate();
        let anybodys = anybodys.map(|(at, config)| (config, at % 3, 3));
        for (config, from, step) in own.chain(anybodys) {
            for items in lists.iter().skip(from).step_by(step) {
                let input = list(items, config);
                let answer = run(version, &input);
                assert!(
                    !answer.stderr.contains("panicked"),
                    "{name} {:?}: {}\n{input}",
                    version.tags,
                    answer.stderr
                );
            }
        }
    }
}

#[test]
fn twice_is_once() {
    for (name, version, row) in all() {
        let Some(row) = row.filter(|row| row.again == Again::Nothing) else {
            continue;
        };
        for config in row.good {
            let items = package(name);
            let once = run(version, &list(&items, config));
            if once.exit_code == 0 {
                let twice = run(version, &once.stdout);
                let (once, twice) = (items_of(&once.stdout), items_of(&twice.stdout));
                assert_eq!(once, twice, "{name} {:?}", version.tags);
            }
        }
    }
}

#[test]
fn what_is_not_a_functions_own_stays() {
    for (name, version, row) in all() {
        let Some(row) = row.filter(|row| row.rest != Rest::Gone) else {
            continue;
        };
        for config in row.good {
            let items = package(name);
            let answer = run(version, &list(&items, config));
            let tags = version.tags;
            if answer.exit_code != 0 {
                // A validator may fail; it then returns its input, or nothing.
                continue;
            }
            let is_kept = match row.rest {
                Rest::Written => answer.stdout.contains(REST),
                Rest::Meant | Rest::Gone => meaning(&answer.stdout) == meaning(&list(&items, "")),
            };
            assert!(is_kept, "{name} {tags:?}\n{}", answer.stdout);
        }
    }
}

/// The data of the witness: keys with their texts.
fn meaning(list: &str) -> Vec<(String, String)> {
    let document = kiln_yaml::parse(list).unwrap().unwrap();
    let items = document.root().get("items").unwrap();
    let witness = items.items().find(|item| {
        let name = item.get_path(&["metadata", "name"]);
        name.is_some_and(|name| name.value().ends_with("witness"))
    });
    let data = witness.unwrap().get("data").unwrap();
    let text = |node: kiln_yaml::NodeRef<'_>| match node.is_scalar() {
        true => node.value().to_owned(),
        false => {
            let leaves = node.children().map(|child| match child.is_scalar() {
                true => child.value().to_owned(),
                false => child
                    .children()
                    .map(|leaf| leaf.value().to_owned())
                    .collect(),
            });
            let mut leaves: Vec<String> = leaves.collect();
            leaves.sort();
            leaves.join(" ")
        }
    };
    let mut fields: Vec<(String, String)> = data
        .entries()
        .map(|(key, value)| (key.value().to_owned(), text(value)))
        .collect();
    fields.sort();
    fields
}
