//! The results: one for each map of annotations.

use std::collections::BTreeMap;

use kiln_go::json_string;
use kiln_krm::results::{Field, File, ResultItem};

use crate::budget::is_stopped;
use crate::output::Results;
use crate::port::kustomize::FieldPath;

#[derive(Default)]
pub(super) struct AnnotationReport {
    /// By file, index and field.
    set: BTreeMap<(String, String, String), BTreeMap<String, String>>,
}

impl AnnotationReport {
    pub(super) fn note(
        &mut self,
        file: &str,
        index: &str,
        path: FieldPath<'_>,
        key: &str,
        value: &str,
    ) {
        if !kiln_yaml::take_for_good(file.len() + key.len() + value.len()) {
            return;
        }
        let place = (file.to_owned(), index.to_owned(), path.text());
        let annotations = self.set.entry(place).or_default();
        annotations.insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn into_results(self) -> Results {
        if self.set.is_empty() {
            let nothing = ResultItem {
                message: "no annotations applied".to_owned(),
                ..ResultItem::default()
            };
            return nothing.into();
        }
        let set = self.set.into_iter().take_while(|_| !is_stopped());
        let mut results: Results = set.map(result).collect();
        results.sort_by_cached_key(|result| {
            let (file, field) = (result.file.clone(), result.field.clone());
            let (file, field) = (file.unwrap_or_default(), field.unwrap_or_default());
            // The original sorts by this text.
            let rest = format!("{} %!s(<nil>),message:{}", field.path, result.message);
            (file.path, file.index, rest)
        });
        results
    }
}

fn result(
    ((file, index, path), annotations): ((String, String, String), BTreeMap<String, String>),
) -> ResultItem {
    let pair =
        |(key, value): (&String, &String)| format!("{}:{}", json_string(key), json_string(value));
    let pairs: Vec<String> = annotations.iter().map(pair).collect();
    ResultItem {
        message: format!("set annotations: {{{}}}", pairs.join(",")),
        field: Some(Field::at(path)),
        file: Some(File {
            path: file,
            index: index.parse().unwrap_or_default(),
        }),
        ..ResultItem::default()
    }
}
