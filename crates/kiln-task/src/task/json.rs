//! The stored form of tasks, and JSON with Go's escapes.

use serde::{Deserialize, Deserializer, Serialize};

use super::{CloneTask, EditTask, InitTask, Strategy, Task, UpgradeTask};

/// A task as Porch stores it: its kind, and the fields of that kind beside it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTask {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init: Option<InitTask>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clone: Option<CloneTask>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edit: Option<EditTask>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upgrade: Option<UpgradeTask>,
}

impl From<Task> for StoredTask {
    fn from(task: Task) -> StoredTask {
        let mut stored = StoredTask {
            kind: task.kind().to_owned(),
            init: None,
            clone: None,
            edit: None,
            upgrade: None,
        };
        match task {
            Task::Init(init) => stored.init = Some(init),
            Task::Clone(clone) => stored.clone = Some(clone),
            Task::Edit(edit) => stored.edit = Some(edit),
            Task::Upgrade(upgrade) => stored.upgrade = Some(upgrade),
            Task::Render | Task::Push | Task::Nothing | Task::Other(_) => {}
        }
        stored
    }
}

impl From<StoredTask> for Task {
    fn from(stored: StoredTask) -> Task {
        match stored.kind.as_str() {
            "init" => Task::Init(stored.init.unwrap_or_default()),
            "clone" => Task::Clone(stored.clone.unwrap_or_default()),
            "edit" => Task::Edit(stored.edit.unwrap_or_default()),
            "upgrade" => Task::Upgrade(stored.upgrade.unwrap_or_default()),
            "render" => Task::Render,
            "push" => Task::Push,
            "" => Task::Nothing,
            kind => Task::Other(kind.to_owned()),
        }
    }
}

/// Reads `null` as the default value, as Go does.
pub(super) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Ignores an unknown strategy, as Porch does.
pub(super) fn known_strategy<'de, D>(deserializer: D) -> Result<Option<Strategy>, D::Error>
where
    D: Deserializer<'de>,
{
    let text: Option<String> = Option::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// JSON as Go writes it, with `<`, `>` and `&` escaped.
pub(crate) fn to_go_json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(kiln_go::escape_html(&serde_json::to_string(value)?))
}
