//! Changes that do not make a rendered package another one: the first render after a change reports it in the status of the Kptfile,
//! and the next one reports that there is nothing to do. `--check` must accept what a render wrote.

use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::package::{FileAction, FileChange, FileSource};
use kiln_krm::read::read_loose_file;
use kiln_krm::{Dialect, Resource};
use kiln_yaml::NodeId;

/// Whether a change of a Kptfile changes nothing but the results of functions in its status.
pub(crate) fn changes_only_results(files: &dyn FileSource, change: &FileChange) -> bool {
    let is_kptfile = change.path.rsplit('/').next() == Some(FILE_NAME);
    let FileAction::Write(new) = &change.action else {
        return false;
    };
    let Some(old) = files.read(&change.path).ok().filter(|_| is_kptfile) else {
        return false;
    };
    match (without_results(&old), without_results(new)) {
        (Some(old), Some(new)) => old.root().value_eq(new.root()),
        _ => false,
    }
}

fn without_results(bytes: &[u8]) -> Option<Resource> {
    let mut documents = read_loose_file(bytes.to_vec(), Dialect::Current).ok()?;
    let mut kptfile = documents.pop().filter(|_| documents.is_empty())?;
    let mut steps: Vec<NodeId> = Vec::new();
    for name in ["mutationSteps", "validationSteps"] {
        let found = kptfile.root().get_path(&["status", "renderStatus", name]);
        steps.extend(
            found
                .into_iter()
                .flat_map(|list| list.items())
                .map(|it| it.id()),
        );
    }
    for step in steps {
        // What has no results has none to remove.
        let _ = kptfile.document_mut().node_mut(step).remove(&["results"]);
    }
    Some(kptfile)
}

#[cfg(test)]
mod tests {
    use kiln_krm::package::MemoryFiles;

    use super::*;

    #[track_caller]
    fn check(path: &str, old: &str, new: &str, expected: bool) {
        let files: MemoryFiles = [(path, old)].into_iter().collect();
        let change = FileChange {
            path: path.to_owned(),
            action: FileAction::Write(new.as_bytes().to_vec()),
        };
        assert_eq!(changes_only_results(&files, &change), expected, "{new}");
    }

    #[test]
    fn only_results_of_functions_may_differ() {
        let step = |image: &str, results: &str| {
            format!(
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\nstatus:\n  renderStatus:\n    mutationSteps:\n    \
                 - image: {image}\n      exitCode: 0\n{results}"
            )
        };
        let changed = "      results:\n      - message: 1 value changed\n        severity: info\n";
        let nothing = "      results:\n      - message: no value changed\n        severity: info\n";
        let old = step("a:v1", changed);
        check("Kptfile", &old, &step("a:v1", nothing), true);
        check("sub/Kptfile", &old, &step("a:v1", ""), true);
        check("Kptfile", &old, &step("a:v2", changed), false);
        check("Kptfile", &old, &old.replace("name: a", "name: b"), false);
        check(
            "Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\n",
            &old,
            false,
        );
        check("a.yaml", &old, &step("a:v1", nothing), false);
        check("Kptfile", "a: [", &old, false);
    }
}
