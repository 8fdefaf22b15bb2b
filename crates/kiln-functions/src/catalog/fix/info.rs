//! The registry entry of fix: documentation and versions.

use super::{Fix, FixRelease};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("fix"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "fix",
    former_names: &[],
    summary: "Migrates packages of kpt before v1 to v1",
    doc: "\
Converts Kptfiles of `kpt.dev/v1alpha1` and `v1alpha2` to v1. Setters and substitutions of v1alpha1 become a call of
apply-setters with a file `setters.yaml`, and comments such as `# {\"$kpt-set\":\"name\"}` become `# kpt-set: ${name}`.
Functions that resources declare with annotations become steps of the pipeline.

It takes no configuration. The input must contain a Kptfile.

    kiln fn eval --image fix
",
    versions: &[
        FunctionVersion {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                release: FixRelease::V0_2_0,
            },
        },
        FunctionVersion {
            tags: &["v0.2.1"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                release: FixRelease::V0_2_1,
            },
        },
        FunctionVersion {
            tags: &["unstable"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                moved: "gcr.io/kpt-fn/apply-setters:",
                release: FixRelease::V0_2_1,
            },
        },
        FunctionVersion {
            tags: &["latest"],
            sdk: SDK,
            function: &Fix {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                moved: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:",
                release: FixRelease::V0_2_1,
            },
        },
    ],
};
