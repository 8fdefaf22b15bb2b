//! What a report says about declarations: configuration, selectors, the command for one step.

use kiln_krm::kptfile::{Function, Selector};
use kiln_pages::report::{
    ConfigValues, ReportAction, ReportInput, ReportModel, StepInput, StepReport, build,
};
use kiln_yaml::Document;

use crate::sample::{input, set_image};

fn document(text: &str) -> Document {
    let (documents, error) = kiln_yaml::parse_until_error(text.as_bytes());
    assert!(error.is_none());
    documents.into_iter().next().unwrap()
}

fn reported(step: StepInput, config_values: ConfigValues) -> StepReport {
    let mut model: ReportModel = build(ReportInput {
        steps: vec![step],
        config_values,
        ..input()
    });
    model.steps.remove(0)
}

#[test]
fn a_step_can_be_run_alone() {
    let step = reported(set_image(), ConfigValues::Show);
    assert_eq!(
        step.command,
        r"kiln fn eval 'my shop' --image set-image:v0.1 --match-kind Deployment --match-labels app=web -- 'tag=it'\''s 1.1'"
    );
    assert_eq!(step.selectors, ["kind=Deployment, label app=web"]);
    assert_eq!(step.position.map(|position| position.count), Some(3));
}

#[test]
fn a_step_of_a_sub_package_names_its_directory_and_file() {
    let declared = Function {
        exec: "./a.sh".to_owned(),
        config_path: "config/a.yaml".to_owned(),
        ..Function::default()
    };
    let step = StepInput {
        directory: "db".to_owned(),
        function: "./a.sh".to_owned(),
        declared: Some(Box::new(declared)),
        ..set_image()
    };
    let step = reported(step, ConfigValues::Show);
    assert_eq!(
        step.command,
        "kiln fn eval 'my shop/db' --exec ./a.sh --fn-config 'my shop/db/config/a.yaml'"
    );
    assert_eq!(step.config_path, "config/a.yaml");
}

#[test]
fn several_selectors_have_no_command() {
    let declared = Function {
        selectors: vec![Selector::default(), Selector::default()],
        ..Function::default()
    };
    let step = StepInput {
        declared: Some(Box::new(declared)),
        ..set_image()
    };
    assert_eq!(reported(step, ConfigValues::Show).command, "");
}

#[test]
fn an_eval_is_its_own_command() {
    let model = build(ReportInput {
        action: ReportAction::Eval,
        steps: vec![set_image()],
        ..input()
    });
    assert_eq!(model.steps[0].command, "");
}

#[track_caller]
fn check_config(text: &str, values: ConfigValues, expected: &str) {
    let step = StepInput {
        config: Some(document(text)),
        ..set_image()
    };
    assert_eq!(reported(step, values).config, expected);
}

#[test]
fn configurations_are_shown_without_what_is_secret() {
    let map = "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n  c: |\n    d\n    e\n";
    check_config(map, ConfigValues::Show, "a: b\nc: d\n  e\n  \n");
    check_config(map, ConfigValues::Hide, "a: (secret)\nc: (secret)\n");
    check_config(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  pin: \"123\"\n",
        ConfigValues::Show,
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  pin: (3 bytes)\n",
    );
    check_config(
        "apiVersion: a/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/index: '0'\n    mine: x\nby: 2\n",
        ConfigValues::Show,
        "apiVersion: a/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    mine: x\nby: 2\n",
    );
}
