//! The registry entry of search-replace: documentation and versions.

use super::{SearchReplace, SearchReplaceRelease};
use crate::port::kyaml::KyamlRelease;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("search-replace"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "search-replace",
    former_names: &[],
    summary: "Finds fields and changes them",
    doc: "\
Finds fields by value, by path and by file, and sets their values or comments. A field must meet all criteria. Without
put-value and put-comment it only reports the matches.

Configuration: a ConfigMap with some of these fields in its data.

    by-value        the value of the field
    by-value-regex  an expression that matches somewhere in the value
    by-path         the path of the field: spec.containers[*].image, **.name; * is one field, ** any number of fields
    by-file-path    the path of the file: **/setters.yaml
    put-value       the new value; ${1} is the first group of by-value-regex
    put-comment     the new comment after the value, or after the key of a list; groups as above

by-path without * and [], together with put-value alone, creates missing fields.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: search
    data:
      by-path: metadata.name
      by-value-regex: my-(.*)
      put-value: your-${1}
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.1"],
            sdk: SDK,
            function: &SearchReplace {
                release: SearchReplaceRelease::V0_1,
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &SearchReplace {
                release: SearchReplaceRelease::V0_2,
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["v0.2.1", "v0.2.3", "unstable", "latest"],
            sdk: SDK,
            function: &SearchReplace {
                release: SearchReplaceRelease::V0_2,
                kyaml: KyamlRelease::V0_12,
            },
        },
    ],
};
