//! A system without further threads or processes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Resource, geteuid, getrlimit};
use tonic::Code;

use crate::wrapper_process::{LIST, WRAPPER, Wrapper, block_on, call};

/// A user that runs nothing else. The limit does not hold for root.
const USER: u32 = 61_184;

/// Sets the soft limit of processes and threads, as that user: root may not have the right to.
fn set_limit(wrapper: &Wrapper, count: &str) {
    let mut command = Command::new("prlimit");
    command.arg(format!("--pid={}", wrapper.pid()));
    command.arg(format!("--nproc={count}:"));
    if geteuid().is_root() {
        command.uid(USER).gid(USER);
    }
    assert!(command.status().unwrap().success());
}

#[test]
fn a_system_without_threads_fails_calls_and_not_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("wrapper-server");
    fs::copy(WRAPPER, &program).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(["--port=0", "--", "cat"]).current_dir("/");
    if geteuid().is_root() {
        command.uid(USER).gid(USER);
    }
    let wrapper = Wrapper::spawn(&mut command);
    block_on(async {
        // All on one connection, which must survive.
        let mut client = wrapper.client().await;
        set_limit(&wrapper, "1");
        for _ in 0..3 {
            let status = call(&mut client, LIST).await.unwrap_err();
            assert_eq!(status.code(), Code::Internal, "{status:?}");
            let text = "resource temporarily unavailable";
            let message = status.message().to_lowercase();
            assert!(message.contains(text), "{status:?}");
        }
        let before = getrlimit(Resource::Nproc).current;
        let before = before.map_or("unlimited".to_owned(), |count| count.to_string());
        set_limit(&wrapper, &before);
        call(&mut client, LIST).await.unwrap();
    });
}
