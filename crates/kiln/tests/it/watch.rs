//! `kiln fn render --watch`

use std::fs;

use rustix::process::Signal;

use crate::live::Live;
use crate::world::World;

const WAITING: &str = "Waiting for changes in pkg";

fn resource(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  x: foo\n")
}

fn world() -> World {
    let world = World::new();
    world.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: sed s/[f]oo/bar/\n",
    );
    world.write("pkg/a.yaml", &resource("a"));
    world.write(
        "pkg/sub/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
    );
    world
}

fn watch(world: &World, more: &[&str]) -> Live {
    let mut command = world.command("kiln", &world.work());
    command.args(["fn", "render", "pkg", "--allow-exec", "--watch"]);
    Live::start(command.args(more))
}

fn content(world: &World, path: &str) -> String {
    fs::read_to_string(world.work().join(path)).expect("a file")
}

#[test]
fn every_change_is_rendered_and_our_own_are_not() {
    let world = world();
    let mut live = watch(&world, &[]);
    let said = live.until(WAITING);
    assert!(said.contains("Successfully executed 1 function(s) in 2 package(s)."));
    assert!(content(&world, "pkg/a.yaml").contains("x: bar"));

    // A file of a sub-package that is new, in a directory that is new.
    world.write("pkg/sub/deep/b.yaml", &resource("b"));
    let said = live.until(WAITING);
    // Nothing but this change set it off: what the first render wrote did not.
    assert!(said.starts_with("Changed: sub/deep/b.yaml\n"), "{said}");
    assert!(
        content(&world, "pkg/sub/deep/b.yaml").contains("x: bar"),
        "{said}"
    );

    // A change that breaks something is told, and watching goes on.
    world.write("pkg/a.yaml", "a: b: c\n");
    let said = live.until(WAITING);
    assert!(said.starts_with("Changed: a.yaml\n"), "{said}");
    assert!(said.contains("a.yaml:1:"), "{said}");

    fs::remove_file(world.work().join("pkg/a.yaml")).expect("is there");
    let said = live.until(WAITING);
    assert!(said.starts_with("Changed: a.yaml\n"), "{said}");
    assert!(said.contains("Successfully executed"), "{said}");

    // The pipeline itself.
    let kptfile = content(&world, "pkg/Kptfile").replace("sed s/[f]oo/bar/", "sed s/[b]ar/baz/");
    world.write("pkg/Kptfile", &kptfile);
    let said = live.until(WAITING);
    assert!(said.starts_with("Changed: Kptfile\n"), "{said}");
    assert!(content(&world, "pkg/sub/deep/b.yaml").contains("x: baz"));

    live.signal(Signal::INT);
    let (code, rest) = live.end();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_while_functions_run_ends_it_too() {
    let world = world();
    world.write_program("fn.sh", "#!/bin/sh\necho $$ >started\nsleep 1000\n");
    let kptfile = content(&world, "pkg/Kptfile").replace("sed s/[f]oo/bar/", "./fn.sh");
    world.write("pkg/Kptfile", &kptfile);
    let mut live = watch(&world, &[]);
    live.until("[RUNNING]");
    live.signal(Signal::INT);
    assert_eq!(live.end().0, Some(0));
    assert!(content(&world, "pkg/a.yaml").contains("x: foo"));
}

#[test]
fn a_dry_run_can_be_watched_and_a_directory_that_goes_ends_it() {
    let world = world();
    let mut live = watch(&world, &["--dry-run", "--log-format=json"]);
    live.until("\"event\":\"waiting\"");
    assert!(content(&world, "pkg/a.yaml").contains("x: foo"));
    world.write("pkg/a.yaml", &resource("c"));
    let said = live.until("\"event\":\"waiting\"");
    assert!(said.contains("\"event\":\"changed\",\"file\":\"a.yaml\""));
    fs::remove_dir_all(world.work().join("pkg")).expect("is there");
    let (code, said) = live.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("pkg is gone"), "{said}");
}

#[test]
fn there_must_be_something_to_watch() {
    let world = World::new();
    let ran = world.kiln(&["fn", "render", "nope", "--watch"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}
