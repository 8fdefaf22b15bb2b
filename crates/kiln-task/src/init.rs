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
    for (file, text) in package_files(name, task, ReadmeStyle::Kpt) {
        contents.insert_text(&format!("{prefix}{file}"), text)?;
    }
    Ok(())
}

/// How README.md is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadmeStyle {
    /// kpt's text with the description as it is.
    Kpt,
    /// kpt's text to the byte: it escapes for HTML, and turns every apostrophe into a backquote.
    KptEscaped,
    /// The commands of kiln.
    Kiln,
}

/// The names and texts of the files of a package.
pub(crate) fn package_files(
    name: &str,
    task: &InitTask,
    style: ReadmeStyle,
) -> [(&'static str, String); 3] {
    let description = &task.description;
    let readme = match style {
        ReadmeStyle::Kpt => readme(name, description),
        ReadmeStyle::KptEscaped => readme(&escaped(name), &escaped(description)),
        ReadmeStyle::Kiln => own_readme(name, description),
    };
    [
        (FILE_NAME, kptfile(name, task)),
        ("README.md", readme),
        (package_context::FILE, package_context::abstract_text()),
    ]
}

/// A text as Go's HTML templates write it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '+' => out.push_str("&#43;"),
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn own_readme(name: &str, description: &str) -> String {
    format!(
        "# {name}

## Description
{description}

## Usage

### Fetch the package
`kiln pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}`

### View package content
`kiln pkg tree {name}`

### Render the package
`kiln fn render {name}`
"
    )
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
