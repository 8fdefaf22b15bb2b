//! Open files of children.

use std::fs::File;
use std::process::Command;

use kiln_sandbox::close_descriptors_on_exec;

fn files_of_a_child() -> String {
    let listed = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
    String::from_utf8(listed.unwrap().stdout).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn children_inherit_open_files_until_they_are_closed_on_exec() {
    let file = File::open("/dev/zero").unwrap();
    // Unlike the one that Rust opened, the duplicate is passed on.
    let duplicate = rustix::io::dup(&file).unwrap();
    let before = files_of_a_child();
    assert!(before.contains("/dev/zero"), "{before}");
    close_descriptors_on_exec().unwrap();
    let after = files_of_a_child();
    assert!(!after.contains("/dev/zero"), "{after}");
    // The standard three and the directory that is being listed, after a line with their sum.
    assert_eq!(after.lines().count(), 1 + 4, "{after}");
    // They are open still.
    assert!(rustix::io::fcntl_getfd(&duplicate).is_ok());
}
