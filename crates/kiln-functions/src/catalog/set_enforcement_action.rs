//! set-enforcement-action: sets how Gatekeeper enforces the constraints in a package.

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{Document, Kind};

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::kyaml::{
    MissingMetadata, SetFieldError, data_map, failure, item, place_path, set_untagged,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-enforcement-action",
    former_names: &[],
    summary: "Sets the enforcement action of Gatekeeper constraints",
    doc: "\
Sets `spec.enforcementAction` of every constraint (`constraints.gatekeeper.sh/v1beta1`).

Configuration: a ConfigMap with nothing in its data but the action: `deny`, `warn` or `dryrun`.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: action
    data:
      enforcementAction: dryrun
",
    versions: &[FunctionVersion::new(
        &["v0.1.0", "v0.1.1", "unstable", "latest"],
        Sdk::Kyaml(
            ResultsForm::Object("set-enforcement-action"),
            ErrorsPrinted::Once,
        ),
        &SetEnforcementAction,
    )],
};

const CONSTRAINT: &str = "constraints.gatekeeper.sh/v1beta1";
const ACTION: &str = "enforcementAction";

struct SetEnforcementAction;

#[derive(Debug, thiserror::Error)]
enum ActionError {
    #[error("expecting exactly 1 enforcementAction as part of the ConfigMap")]
    NotOne,
    #[error("expected values for enforcementAction are [deny] or [warn] or [dryrun]")]
    UnknownAction,
    #[error(transparent)]
    MissingMetadata(#[from] MissingMetadata),
    #[error(transparent)]
    SetField(#[from] SetFieldError),
}

impl Function for SetEnforcementAction {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let outcome = action(list.config.as_ref())
            .and_then(|action| Ok((set_all(&mut list.items, &action)?, action)));
        match outcome {
            Ok((policies, action)) => {
                list.results = results(policies, &action);
                Ending::Success
            }
            Err(error) => {
                let message = format!("failed to process policies: {error}");
                list.results = failure(message).into();
                Ending::Error(error.to_string())
            }
        }
    }
}

fn action(config: Option<&Document>) -> Result<String, ActionError> {
    let data = data_map(config);
    let [(key, action)] = data.as_slice() else {
        return Err(ActionError::NotOne);
    };
    match (key.as_str(), action.as_str()) {
        (ACTION, "deny" | "warn" | "dryrun") => Ok(action.clone()),
        _ => Err(ActionError::UnknownAction),
    }
}

/// Sets the action of all constraints; returns a result for each.
fn set_all(items: &mut [Resource], action: &str) -> Result<Results, ActionError> {
    let mut results = Results::default();
    for resource in items {
        if is_stopped() {
            break;
        }
        let root = resource.root();
        if root.is_null() || !root.is_scalar() && root.is_empty() {
            continue;
        }
        let meta = resource.meta();
        if meta.is_missing {
            return Err(MissingMetadata.into());
        }
        if meta.name.is_empty() || meta.kind.is_empty() || meta.api_version != CONSTRAINT {
            continue;
        }
        // A missing `spec` is created as a scalar, which cannot have fields: such a constraint is an error.
        let way = ["spec"];
        set_untagged(
            resource.document_mut(),
            &way,
            Kind::Scalar,
            (ACTION, action),
        )?;
        let message = format!("Policy name: [{}]", resource.name());
        results.push(item(message, "", place_path(resource)));
    }
    Ok(results)
}

fn results(mut policies: Results, action: &str) -> Results {
    let (severity, summary) = match policies.len() {
        0 => (
            Severity::Warning,
            format!("Found no policy to set to [{action}]"),
        ),
        count => (
            Severity::Info,
            format!("Number of policies set to [{action}]: {count}"),
        ),
    };
    policies.push_first(item(summary, "", ""));
    for policy in policies.iter_mut() {
        severity.as_str().clone_into(&mut policy.severity);
    }
    policies
}
