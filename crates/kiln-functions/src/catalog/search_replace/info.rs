//! What people are told about search-replace, and its versions.

use super::{Rules, SearchReplace};
use crate::port::kyaml::Generation;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("search-replace"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "search-replace",
    former_names: &[],
    summary: "Searches for fields and changes them",
    doc: "\
Searches for fields by value, by path and by file, and puts values or comments there. What is searched for must all be
true of a field. Without anything to put it only reports what it finds.

Configuration: a ConfigMap with some of these in its data.

    by-value        the value of the field
    by-value-regex  an expression that matches somewhere in the value
    by-path         the path of the field: spec.containers[*].image, **.name; * is one field, ** any number of them
    by-file-path    the path of the file: **/setters.yaml
    put-value       the value to put; ${1} is the first group of by-value-regex
    put-comment     the comment to put behind the value, or behind the key of a list; groups as above

A by-path without * and [] together with put-value alone creates the field where it is missing.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: search
    data:
      by-path: metadata.name
      by-value-regex: my-(.*)
      put-value: your-${1}
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.1"],
            sdk: SDK,
            function: &SearchReplace {
                rules: Rules::First,
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &SearchReplace {
                rules: Rules::Second,
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["v0.2.1", "v0.2.3", "unstable", "latest"],
            sdk: SDK,
            function: &SearchReplace {
                rules: Rules::Second,
                generation: Generation::Second,
            },
        },
    ],
};
