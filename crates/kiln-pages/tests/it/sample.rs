//! A fixed run, so that reports can be compared with golden files.

use std::collections::BTreeMap;

use kiln_krm::kptfile::{Function, Selector};
use kiln_krm::results::{Field, File, FunctionResult, ResourceRef, ResultItem};
use kiln_krm::{GroupVersionKind, ResourceId};
use kiln_pages::report::{
    ChangedFile, ConfigValues, LockFileState, LockInput, PhaseTime, ReportAction, ReportInput,
    ReportModel, SecretValues, StepInput, StepKind, StepPosition, StepStatus, TouchedResource,
    Verdict, build,
};

pub(crate) const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1.0
";

/// A run of a mutator that changes a Deployment and a validator that complains about it.
pub(crate) fn failed_run() -> ReportModel {
    let after = DEPLOYMENT
        .replace("replicas: 1", "replicas: 3")
        .replace("web:1.0", "web:1.1");
    build(ReportInput {
        verdict: Verdict::Failed,
        steps: vec![set_image(), validate()],
        files: vec![changed("app/deployment.yaml", DEPLOYMENT, &after)],
        ..input()
    })
}

pub(crate) fn input() -> ReportInput<'static> {
    ReportInput {
        tool: "kiln 0.0.0".to_owned(),
        platform: "linux x86_64".to_owned(),
        command: ["kiln", "fn", "render", "my shop"]
            .map(str::to_owned)
            .to_vec(),
        action: ReportAction::Render,
        package: "shop".to_owned(),
        directory: "my shop".to_owned(),
        repository_directory: None,
        is_written_elsewhere: false,
        started: "2026-01-02T03:04:05Z".to_owned(),
        duration_us: 20_000,
        verdict: Verdict::Passed,
        problems: Vec::new(),
        steps: Vec::new(),
        phases: vec![phase("read", 0, 4_000), phase("write", 18_000, 2_000)],
        files: Vec::new(),
        lock: Some(LockInput {
            file: "kiln.lock".to_owned(),
            text: b"version: 1\n".to_vec(),
            state: LockFileState::Complete,
        }),
        config_values: ConfigValues::Show,
        secrets: SecretValues::default(),
        read: &|_| None,
    }
}

fn phase(name: &str, start_us: u64, duration_us: u64) -> PhaseTime {
    PhaseTime {
        name: name.to_owned(),
        start_us,
        duration_us,
    }
}

pub(crate) fn changed(path: &str, before: &str, after: &str) -> ChangedFile {
    let bytes = |text: &str| Some(text.as_bytes().to_vec()).filter(|text| !text.is_empty());
    ChangedFile {
        path: path.to_owned(),
        before: bytes(before),
        after: bytes(after),
    }
}

pub(crate) fn set_image() -> StepInput {
    StepInput {
        package: "shop".to_owned(),
        directory: String::new(),
        function: "set-image:v0.1".to_owned(),
        declared: Some(Box::new(declared())),
        config: None,
        position: Some(StepPosition {
            number: 1,
            count: 3,
        }),
        is_cached: false,
        kind: StepKind::Mutator,
        identity: Some("native:set-image@v0.1".to_owned()),
        status: StepStatus::Passed,
        start_us: 4_000,
        duration_us: 6_500,
        resources_in: 2,
        resources_out: 2,
        touched: vec![TouchedResource {
            id: ResourceId {
                gvk: GroupVersionKind {
                    group: "apps".to_owned(),
                    version: "v1".to_owned(),
                    kind: "Deployment".to_owned(),
                },
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
            },
            file: "app/deployment.yaml".to_owned(),
        }],
        result: FunctionResult::default(),
    }
}

/// A function with a configuration that selects Deployments.
fn declared() -> Function {
    Function {
        image: "set-image:v0.1".to_owned(),
        config_map: BTreeMap::from([("tag".to_owned(), "it's 1.1".to_owned())]),
        selectors: vec![Selector {
            kind: "Deployment".to_owned(),
            labels: BTreeMap::from([("app".to_owned(), "web".to_owned())]),
            ..Selector::default()
        }],
        ..Function::default()
    }
}

pub(crate) fn validate() -> StepInput {
    let item = ResultItem {
        message: "use at most 2 replicas".to_owned(),
        severity: "error".to_owned(),
        resource_ref: Some(ResourceRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
        }),
        field: Some(Field {
            path: "spec.replicas".to_owned(),
            current_value: "3".to_owned(),
            proposed_value: "2".to_owned(),
        }),
        file: Some(File {
            path: "app/deployment.yaml".to_owned(),
            index: 0,
        }),
        ..ResultItem::default()
    };
    StepInput {
        function: "limits:v1".to_owned(),
        declared: None,
        position: Some(StepPosition {
            number: 2,
            count: 3,
        }),
        kind: StepKind::Validator,
        identity: None,
        status: StepStatus::Failed,
        start_us: 11_000,
        duration_us: 7_000,
        touched: Vec::new(),
        result: FunctionResult {
            stderr: "checked 2 resources\n".to_owned(),
            exit_code: 1,
            results: vec![item],
            ..FunctionResult::default()
        },
        ..set_image()
    }
}
