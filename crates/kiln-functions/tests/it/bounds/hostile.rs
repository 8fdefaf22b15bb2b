//! Inputs that need much more memory or time than their size suggests: long values for many resources, lists of
//! aliases, deep trees.

/// The input of a function.
pub(crate) struct Case {
    pub(crate) function: &'static str,
    pub(crate) input: fn() -> String,
    pub(crate) expected: Expected,
}

/// The expected end of the newest version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It exceeds the limit.
    OverLimit,
    /// It may succeed, as long as it uses little memory.
    Bounded,
}

use Expected::{Bounded, OverLimit};

const fn case(function: &'static str, expected: Expected, input: fn() -> String) -> Case {
    Case {
        function,
        input,
        expected,
    }
}

pub(crate) const CASES: &[Case] = &[
    case("apply-setters", OverLimit, || {
        let setters = "${s}".repeat(20);
        let fields = |at: usize| format!("{at}: x # kpt-set: {setters}\n");
        list(&[data(1000, fields)], &map(&[("s", &long())]))
    }),
    // Setters of setters of setters.
    case("apply-setters", OverLimit, || {
        let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
        let values: Vec<String> = (1..=20)
            .map(|at| format!("${{s{at}}}").repeat(50))
            .collect();
        let setters: Vec<(&str, &str)> = names
            .iter()
            .map(|name| &**name)
            .zip(values.iter().map(|value| &**value))
            .collect();
        list(
            &[data(10, |at| format!("{at}: x # kpt-set: ${{s0}}\n"))],
            &map(&setters),
        )
    }),
    case("apply-setters", OverLimit, || {
        let value = format!("[{}]", "a, ".repeat(50_000));
        let fields = |at: usize| format!("{at}: [x] # kpt-set: ${{s}}\n");
        list(&[data(1000, fields)], &map(&[("s", &value)]))
    }),
    case("search-replace", OverLimit, || {
        let put = "${1}".repeat(75_000);
        let value = "v".repeat(32_000);
        let config = map(&[("by-value-regex", "(.*)"), ("put-value", &put)]);
        list(&[data(2, |at| format!("{at}: {value}\n"))], &config)
    }),
    case("search-replace", OverLimit, || {
        let config = map(&[("by-path", "metadata.namespace"), ("put-value", &long())]);
        list(&ordinary(1000), &config)
    }),
    case("search-replace", OverLimit, || {
        let config = map(&[("by-path", "**"), ("put-comment", &long())]);
        list(&ordinary(1000), &config)
    }),
    case("set-labels", OverLimit, || {
        list(&ordinary(1000), &map(&[("color", &long())]))
    }),
    case("set-annotations", OverLimit, || {
        list(&ordinary(1000), &map(&[("color", &long())]))
    }),
    case("set-namespace", OverLimit, || {
        list(&ordinary(1000), &map(&[("namespace", &long())]))
    }),
    case("ensure-name-substring", OverLimit, || {
        list(&ordinary(1000), &map(&[("prepend", &long())]))
    }),
    case("set-image", OverLimit, || {
        list(
            &ordinary(1000),
            &map(&[("name", "nginx"), ("newName", &long())]),
        )
    }),
    case("apply-replacements", OverLimit, || {
        let source = format!(
            "- {{apiVersion: v1, kind: Secret, metadata: {{name: from}}, data: {{v: {}}}}}\n",
            long()
        );
        let items = [vec![source], ordinary(1000)].concat();
        list(&items, &replacements("data.v", "metadata.namespace"))
    }),
    // A configuration of aliases.
    case("apply-replacements", OverLimit, || {
        let paths = "*a, ".repeat(10_000);
        let config = format!(
            "{{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, x: &a '{}', replacements: [{{source: {{name: web0}}, \
             targets: [{{select: {{name: web1}}, fieldPaths: [{paths}]}}]}}]}}",
            long()
        );
        list(&ordinary(2), &config)
    }),
    case("create-setters", OverLimit, || {
        list(
            &[data(1000, |at| format!("{at}: old\n"))],
            &map(&[(&long(), "old")]),
        )
    }),
    case("create-setters", Bounded, || {
        list(
            &[data(2000, |at| format!("{at}: {}\n", "a".repeat(200)))],
            &map(&[(&"n".repeat(5000), "a")]),
        )
    }),
    case("set-project-id", OverLimit, || {
        let kptfile = "- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: k}}\n".to_owned();
        let item = |at| {
            format!(
                "- {{apiVersion: sql.cnrm.cloud.google.com/v1beta1, kind: SQLInstance, metadata: {{name: s{at}}}}}\n"
            )
        };
        let items: Vec<String> = std::iter::once(kptfile)
            .chain((0..1000).map(item))
            .collect();
        list(&items, &map(&[("project-id", &long())]))
    }),
    case("upsert-resource", OverLimit, || {
        let item = "- {apiVersion: v1, kind: Secret, metadata: {name: new}}\n".to_owned();
        let config = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: new}}, data: {{v: {}}}}}",
            long()
        );
        list(&vec![item; 1000], &config)
    }),
    case("generate-folders", OverLimit, || {
        let folders: String = (0..1000).map(|at| format!("f{at}, ")).collect();
        let item = format!(
            "- {{apiVersion: blueprints.cloud.google.com/v1alpha3, kind: ResourceHierarchy, metadata: {{name: h, annotations: \
             {{a: {}}}}}, spec: {{parentRef: {{external: '1'}}, config: [{folders}]}}}}\n",
            long()
        );
        list(&[item], "{}")
    }),
    // A tree of subtrees, each of which has the next one twice.
    case("generate-folders", OverLimit, || {
        let name = "n".repeat(900);
        let subtrees: String = (1..14)
            .map(|at| {
                format!(
                    "s{at}: [{{{name}: {{$subtree: s{}}}}}, {{b: {{$subtree: s{}}}}}], ",
                    at - 1,
                    at - 1
                )
            })
            .collect();
        let item = format!(
            "- {{apiVersion: blueprints.cloud.google.com/v1alpha3, kind: ResourceHierarchy, metadata: {{name: h}}, spec: \
             {{parentRef: {{external: '1'}}, subtrees: {{s0: [{name}, b], {subtrees}}}, config: [{{a: {{$subtree: s13}}}}]}}}}\n"
        );
        list(&[item], "{}")
    }),
    case("enable-gcp-services", OverLimit, || {
        let services: String = (0..1000)
            .map(|at| format!("s{at}.googleapis.com, "))
            .collect();
        let item = format!(
            "- {{apiVersion: blueprints.cloud.google.com/v1alpha1, kind: ProjectServiceSet, metadata: {{name: p, annotations: \
             {{a: {}}}}}, spec: {{projectID: p, services: [{services}]}}}}\n",
            long()
        );
        list(&[item], "{}")
    }),
    case("export-terraform", OverLimit, || {
        let folder = "- {apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1, kind: Folder, metadata: {name: f}, spec: \
                      {organizationRef: {external: '1'}}}\n";
        let members = "{member: *r}, ".repeat(500);
        let policy = |at: usize| {
            format!(
                "- {{apiVersion: iam.cnrm.cloud.google.com/v1beta1, kind: IAMPartialPolicy, metadata: {{name: p{at}}}, spec: \
                 {{resourceRef: {{kind: Folder, name: f}}, bindings: [{{role: &r {}, members: [{members}]}}]}}}}\n",
                "r".repeat(20_000)
            )
        };
        let policies = (0..100).map(policy);
        let items: Vec<String> = std::iter::once(folder.to_owned()).chain(policies).collect();
        list(&items, "{}")
    }),
    case("fix", OverLimit, || {
        let kptfile = format!(
            "- {{apiVersion: kpt.dev/v1alpha1, kind: Kptfile, metadata: {{name: k, annotations: {{config.kubernetes.io/path: \
             Kptfile}}}}, openAPI: {{definitions: {{io.k8s.cli.substitutions.s: {{x-k8s-cli: {{substitution: {{name: s, \
             pattern: {}}}}}}}}}}}}}\n",
            long()
        );
        let field = |at: usize| format!("{at}: x # {{\"$kpt-set\":\"s\"}}\n");
        let named = data(1000, field).replace(
            "name: d",
            "name: d\n    annotations: {config.kubernetes.io/path: a.yaml}",
        );
        list(&[kptfile, named], "{}")
    }),
    case("list-setters", Bounded, || {
        let pattern = "${a}".repeat(50_000);
        list(
            &[data(10, |at| {
                format!("{at}: {} # kpt-set: {pattern}\n", "v".repeat(50_000))
            })],
            "{}",
        )
    }),
    case("kubeconform", OverLimit, || list(&[wrong_list()], "{}")),
    case("kubeval", OverLimit, || list(&[wrong_list()], "{}")),
    case("annotate-apply-time-mutations", OverLimit, || {
        let comment = "# apply-time-mutation: ${v1/namespaces/a/Secret/b:$.c}";
        let fields: String = (0..2000)
            .map(|at| format!("      f{at}: x {comment}\n"))
            .collect();
        let item = format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: d\n    annotations: {{config.kubernetes.io/index: \
             '0'}}\n  data:\n    ? {}\n    :\n{fields}",
            long()
        );
        list(&[item], "{}")
    }),
    case("delete-annotations", OverLimit, || {
        let keys: Vec<String> = (0..2000).map(|at| format!("k{at}")).collect();
        let annotations: String = keys.iter().map(|key| format!("{key}: v, ")).collect();
        let item = format!(
            "- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, annotations: {{{annotations}}}}}}}\n",
            long()
        );
        list(&[item], &map(&[("annotationKeys", &keys.join(","))]))
    }),
    case("format", Bounded, || {
        let items = "{x: y}, ".repeat(20_000);
        let item = format!(
            "- {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, ? {} : [{items}]}}\n",
            long()
        );
        list(&[item], "{}")
    }),
    // Written in block style, the text of a deep tree is mostly indentation.
    case("drop-comments", OverLimit, || {
        let (open, close) = ("{a: ".repeat(4000), "}".repeat(4000));
        let inside = "x, ".repeat(20_000);
        list(
            &[format!(
                "- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: d}}, data: {open}[{inside}]{close}}}\n"
            )],
            "{}",
        )
    }),
    // Aliases of long texts.
    case("drop-comments", OverLimit, || {
        let aliases = "*a, ".repeat(20_000);
        list(
            &[format!(
                "- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: d}}, data: {{a: &a '{}', b: [{aliases}]}}}}\n",
                long()
            )],
            "{}",
        )
    }),
    case("remove-local-config-resources", Bounded, || {
        list(&ordinary(1000), "{}")
    }),
    case("set-enforcement-action", Bounded, || {
        list(&ordinary(1000), &map(&[("enforcementAction", &long())]))
    }),
    case("no-op", Bounded, || {
        let results = "{message: *a}, ".repeat(20_000);
        let input = list(&ordinary(1), "{}");
        format!(
            "{input}results: [{{message: &a '{}'}}, {results}]\n",
            long()
        )
    }),
];

/// A function and the list that it gets.
pub(crate) type Hostile = (&'static str, fn() -> String);

/// Work that would never end, or take hours.
pub(crate) const ENDLESS: &[Hostile] = &[
    // A list that is an item of itself.
    ("set-annotations", || {
        let config = "{apiVersion: fn.kpt.dev/v1alpha1, kind: SetAnnotations, annotations: {a: b}, \
                      additionalAnnotationFields: [{path: spec/a/b, create: true}]}";
        list(
            &[
                "- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {a: &x [*x]}}\n"
                    .to_owned(),
            ],
            config,
        )
    }),
    // Many texts are looked for at each place of a long one.
    ("create-setters", || {
        let setters: Vec<(String, String)> = (0..40_000)
            .map(|at| (format!("s{at}"), format!("aaaa{at}")))
            .collect();
        let setters: Vec<(&str, &str)> = setters
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        list(
            &[data(1, |at| format!("{at}: {}\n", "a".repeat(1_000_000)))],
            &map(&setters),
        )
    }),
    // Each of many replacements looks at all resources.
    ("apply-replacements", || {
        let one = "{source: {name: web0}, targets: [{select: {name: web0}, fieldPaths: [metadata.namespace]}]}, ";
        let config = format!(
            "{{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, metadata: {{name: c}}, replacements: [{}]}}",
            one.repeat(5000)
        );
        list(&ordinary(5000), &config)
    }),
    // A pattern of many names for each of many fields.
    ("search-replace", || {
        let config = map(&[("by-path", &"**.".repeat(50_000)), ("put-value", "x")]);
        list(&[data(20_000, |at| format!("{at}: x\n"))], &config)
    }),
    ("apply-setters", || {
        let setters: Vec<(String, String)> = (0..40_000)
            .map(|at| (format!("s{at}"), "v".to_owned()))
            .collect();
        let setters: Vec<(&str, &str)> = setters
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        list(
            &[data(20_000, |at| format!("{at}: x # kpt-set: ${{none}}\n"))],
            &map(&setters),
        )
    }),
];

/// A value of 300 KB.
fn long() -> String {
    "v".repeat(300_000)
}

/// Configurations with a long value wherever a function reads one.
pub(crate) fn configurations() -> Vec<String> {
    let long = long();
    let keys = [
        "namespace",
        "prepend",
        "name",
        "newName",
        "newTag",
        "put-value",
        "by-path",
        "by-value-regex",
        "annotationKeys",
        "project-id",
        "image",
        "replicas",
        "skip_kinds",
        "enforcementAction",
        "color",
    ];
    let mut configurations: Vec<String> = keys.iter().map(|key| map(&[(*key, &*long)])).collect();
    configurations.push(map(&[(&*long, "old")]));
    configurations.push(map(&[("by-path", "**"), ("put-comment", &*long)]));
    configurations.push(format!("{{apiVersion: v1, kind: Secret, metadata: {{name: web1, namespace: old}}, data: {{v: {long}}}}}"));
    configurations
}

/// A list with a configuration.
pub(crate) fn list(items: &[String], config: &str) -> String {
    let items = items.concat();
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig: {config}\n"
    )
}

/// A ConfigMap for a configuration.
fn map(data: &[(&str, &str)]) -> String {
    // A key of more than 1024 characters must be marked as one.
    let pair = |(key, value): &(&str, &str)| format!("? '{key}' : '{value}', ");
    let data: String = data.iter().map(pair).collect();
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{{data}}}}}")
}

/// One resource of many fields, which are lines.
fn data(count: usize, line: impl Fn(usize) -> String) -> String {
    let lines: String = (0..count).map(|at| format!("    f{}", line(at))).collect();
    format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: d\n  data:\n{lines}")
}

/// Ordinary resources.
pub(crate) fn ordinary(count: usize) -> Vec<String> {
    let item = |at: usize| match at % 3 {
        0 => format!(
            "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: web{at}\n    namespace: old\n  spec:\n    \
             selector:\n      matchLabels: {{app: web}}\n    template:\n      metadata:\n        labels: {{app: web}}\n      \
             spec:\n        containers:\n        - name: c\n          image: nginx:1.2 # kpt-set: nginx:${{tag}}\n"
        ),
        1 => format!(
            "- apiVersion: v1\n  kind: Service\n  metadata: {{name: web{at}, namespace: old}}\n  spec:\n    selector: {{app: \
             web}}\n    ports:\n    - port: 80\n"
        ),
        _ => format!(
            "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: web{at}\n    namespace: old # kept\n    annotations: \
             {{note: 'it is'}}\n  stringData: {{a: b}}\n"
        ),
    };
    (0..count).map(item).collect()
}

/// Copies a value of the resource `from` to all others.
fn replacements(from: &str, to: &str) -> String {
    format!(
        "{{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, metadata: {{name: c}}, replacements: [{{source: {{name: from, \
         fieldPath: {from}}}, targets: [{{select: {{namespace: old}}, fieldPaths: [{to}]}}]}}]}}"
    )
}

/// Its name is long, and each of its items is wrong.
fn wrong_list() -> String {
    let items = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: 5}, ".repeat(2000);
    format!(
        "- {{apiVersion: v1, kind: List, metadata: {{name: {}}}, items: [{items}]}}\n",
        long()
    )
}
