//! Annotations: a line of JSON in a commit message that names the package revision.
//!
//! Messages equal Porch's byte for byte. Reading is lenient: an invalid line is skipped.

use serde::{Deserialize, Serialize};

use crate::task::{Task, to_go_json};

const MARK: &str = "kpt:";

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Annotation {
    /// The package's directory relative to the root of the git repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) package: String,
    #[serde(
        rename = "workspaceName",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    pub(crate) workspace: String,
    /// The revision's number; `0` for a draft. Old versions of Porch wrote `v1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) revision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<Task>,
}

impl Annotation {
    /// All annotations in a commit message.
    pub(crate) fn read_all(message: &str) -> Vec<Annotation> {
        let lines = message.split('\n').map(str::trim);
        let lines = lines.filter_map(|line| line.strip_prefix(MARK));
        lines
            .filter_map(|json| serde_json::from_str(json).ok())
            .collect()
    }

    /// Whether it names a revision. Old versions of Porch wrote the workspace as the revision.
    pub(crate) fn is_about(&self, package: &str, workspace: &str) -> bool {
        let is_named = match self.workspace.as_str() {
            "" => self.revision == workspace,
            name => name == workspace,
        };
        self.package == package && is_named
    }

    /// The number of a published revision.
    pub(crate) fn number(&self) -> Option<u64> {
        let digits = self.revision.strip_prefix('v').unwrap_or(&self.revision);
        digits.parse().ok().filter(|number| *number > 0)
    }

    fn line(&self) -> String {
        // Serialising strings does not fail.
        to_go_json(self).map_or_else(|_| String::new(), |json| format!("{MARK}{json}\n"))
    }
}

/// The message of a commit that changes a draft.
pub(crate) fn change_message(package: &str, workspace: &str, task: &Task) -> String {
    let annotation = Annotation {
        package: package.to_owned(),
        workspace: workspace.to_owned(),
        revision: "0".to_owned(),
        task: Some(task.clone()),
    };
    let subject = match task {
        Task::Init(_) => "Creating new empty revision".to_owned(),
        Task::Clone(_) => "Creating new revision by cloning".to_owned(),
        Task::Edit(_) => "Creating new revision by copying previous revision".to_owned(),
        Task::Upgrade(_) => "Upgrading revision".to_owned(),
        Task::Render => "Rendering package".to_owned(),
        Task::Nothing => "Intermediate commit".to_owned(),
        Task::Push | Task::Other(_) => format!("Intermediate commit: {}", task.kind()),
    };
    format!("{subject}\n\n\n{}", annotation.line())
}

/// The message of a commit that publishes a revision.
pub(crate) fn approval_message(package: &str, workspace: &str, number: u64) -> String {
    let annotation = Annotation {
        package: package.to_owned(),
        workspace: workspace.to_owned(),
        revision: number.to_string(),
        task: None,
    };
    let line = annotation.line();
    format!("Approving package revision {package}/{number}\n\n{line}")
}

/// The message of a commit that removes a package from the branch.
pub(crate) fn deletion_message(package: &str) -> String {
    format!("Delete {package}")
}

#[cfg(test)]
mod tests;
