//! The output of the function built from the tag `functions/go/gatekeeper/v0.2.1` for the same input.

use kiln_runtime::RunContext;

use super::{REGO, THING, constraint, run_in, template};

#[track_caller]
fn check(items: &[&str], stderr: &str) {
    let answer = run_in("gatekeeper:v0.2.1", &items.concat(), &RunContext::default()).unwrap();
    assert_eq!(answer.stderr, stderr);
    assert_eq!(answer.exit_code, i32::from(!stderr.is_empty()));
}

#[test]
fn violations_are_results() {
    let found = "[error] v1/Thing/ns1/o : x is {}\nviolatedConstraint: c1\n";
    check(&[&template(REGO), &constraint("{}"), THING], found);
    let answer = run_in(
        "gatekeeper:v0.2.1",
        &[
            &template(REGO),
            &constraint("{enforcementAction: warn}"),
            THING,
        ]
        .concat(),
        &RunContext::default(),
    );
    let answer = answer.unwrap();
    assert_eq!((answer.exit_code, answer.stderr.as_str()), (0, ""));
    assert!(answer.stdout.contains("severity: warning"));
}

#[test]
fn templates_are_not_reviewed() {
    let rego = "package foo\n      violation[{\"msg\": \"m\"}] { true }";
    check(
        &[&template(rego), &constraint("{}"), THING],
        "[error] constraints.gatekeeper.sh/v1beta1/Foo/c1 : m\nviolatedConstraint: c1\n\n[error] v1/Thing/ns1/o : \
         m\nviolatedConstraint: c1\n",
    );
}

#[test]
fn resources_need_a_kind_and_a_name() {
    check(
        &["- {apiVersion: v1, metadata: {name: o, labels: {a: b, c: d}, annotations: {e: f}}}\n"],
        "missing kind in object {{v1 } {{o } map[a:b c:d] map[e:f]}}\n",
    );
    check(
        &["- {apiVersion: v1, kind: Thing, metadata: {namespace: o}}\n"],
        "missing metadata.name in object {{v1 Thing} {{ o} map[] map[]}}\n",
    );
    check(
        &["- {kind: Thing, metadata: {name: o}}\n"],
        "[error] : admission.k8s.gatekeeper.sh: resource o has no version\n\n",
    );
}

#[test]
fn faults_of_templates_are_reported_in_few_words() {
    let check = |from: &str, to: &str, why: &str| {
        check(&[&template(REGO).replace(from, to)], &format!("{why}\n"));
    };
    check(
        "{kind: Foo}",
        "{}",
        "[error] : the ConstraintTemplate's name \"foo\" is not equal to the lowercase of CRD's Kind: \"\"",
    );
    check(
        "target: admission.k8s.gatekeeper.sh",
        "target: x.y",
        "[error] : failed to validate targets for template foo: target x.y not recognized",
    );
    check(
        "violation[",
        "other[",
        "[error] : invalid rego: \nmissing required rule: violation",
    );
    check(
        "input.review.object.spec.x == \"bad\"",
        "data.foo.bar",
        "[error] : check refs failed on module {templates[\"admission.k8s.gatekeeper.sh\"][\"Foo\"]}: errors \
         (1):\ndisallowed ref data.foo.bar\n",
    );
    check(
        "input.review.object.spec.x == \"bad\"",
        "nosuch(1)",
        "[error] : 1 error occurred: __modset_templates[\"admission.k8s.gatekeeper.sh\"][\"Foo\"]_idx_0:3: \
         rego_type_error: undefined function nosuch",
    );
}

#[test]
fn faults_of_constraints_are_reported_in_few_words() {
    let check = |constraint: &str, why: &str| {
        check(
            &[&template(REGO), constraint, THING],
            &format!("[error] : {why}\n"),
        );
    };
    check(
        &constraint("{}").replace("kind: Foo", "kind: Bar"),
        "Constraint kind Bar is not recognized",
    );
    check(
        &constraint("{}").replace("kind: Foo", "kind: FOO"),
        "wrong kind for constraint c1. Have FOO, want Foo",
    );
    check(
        &constraint("{}").replace("sh/v1beta1", "sh/v1"),
        "wrong version for constraint c1. Have v1, supported: map[v1alpha1:true v1beta1:true]",
    );
    check(
        &constraint("{match: {namespaces: ['*s1']}}"),
        "[].spec.match.namespaces: Invalid value: \"*s1\": spec.match.namespaces in body should match \
         '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\*|-\\*)?$'",
    );
    check(
        &constraint("{}").replace("name: c1", "name: C_1"),
        "invalid Name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
}

#[test]
fn templates_of_unknown_versions_are_resources() {
    check(
        &[
            &template(REGO).replace("sh/v1beta1", "sh/v2"),
            &constraint("{}"),
            THING,
        ],
        "[error] : Constraint kind Foo is not recognized\n",
    );
}
