//! What people are told about annotate-apply-time-mutations, and its versions.

use super::AnnotateApplyTimeMutations;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "annotate-apply-time-mutations",
    former_names: &[],
    summary: "Notes which fields get their values from other resources when they are applied",
    doc: "\
Some values are known only once another resource is in the cluster. This function writes down where they are to come
from, in the annotation `config.kubernetes.io/apply-time-mutation`, which `kpt live apply` and its relatives follow.

It takes no configuration. A comment behind a field says what is put there, as
`${GROUP/namespaces/NAMESPACE/KIND/NAME:PATH}`, with a version behind the group if it matters:

    spec:
      member: x # apply-time-mutation: user-${example.com/namespaces/prod/Project/main:$.status.number}@example.com

The field becomes `user-${ref0}@example.com`, unless the comment is nothing but the reference. The other way is a
resource that names the one to annotate:

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
    behaviours: &[Behaviour {
        tags: &["v0.1.0", "unstable", "latest"],
        sdk: Sdk::Kyaml {
            results: ResultsForm::List,
            errors: ErrorsPrinted::Twice,
        },
        function: &AnnotateApplyTimeMutations,
    }],
};
