//! The files of an empty package: Kptfile, README.md and package-context.yaml.

use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_krm::kptfile::{API_VERSION, FILE_NAME, KIND, Kptfile, Metadata, PackageInfo};
use kiln_yaml::SequenceStyle;

use crate::contents::{Contents, ContentsError};
use crate::package_context;
use crate::task::InitTask;

/// Creates the files. A subpackage gets its own.
pub(crate) fn init(name: &str, task: &InitTask) -> Result<Contents, ContentsError> {
    let mut contents = Contents::new();
    add_package(&mut contents, "", name, task)?;
    let subpackage = task.subpackage.trim_matches('/');
    if let Some(name) = subpackage
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
    {
        add_package(&mut contents, &format!("{subpackage}/"), name, task)?;
    }
    Ok(contents)
}

fn add_package(
    contents: &mut Contents,
    prefix: &str,
    name: &str,
    task: &InitTask,
) -> Result<(), ContentsError> {
    let files = [
        (FILE_NAME, kptfile(name, task)),
        ("README.md", readme(name, &task.description)),
        (package_context::FILE, package_context::abstract_text()),
    ];
    for (file, text) in files {
        contents.insert_text(&format!("{prefix}{file}"), text)?;
    }
    Ok(())
}

fn kptfile(name: &str, task: &InitTask) -> String {
    let kptfile = Kptfile {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: Metadata {
            name: name.to_owned(),
            annotations: [(LOCAL_CONFIG.to_owned(), "true".to_owned())].into(),
            ..Metadata::default()
        },
        info: Some(PackageInfo {
            site: task.site.clone(),
            description: task.description.clone(),
            keywords: task.keywords.clone(),
            ..PackageInfo::default()
        }),
        ..Kptfile::default()
    };
    kiln_yaml::to_string(&kptfile.to_document(), SequenceStyle::Compact)
}

/// kpt's README.md.
fn readme(name: &str, description: &str) -> String {
    format!(
        "# {name}

## Description
{description}

## Usage

### Fetch the package
`kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}`
Details: https://kpt.dev/reference/cli/pkg/get/

### View package content
`kpt pkg tree {name}`
Details: https://kpt.dev/reference/cli/pkg/tree/

### Apply the package
```
kpt live init {name}
kpt live apply {name} --reconcile-timeout=2m --output=table
```
Details: https://kpt.dev/reference/cli/live/
"
    )
}

#[cfg(test)]
mod tests {
    use super::init;
    use crate::task::InitTask;

    fn text(task: &InitTask, path: &str) -> String {
        let contents = init("testpkg", task).expect("good paths");
        let bytes = contents.bytes(path).expect("the file is there").to_vec();
        String::from_utf8(bytes).expect("it is text")
    }

    #[test]
    fn an_empty_package_has_the_files_of_kpt() {
        let task = InitTask {
            description: "it's <b> & \"c\"".to_owned(),
            keywords: vec!["test".to_owned(), "kpt".to_owned()],
            site: "http://kpt.dev/testpkg".to_owned(),
            ..InitTask::default()
        };
        assert_eq!(
            text(&task, "Kptfile"),
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: testpkg\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  site: http://kpt.dev/testpkg\n  description: it's <b> & \"c\"\n  keywords:\n  - test\n  - kpt\n"
        );
        let readme = text(&task, "README.md");
        assert!(readme.starts_with("# testpkg\n\n## Description\nit's <b> & \"c\"\n\n## Usage\n"));
        assert_eq!(
            text(&task, "package-context.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n"
        );
        assert!(text(&InitTask::default(), "Kptfile").ends_with("info: {}\n"));
    }

    #[test]
    fn a_subpackage_has_its_own_files() {
        let task = InitTask {
            subpackage: "a/sub".to_owned(),
            ..InitTask::default()
        };
        assert!(text(&task, "Kptfile").contains("name: testpkg\n"));
        assert!(text(&task, "a/sub/Kptfile").contains("name: sub\n"));
        let outside = InitTask {
            subpackage: "../x".to_owned(),
            ..InitTask::default()
        };
        assert!(init("testpkg", &outside).is_err());
    }
}
