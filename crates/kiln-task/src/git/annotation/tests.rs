//! Messages to the byte, and what is read of them.

use super::{Annotation, approval_message, change_message, deletion_message};
use crate::task::{InitTask, Task};

#[test]
fn messages_equal_those_of_porch() {
    let task = Task::Init(InitTask {
        description: "d".to_owned(),
        ..InitTask::default()
    });
    assert_eq!(
        change_message("dir/pkg", "v1", &task),
        "Creating new empty revision\n\n\nkpt:{\"package\":\"dir/pkg\",\"workspaceName\":\"v1\",\"revision\":\"0\",\"task\":{\"type\":\"init\",\"init\":{\"description\":\"d\"}}}\n"
    );
    assert_eq!(
        change_message("p", "w", &Task::Render),
        "Rendering package\n\n\nkpt:{\"package\":\"p\",\"workspaceName\":\"w\",\"revision\":\"0\",\"task\":{\"type\":\"render\"}}\n"
    );
    assert_eq!(
        approval_message("p", "w", 3),
        "Approving package revision p/3\n\nkpt:{\"package\":\"p\",\"workspaceName\":\"w\",\"revision\":\"3\"}\n"
    );
    assert_eq!(deletion_message("p"), "Delete p");
}

#[test]
fn invalid_annotations_are_skipped() {
    let message = "subject\n\n  kpt:{\"package\":\"p\",\"revision\":\"v1\"}\nkpt:{oops\nkpt:{\"package\":\"q\",\"workspaceName\":\"w\"}";
    let read = Annotation::read_all(message);
    assert_eq!(read.len(), 2);
    assert!(read.iter().any(|annotation| annotation.is_about("p", "v1")));
    assert!(read.iter().any(|annotation| annotation.is_about("q", "w")));
    assert!(!read.iter().any(|annotation| annotation.is_about("q", "")));
    assert_eq!(read.first().and_then(Annotation::number), Some(1));
}
