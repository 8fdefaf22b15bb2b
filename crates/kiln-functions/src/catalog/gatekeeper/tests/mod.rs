//! Policies, constraints and messages. Texts are those of the original on the same input.

mod bounds;
mod builtins;
mod engine;
mod v0_2_1;

use kiln_runtime::{RunContext, RunError};

use crate::function::{Context, NoFiles};
use crate::registry::Registry;
use crate::wire;

const REGO: &str = "package foo\n      violation[{\"msg\": msg}] {\n        input.review.object.spec.x == \"bad\"\n        \
                    msg := sprintf(\"x is %v\", [input.parameters])\n      }";

fn template(rego: &str) -> String {
    format!(
        "- apiVersion: templates.gatekeeper.sh/v1beta1\n  kind: ConstraintTemplate\n  metadata: {{name: foo}}\n  spec:\n    \
         crd: {{spec: {{names: {{kind: Foo}}}}}}\n    targets:\n    - target: admission.k8s.gatekeeper.sh\n      \
         rego: |\n      {}\n",
        rego.replace('\n', "\n  ")
    )
    .replace("rego: |\n      ", "rego: |\n        ")
}

fn constraint(spec: &str) -> String {
    format!(
        "- {{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Foo, metadata: {{name: c1}}, spec: {spec}}}\n"
    )
}

const THING: &str = "- {apiVersion: v1, kind: Thing, metadata: {name: o, namespace: ns1, labels: {a: b}}, spec: {x: bad}}\n";

fn run(items: &str) -> wire::ProgramOutput {
    run_in("gatekeeper:latest", items, &RunContext::default()).unwrap()
}

fn run_in(image: &str, items: &str, run: &RunContext) -> Result<wire::ProgramOutput, RunError> {
    let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let version = Registry::builtin().find_image(image).unwrap();
    let ctx = Context {
        environment: &[],
        run,
        files: &NoFiles,
    };
    wire::run(version, input.as_bytes(), &ctx)
}

/// Compares standard error; the function fails if that is not empty.
#[track_caller]
fn check(items: &[&str], stderr: &str) {
    let answer = run(&items.concat());
    assert_eq!(answer.stderr, stderr);
    assert_eq!(answer.exit_code, i32::from(!stderr.is_empty()));
}

#[track_caller]
fn check_match(rules: &str, matches: bool) {
    let constraint = constraint(&format!("{{match: {rules}}}"));
    let found = "[error] v1/Thing/ns1/o : x is {}\nviolatedConstraint: c1\n";
    check(
        &[&template(REGO), &constraint, THING],
        if matches { found } else { "" },
    );
}

#[test]
fn violations_are_results() {
    let thing = THING.replace(
        "name: o,",
        "name: o, annotations: {config.kubernetes.io/path: a.yaml, config.kubernetes.io/index: '1'},",
    );
    let parameters = constraint("{parameters: {a: [1, x, true, null, 1.5], b: {z: q}}}");
    let answer = run(&[&template(REGO), &parameters, &thing]
        .map(|s| s.as_str())
        .concat());
    let text = "x is {\"a\": [1, \"x\", true, null, 1.5], \"b\": {\"z\": \"q\"}}";
    assert_eq!(
        answer.stderr,
        format!("[error] v1/Thing/ns1/o : {text}\nviolatedConstraint: c1\n")
    );
    let results = answer.stdout.split_once("results:\n").unwrap().1;
    for part in [
        "items:",
        "path: a.yaml",
        "index: 1",
        "severity: error",
        "namespace: ns1",
        text,
    ] {
        assert!(results.contains(part), "{part}: {results}");
    }
}

#[test]
fn the_action_is_the_severity() {
    for (action, severity) in [("warn", "warning"), ("dryrun", "info")] {
        let constraint = constraint(&format!("{{enforcementAction: {action}}}"));
        let answer = run(&[&template(REGO), &constraint, THING].concat());
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (0, ""));
        assert!(answer.stdout.contains(&format!("severity: {severity}")));
    }
    let other = constraint("{enforcementAction: other}");
    let found = "[error] v1/Thing/ns1/o : x is {}\nviolatedConstraint: c1\n";
    check(&[&template(REGO), &other, THING], found);
}

#[test]
fn constraints_choose_resources() {
    check_match("{}", true);
    check_match("{kinds: [{apiGroups: [''], kinds: [Thing]}]}", true);
    check_match("{kinds: [{apiGroups: ['*'], kinds: ['*']}]}", true);
    check_match("{kinds: [{apiGroups: [apps], kinds: [Thing]}]}", false);
    check_match("{kinds: [{kinds: [Thing]}]}", false);
    check_match("{kinds: []}", false);
    check_match("{namespaces: [ns1]}", true);
    check_match("{namespaces: ['ns*']}", true);
    check_match("{namespaces: ['*s1']}", true);
    check_match("{namespaces: [other]}", false);
    check_match("{excludedNamespaces: ['n*']}", false);
    check_match("{excludedNamespaces: [other]}", true);
    check_match("{scope: Namespaced}", true);
    check_match("{scope: Cluster}", false);
    check_match("{name: o}", true);
    check_match("{name: 'o*'}", true);
    check_match("{name: x}", false);
    check_match("{labelSelector: {matchLabels: {a: b}}}", true);
    check_match("{labelSelector: {matchLabels: {a: c}}}", false);
    check_match(
        "{labelSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}",
        true,
    );
    check_match(
        "{labelSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}",
        false,
    );
    check_match(
        "{labelSelector: {matchExpressions: [{key: z, operator: NotIn, values: [b]}]}}",
        true,
    );
    check_match(
        "{labelSelector: {matchExpressions: [{key: z, operator: Exists}]}}",
        false,
    );
    check_match(
        "{labelSelector: {matchExpressions: [{key: z, operator: DoesNotExist}]}}",
        true,
    );
    check_match("{namespaceSelector: {matchLabels: {a: b}}}", false);
}

#[test]
fn namespaces_are_selected_by_their_labels() {
    let constraint = constraint("{match: {namespaceSelector: {matchLabels: {a: b}}}}");
    let namespace = "- {apiVersion: v1, kind: Namespace, metadata: {name: ns1, labels: {a: b}}}\n";
    let found = "[error] v1/Thing/ns1/o : x is {}\nviolatedConstraint: c1\n";
    check(&[&template(REGO), &constraint, THING, namespace], found);
}

#[test]
fn policies_see_the_inventory_and_their_libraries() {
    let rego = "package foo\n      violation[{\"msg\": msg}] {\n        input.review.kind.kind == \"Thing\"\n        \
                names := {n | data.inventory.namespace[_][\"v1\"][_][n]}\n        msg := concat(\",\", sort(names))\n      }";
    let other = "- {apiVersion: v1, kind: Other, metadata: {name: p, namespace: ns2}}\n";
    check(
        &[&template(rego), &constraint("{}"), THING, other],
        "[error] v1/Thing/ns1/o : o,p\nviolatedConstraint: c1\n",
    );
}

#[test]
fn broken_templates_are_reported() {
    let reported = |why: &str| format!("[error] : adding template \"foo\": {why}\n");
    let check = |from: &str, to: &str, why: &str| {
        check(&[&template(REGO).replace(from, to)], &reported(why));
    };
    check(
        "{kind: Foo}",
        "{}",
        "invalid ConstraintTemplate: ConstraintTemplate \"foo\" does not specify CRD Kind",
    );
    check(
        "{kind: Foo}",
        "{kind: Bar}",
        "invalid ConstraintTemplate: the ConstraintTemplate's name \"foo\" is not equal to the lowercase of CRD's Kind: \
         \"bar\"",
    );
    check(
        "target: admission.k8s.gatekeeper.sh",
        "target: x.y",
        "failed to validate targets for template foo: invalid ConstraintTemplate: target \"x.y\" not recognized, known \
         targets [admission.k8s.gatekeeper.sh]",
    );
    check(
        "violation[",
        "other[",
        "invalid ConstraintTemplate: invalid rego: invalid module: missing required rules: [violation]",
    );
    check(
        "input.review.object.spec.x == \"bad\"",
        "data.foo.bar",
        "invalid ConstraintTemplate: invalid data references: check refs failed on module \
         {templates[\"admission.k8s.gatekeeper.sh\"][\"Foo\"]}: errors (1):\ndisallowed ref data.foo.bar\n",
    );
}

#[test]
fn broken_constraints_are_reported() {
    let check = |constraint: &str, why: &str| {
        check(
            &[&template(REGO), constraint],
            &format!("[error] : adding constraint \"c1\": {why}\n"),
        );
    };
    check(
        &constraint("{}").replace("kind: Foo", "kind: Bar"),
        "missing ConstraintTemplate: Constraint kind \"Bar\" is not recognized, known kinds [foo]",
    );
    check(
        &constraint("{}").replace("sh/v1beta1", "sh/v1"),
        "invalid Constraint: unsupported version \"v1\" for Constraint \"c1\"; supported versions: map[v1alpha1:true \
         v1beta1:true]",
    );
    check(
        &constraint("{match: {kinds: x}}"),
        "[].spec.match.kinds: Invalid value: \"string\": spec.match.kinds in body must be of type array: \"string\"",
    );
    check(
        &constraint("{match: {scope: Bogus}}"),
        "[].spec.match.scope: Unsupported value: \"Bogus\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
    );
    check(
        &constraint("{match: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}}"),
        "spec.labelSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or \
         'NotIn'",
    );
}

#[test]
fn objects_need_a_kind_and_a_version() {
    check(
        &["- {apiVersion: v1, metadata: {name: o}, b: <, a: [1, null]}\n"],
        "error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in \
         '{\"a\":[1,null],\"apiVersion\":\"v1\",\"b\":\"\\u003c\",\"metadata\":{\"name\":\"o\"}}'\n",
    );
    check(
        &["- {kind: Thing, metadata: {name: o}}\n"],
        "[error] : adding data of GVK \"/, Kind=Thing\": admission.k8s.gatekeeper.sh: resource o has no version\n\n",
    );
}

#[test]
fn values_nested_beyond_reason_are_refused() {
    let deep = format!(
        "- {{apiVersion: v1, kind: Thing, metadata: {{name: o}}, a: {}1{}}}\n",
        "[".repeat(2000),
        "]".repeat(2000)
    );
    let answer = run(&deep);
    assert_eq!(answer.exit_code, 1);
    assert!(answer.stderr.contains("nested too deeply"));
}

#[test]
fn resources_are_not_touched() {
    let items = "- apiVersion: v1\n  kind: Thing # kept\n  metadata:\n    name: \"o\"\n";
    let answer = run(items);
    assert!(answer.stdout.ends_with(items), "{}", answer.stdout);
}
