//! The registry entry of annotate-apply-time-mutations: documentation and versions.

use super::AnnotateApplyTimeMutations;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "annotate-apply-time-mutations",
    former_names: &[],
    summary: "Annotates resources with the fields that get values of other resources at apply time",
    doc: "\
Some values are known only once another resource is in the cluster. This function writes their sources to the annotation
`config.kubernetes.io/apply-time-mutation`, which `kpt live apply` and similar tools read.

It takes no configuration. A comment after a field declares its source, as
`${GROUP/namespaces/NAMESPACE/KIND/NAME:PATH}`, with an optional version after the group:

    spec:
      member: x # apply-time-mutation: user-${example.com/namespaces/prod/Project/main:$.status.number}@example.com

The field becomes `user-${ref0}@example.com`, unless the comment is only the reference. Alternatively, a resource
declares the substitutions of another one:

    apiVersion: fn.kpt.dev/v1alpha1
    kind: ApplyTimeMutation
    metadata:
      name: number
      annotations:
        config.kubernetes.io/local-config: \"true\"
    spec:
      targetRef:
        group: example.com
        kind: Member
        name: main
        namespace: prod
      substitutions:
      - sourceRef:
          group: example.com
          kind: Project
          name: main
          namespace: prod
        sourcePath: $.status.number
        targetPath: $.spec.member
        token: ${number}
",
    versions: &[FunctionVersion {
        tags: &["v0.1.0", "unstable", "latest"],
        sdk: Sdk::Kyaml {
            results: ResultsForm::List,
            errors: ErrorsPrinted::Twice,
        },
        function: &AnnotateApplyTimeMutations,
    }],
};
