//! A table that changes under a runner.

use tonic::Code;

use crate::program::{CAT, World};

const OTHER: &str = "example.com/other:v1";

#[tokio::test]
async fn a_new_table_is_used_and_a_bad_one_is_not() {
    let world = World::new();
    let runner = world.start(&["--disable-runtimes=pod"]);
    runner.call(CAT).await.expect("a list");
    let status = runner.call(OTHER).await.expect_err("not listed");
    assert_eq!(status.code(), Code::NotFound);

    world.config(&format!(
        "functions:\n- function: cat\n  images: ['{OTHER}', '{OTHER}']\n"
    ));
    runner.call(OTHER).await.expect("a list");
    runner.says("config.yaml has changed and was read again");
    runner.says("is listed more than once");
    let status = runner.call(CAT).await.expect_err("not listed");
    assert_eq!(status.code(), Code::NotFound);

    world.config("functions: [");
    runner.call(OTHER).await.expect("the old table");
    runner.says("cannot be used, the old one stays in force");

    std::fs::remove_file(world.path("config.yaml")).expect("a file");
    runner.call(OTHER).await.expect("the old table");
    let line = runner.says("cannot be used, the old one stays in force");
    assert!(line.contains("No such file"), "{line}");
}
