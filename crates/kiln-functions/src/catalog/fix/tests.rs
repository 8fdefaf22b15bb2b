//! Migrated packages in all releases, and failures.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire::{self, ProgramOutput};

const VERSIONS: [&str; 4] = ["v0.2.0", "v0.2.1", "unstable", "latest"];

fn run(version: &str, items: &str) -> ProgramOutput {
    let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(INFO.version(version).unwrap(), input.as_bytes(), &ctx).unwrap()
}

/// An error as it is printed.
fn twice(error: &str) -> String {
    format!("{error}{error}\n")
}

/// A Kptfile, and a ConfigMap in the same package.
fn package(api_version: &str, kptfile: &str, data: &str) -> String {
    let metadata = |name: &str, file: &str| {
        format!(
            "  metadata:\n    name: {name}\n    annotations:\n      config.kubernetes.io/path: {file}\n"
        )
    };
    format!(
        "- apiVersion: kpt.dev/{api_version}\n  kind: Kptfile\n{}{kptfile}- apiVersion: v1\n  kind: ConfigMap\n{}  data:\n{data}",
        metadata("pkg", "Kptfile"),
        metadata("cm", "cm.yaml"),
    )
}

/// The `openAPI` section of a Kptfile, with definitions as (name, extension).
fn definitions(definitions: &[(&str, &str)]) -> String {
    let lines = definitions.iter().map(|(name, extension)| {
        format!("      io.k8s.cli.{name}:\n        x-k8s-cli: {extension}\n")
    });
    let lines: String = lines.collect();
    format!("  openAPI:\n    definitions:\n{lines}")
}

#[test]
fn setters_go_to_a_file_that_each_version_names_and_writes_its_own_way() {
    let setters = definitions(&[
        ("setters.n", "{setter: {name: n, value: '5'}}"),
        ("setters.l", "{setter: {name: l, listValues: [a, b]}}"),
    ]);
    let items = package("v1alpha1", &setters, "    a: 5 # {\"$kpt-set\":\"n\"}\n");
    let expected = [
        (
            "gcr.io/kpt-fn/apply-setters:v0.1",
            "setters-config",
            "n: 5\n",
        ),
        ("gcr.io/kpt-fn/apply-setters:v0.1", "setters", "n: \"5\"\n"),
        ("gcr.io/kpt-fn/apply-setters:v0.2", "setters", "n: \"5\"\n"),
        (
            "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
            "setters",
            "n: \"5\"\n",
        ),
    ];
    for (version, (image, name, value)) in VERSIONS.into_iter().zip(expected) {
        let answer = run(version, &items);
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (0, ""));
        let step = format!("    - image: {image}\n      configPath: {name}.yaml\n");
        for part in [
            step.as_str(),
            &format!("    name: {name}\n"),
            value,
            "    l: |\n      - a\n      - b\n",
            "    a: 5 # kpt-set: ${n}\n",
        ] {
            assert!(answer.stdout.contains(part), "{part}\n{}", answer.stdout);
        }
    }
}

#[test]
fn which_image_has_its_setters_moved_depends_on_the_version() {
    let step = |image: &str| {
        format!("  pipeline:\n    mutators:\n    - image: {image}\n      configMap: {{n: x}}\n")
    };
    let images = [
        ("apply-setters:v0.1", [true, true, false, false]),
        (
            "gcr.io/kpt-fn/apply-setters:v0.1",
            [true, true, true, false],
        ),
        (
            "gcr.io/kpt-fn/apply-setters:v0.2",
            [false, false, true, false],
        ),
        (
            "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
            [false, false, false, true],
        ),
    ];
    for (image, moved) in images {
        for (version, moved) in VERSIONS.into_iter().zip(moved) {
            let answer = run(version, &package("v1alpha2", &step(image), "    a: b\n"));
            let reported = "Moved setters from configMap to configPath";
            assert_eq!(answer.stdout.contains(reported), moved, "{version} {image}");
            assert_eq!(
                answer.stdout.contains("configMap:"),
                !moved,
                "{version} {image}"
            );
        }
    }
}

#[test]
fn a_package_of_v1_is_only_reported() {
    let items = package(
        "v1",
        "  info: {a: b} # kept\n",
        "    a: b # {\"$kpt-set\":\"n\"}\n",
    );
    for version in VERSIONS {
        let answer = run(version, &items);
        assert!(answer.stdout.contains(items.as_str()), "{}", answer.stdout);
        let note = "This package is already fixed as it is on latest apiVersion kpt.dev/v1";
        assert!(answer.stdout.contains(note), "{}", answer.stdout);
    }
}

#[test]
fn what_is_wrong_with_a_setter_matters_to_scalars_only() {
    let setters = definitions(&[("setters.n", "{setter: {name: n, value: 5}}")]);
    let list = package(
        "v1alpha1",
        &setters,
        "    a: # {\"$kpt-set\":\"n\"}\n    - b\n    c: [{d: e}] # {\"$kpt-set\":\"n\"}\n",
    );
    let scalar = package("v1alpha1", &setters, "    a: [b] # {\"$kpt-set\":\"n\"}\n");
    for version in VERSIONS {
        let answer = run(version, &list);
        assert_eq!(answer.exit_code, 0, "{}", answer.stderr);
        assert!(
            answer.stdout.contains("    a: # kpt-set: ${n}\n"),
            "{}",
            answer.stdout
        );
        let error =
            "json: cannot unmarshal number into Go struct field setter.setter.value of type string";
        assert_eq!(run(version, &scalar).stderr, twice(error));
    }
}

#[test]
fn packages_that_cannot_be_fixed() {
    let cases = [
        (
            "- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n".to_owned(),
            "Kptfile not found in directory tree, make sure you specify '--include-meta-resources' flag",
        ),
        (
            package("v1alpha1", "  what: else\n", "    a: b\n"),
            "please make sure the package has a valid 'v1alpha1' Kptfile: yaml: unmarshal errors:\n  line 7: field what not found in type v1alpha1.KptFile",
        ),
        (
            package("v1alpha2", "  pipeline: [a]\n", "    a: b\n"),
            "please make sure the package has a valid 'v1' Kptfile: yaml: unmarshal errors:\n  line 7: cannot unmarshal !!seq into v1.Pipeline",
        ),
        (
            package(
                "v1alpha1",
                &definitions(&[("setters.n", "{}")]),
                "    a: b\n",
            ),
            "missing x-k8s-cli.setter for io.k8s.cli.setters.n",
        ),
        (
            package(
                "v1alpha1",
                &definitions(&[(
                    "substitutions.s",
                    "{substitution: {name: s, pattern: p, values: [{marker: p, ref: '#/definitions/io.k8s.cli.substitutions.s'}]}}",
                )]),
                "    a: b # {\"$kpt-set\":\"s\"}\n",
            ),
            "cyclic substitution detected with name s",
        ),
    ];
    for version in VERSIONS {
        for (items, error) in &cases {
            let answer = run(version, items);
            assert_eq!((answer.exit_code, answer.stderr), (1, twice(error)));
        }
    }
}

#[test]
fn substitutions_that_double_and_double_end() {
    let level = |at: usize| {
        let next = at + 1;
        let values =
            format!("[{{marker: m, ref: '#/definitions/io.k8s.cli.substitutions.s{next}'}}]");
        (
            format!("substitutions.s{at}"),
            format!("{{substitution: {{name: s{at}, pattern: mm, values: {values}}}}}"),
        )
    };
    let mut levels: Vec<_> = (0..60).map(level).collect();
    levels.push((
        "substitutions.s60".to_owned(),
        "{substitution: {name: s60, pattern: mm}}".to_owned(),
    ));
    let levels: Vec<_> = levels
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let items = package(
        "v1alpha1",
        &definitions(&levels),
        "    a: b # {\"$kpt-set\":\"s0\"}\n",
    );
    let answer = run("latest", &items);
    assert!(
        answer.stderr.trim_end().ends_with("is too long"),
        "{}",
        answer.stderr
    );
}
