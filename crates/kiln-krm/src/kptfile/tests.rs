//! Edits that keep comments, and the checks that no recorded answer reaches.

use kiln_yaml::{Document, SequenceStyle};

use super::edit::{Saved, save_function, set_condition, set_outcome, set_render_status};
use super::{Condition, Function, FunctionKind, Kptfile, Pipeline, RenderStatus, Step};

const COMMENTED: &str = "\
# licence

apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop # the shop
info:
  # for people
  description: 'A shop'
pipeline:
  mutators:
    # labels first
    - image: x/set-labels:v1 # pinned
      configMap:
        tier: \"1\" # quoted
    - exec: cat
";

fn parse(text: &str) -> Document {
    kiln_yaml::parse(text).expect("valid").expect("a document")
}

#[track_caller]
fn check_edit(before: &str, edit: impl Fn(&mut Document), after: &str) {
    let mut doc = parse(before);
    edit(&mut doc);
    assert_eq!(kiln_yaml::to_string(&doc, SequenceStyle::Wide), after);
    // What has been done is not done again.
    let mut again = parse(after);
    edit(&mut again);
    assert!(again.is_unchanged(), "the second edit changed something");
}

fn function(image: &str) -> Function {
    Function {
        image: image.to_owned(),
        ..Function::default()
    }
}

#[test]
fn a_condition_is_added_last() {
    check_edit(
        COMMENTED,
        |doc| set_condition(doc, &Condition::render_succeeded()).unwrap(),
        &format!(
            "{COMMENTED}status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n"
        ),
    );
}

#[test]
fn a_condition_takes_the_place_of_its_type() {
    let head =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\nstatus:\n  conditions:\n";
    check_edit(
        &format!(
            "{head}    - type: Ready # mine\n      status: \"False\"\n    # by the machine\n    - type: Rendered\n      status: \"True\" # so far\n      reason: RenderSuccess\n    - type: Rendered\n      status: Unknown\n"
        ),
        |doc| set_condition(doc, &Condition::render_failed("a: b")).unwrap(),
        &format!(
            "{head}    - type: Ready # mine\n      status: \"False\"\n    # by the machine\n    - type: Rendered\n      status: \"False\" # so far\n      reason: RenderFailed\n      message: 'a: b'\n"
        ),
    );
}

#[test]
fn a_condition_that_is_not_the_last_becomes_the_last() {
    let head =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\nstatus:\n  conditions:\n";
    let ready = "    - type: Ready # mine\n      status: \"False\"\n";
    let rendered = "    # by the machine\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n";
    check_edit(
        &format!("{head}{rendered}{ready}"),
        |doc| set_condition(doc, &Condition::render_succeeded()).unwrap(),
        &format!("{head}{ready}{rendered}"),
    );
}

#[test]
fn the_render_status_is_replaced_and_removed() {
    let step = Step {
        image: "x:latest".to_owned(),
        stderr: "one\ntwo\n".to_owned(),
        ..Step::default()
    };
    let status = RenderStatus {
        mutation_steps: vec![step],
        ..RenderStatus::default()
    };
    let with = format!(
        "{COMMENTED}status:\n  renderStatus:\n    mutationSteps:\n      - image: x:latest\n        stderr: |\n          one\n          two\n        exitCode: 0\n"
    );
    check_edit(
        COMMENTED,
        |doc| set_render_status(doc, Some(&status)).unwrap(),
        &with,
    );
    check_edit(
        &with,
        |doc| set_render_status(doc, None).unwrap(),
        &format!("{COMMENTED}status: {{}}\n"),
    );
}

#[test]
fn an_empty_flow_status_becomes_a_block() {
    check_edit(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nstatus: {} # s\n",
        |doc| set_condition(doc, &Condition::render_succeeded()).unwrap(),
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nstatus: # s\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n",
    );
}

#[test]
fn a_saved_function_keeps_the_comments_of_the_one_it_replaces() {
    let mut new = function("x/set-labels:v1");
    new.tag = "v2".to_owned();
    new.config_map.insert("tier".to_owned(), "1".to_owned());
    check_edit(
        COMMENTED,
        |doc| {
            let saved = save_function(doc, FunctionKind::Mutator, &new).unwrap();
            assert_eq!(saved, Saved::Updated);
            assert_eq!(
                saved.message(&new, FunctionKind::Mutator),
                "Updated \"x/set-labels:v1\" as mutator in the Kptfile."
            );
        },
        &COMMENTED.replace(
            "        tier: \"1\" # quoted\n",
            "        tier: \"1\" # quoted\n      tag: v2\n",
        ),
    );
}

#[test]
fn a_new_function_is_saved_last() {
    let mut doc = parse(COMMENTED);
    let new = function("x/check:v1");
    let saved = save_function(&mut doc, FunctionKind::Validator, &new).unwrap();
    assert_eq!(
        saved.message(&new, FunctionKind::Validator),
        "Added \"x/check:v1\" as validator in the Kptfile."
    );
    assert_eq!(
        kiln_yaml::to_string(&doc, SequenceStyle::Wide),
        format!("{COMMENTED}  validators:\n    - image: x/check:v1\n")
    );
}

#[test]
fn edits_refuse_what_is_not_a_kptfile() {
    let mut doc = parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n");
    let error = set_condition(&mut doc, &Condition::render_succeeded()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown resource type \"/v1, Kind=ConfigMap\" found in Kptfile"
    );
    assert!(doc.is_unchanged());
}

#[test]
fn the_outcome_goes_last_in_the_decoded_form() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\nstatus:\n  conditions:\n    - type: Rendered\n      status: \"False\"\n    - type: Ready\n      status: \"True\"\n";
    let mut kptfile = Kptfile::read(text.as_bytes()).unwrap();
    set_outcome(&mut kptfile, Condition::render_succeeded(), None);
    let kinds: Vec<_> = kptfile
        .status
        .iter()
        .flat_map(|s| &s.conditions)
        .map(|c| c.kind.as_str())
        .collect();
    assert_eq!(kinds, ["Ready", "Rendered"]);
}

#[test]
fn annotations_say_true_in_any_case() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  annotations:\n    a: \"TRUE\"\n    b: \"yes\"\n";
    let kptfile = Kptfile::read(text.as_bytes()).unwrap();
    assert!(kptfile.is_annotated_true("a"));
    assert!(!kptfile.is_annotated_true("b"));
    assert!(!kptfile.is_annotated_true("c"));
}

#[test]
fn every_missing_config_path_is_reported() {
    let with_path = |image: &str, exec: &str, name: &str, path: &str| Function {
        image: image.to_owned(),
        exec: exec.to_owned(),
        name: name.to_owned(),
        config_path: path.to_owned(),
        ..Function::default()
    };
    let pipeline = Pipeline {
        mutators: vec![
            with_path(
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest",
                "",
                "",
                "db/fc.yaml",
            ),
            with_path("", "./fn.sh", "", "./here.yaml"),
        ],
        validators: vec![
            with_path("", "./fn.sh", "", "fc.txt"),
            with_path("x", "", "mine", "no.yaml"),
        ],
    };
    assert_eq!(
        pipeline.check_config_paths(["here.yaml", "db/fc.yaml", "fc.txt", "no.yaml"]),
        Ok(())
    );
    let missing = pipeline.check_config_paths(["here.yaml"]).unwrap_err();
    let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: \"db/fc.yaml\"\nReason: functionConfig resource for mutator \"set-labels\" is missing from path \"db/fc.yaml\", this also occurs if \"db/fc.yaml\" is part of a subpackage\n",
            "Kptfile is invalid:\nField: `pipeline.validators[0].configPath`\nValue: \"fc.txt\"\nReason: functionConfig resource for validator \"\" is missing from path \"fc.txt\", this also occurs if \"fc.txt\" is part of a subpackage\n",
            "Kptfile is invalid:\nField: `pipeline.validators[1].configPath`\nValue: \"no.yaml\"\nReason: functionConfig resource for validator \"mine\" is missing from path \"no.yaml\", this also occurs if \"no.yaml\" is part of a subpackage\n",
        ]
    );
}

#[test]
fn an_empty_function_config_is_an_error() {
    let kptfile = Kptfile {
        pipeline: Some(Pipeline {
            mutators: vec![Function {
                image: "x".to_owned(),
                config_path: "empty.yaml".to_owned(),
                ..Function::default()
            }],
            ..Pipeline::default()
        }),
        ..Kptfile::default()
    };
    let invalid = kptfile.validate(|_| Ok(Vec::new())).unwrap_err();
    assert_eq!(
        invalid.reason,
        "functionConfig \"empty.yaml\" must contain a config, got 0"
    );
}
