//! Checking pipelines, and saving functions in them.

use std::collections::HashMap;

use kiln_krm::kptfile::edit::{Saved, save_function, save_like_kpt};
use kiln_krm::kptfile::{Function, FunctionKind, Kptfile, OpenConfigError};
use kiln_krm::{Dialect, Resource, paths, read};
use kiln_yaml::{Document, SequenceStyle};

use super::{Report, fixture, text};

#[test]
fn pipelines_are_checked_like_kpt() {
    let mut report = Report::default();
    let mut cases = fixture(include_str!("../../fixtures/validations.jsonl")).into_iter();
    let files = cases.next().expect("the first line lists the files");
    let files: Vec<String> = serde_json::from_value(files["list"].clone()).expect("texts");
    let files: HashMap<&str, &str> = files
        .chunks_exact(2)
        .map(|pair| (pair[0].as_str(), pair[1].as_str()))
        .collect();
    let open = |path: &str| open_config(&files, path);
    for case in cases {
        let input = text(&case, "in").unwrap_or_default();
        let kptfile = Kptfile::read(input.as_bytes()).expect("a readable Kptfile");
        let invalid = kptfile.validate(open).err();
        let message = invalid.as_ref().map(ToString::to_string);
        report.check(input, message.as_deref(), text(&case, "message"));
        let chain = invalid.as_ref().map(|invalid| invalid.chain_text());
        report.check(input, chain.as_deref(), text(&case, "chain"));
    }
    report.finish();
}

fn open_config(files: &HashMap<&str, &str>, path: &str) -> Result<Vec<Document>, OpenConfigError> {
    let path = paths::join(&["/p", path]);
    let name = path.strip_prefix("/p/").unwrap_or_default();
    let parent = paths::directory(name);
    let failed = |reason| OpenConfigError::Open(format!("open {path}: {reason}"));
    match files.get(name) {
        None if files.contains_key(parent.as_str()) => Err(failed("not a directory")),
        None if name.is_empty() => Err(OpenConfigError::Read("read /p: is a directory".to_owned())),
        None => Err(failed("no such file or directory")),
        Some(&"DIR") => Err(OpenConfigError::Read(format!(
            "read {path}: is a directory"
        ))),
        Some(content) => read::read_loose_file(content.as_bytes().to_vec(), Dialect::Current)
            .map(|resources| resources.into_iter().map(Resource::into_document).collect())
            .map_err(|error| OpenConfigError::Read(error.to_string())),
    }
}

/// The function of a fixture, read as part of a Kptfile.
fn function(yaml: &str) -> Function {
    let yaml = yaml.replace('\n', "\n    ");
    let kptfile =
        format!("apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline:\n  mutators:\n  - {yaml}\n");
    let kptfile = Kptfile::read(kptfile.as_bytes()).expect("a valid Kptfile");
    kptfile.pipeline.expect("a pipeline").mutators.remove(0)
}

#[test]
fn functions_are_saved_like_kpt() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/saves.jsonl")) {
        let input = text(&case, "in").unwrap_or_default();
        let kind = match case["list"][0].as_str() {
            Some("mutator") => FunctionKind::Mutator,
            _ => FunctionKind::Validator,
        };
        let function = function(case["list"][1].as_str().unwrap_or_default());
        let original = kiln_yaml::parse(input).expect("valid").expect("a document");
        let what = format!("{:?} saved in\n{input}", case["list"]);
        match save_like_kpt(&original, kind, &function) {
            Err(error) => report.check(
                &what,
                Some(error.to_string().as_str()),
                text(&case, "error"),
            ),
            Ok((doc, saved)) => {
                let yaml = kiln_yaml::to_string(&doc, SequenceStyle::Wide);
                report.check(&what, Some(yaml.as_str()), text(&case, "yaml"));
                report.check(
                    &what,
                    Some(saved == Saved::Updated),
                    case["updated"].as_bool(),
                );
            }
        }
        // The edit of the tree means the same, except that of several equal entries one is left.
        let mut edited = original.clone();
        let saved = save_function(&mut edited, kind, &function).expect("an editable Kptfile");
        report.check(
            &what,
            Some(saved == Saved::Updated),
            case["updated"].as_bool(),
        );
        let mut ours = Kptfile::decode(&edited).expect("still valid");
        let recorded = text(&case, "yaml").unwrap_or_default();
        let mut recorded = Kptfile::read(recorded.as_bytes()).expect("recorded");
        for kptfile in [&mut ours, &mut recorded] {
            let pipeline = kptfile.pipeline.as_mut().expect("a pipeline");
            pipeline.mutators.dedup();
            pipeline.validators.dedup();
        }
        report.check(&what, ours, recorded);
    }
    report.finish();
}
