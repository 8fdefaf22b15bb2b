//! What people are told about fix, and its versions.

use super::{Edition, Fix};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("fix"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "fix",
    former_names: &[],
    summary: "Makes packages of kpt before v1 ready for v1",
    doc: "\
Gives Kptfiles of `kpt.dev/v1alpha1` and `v1alpha2` the form of v1. Setters and substitutions of the older one become a
call of apply-setters with a file `setters.yaml`, and comments such as `# {\"$kpt-set\":\"name\"}` the newer
`# kpt-set: ${name}`. Functions that resources declare by annotations become steps of the pipeline.

It takes no configuration. There must be a Kptfile among the resources.

    kiln fn eval --image fix
",
    behaviours: &[
        Behaviour {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                edition: Edition::First,
            },
        },
        Behaviour {
            tags: &["v0.2.1"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                edition: Edition::Second,
            },
        },
        Behaviour {
            tags: &["unstable"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                moved: "gcr.io/kpt-fn/apply-setters:",
                edition: Edition::Second,
            },
        },
        Behaviour {
            tags: &["latest"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                moved: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:",
                edition: Edition::Second,
            },
        },
    ],
};
