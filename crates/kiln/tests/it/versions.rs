//! Ranges of versions in a Kptfile: who is asked which there are, and what is made of the answers.

use std::fs;

use crate::package_images::registry::TestRegistry;
use crate::world::{Outcome, World, run};

/// An engine that has some tags of an image, and tells which image it is to run.
const ENGINE: &str = "#!/bin/sh
here=$(dirname \"$0\")
case \"$1\" in
version) echo 99.0.0 ;;
image) cat \"$here/tags\" ;;
run) for image; do :; done; echo \"$image\" >>\"$here/ran\"; cat ;;
esac
";

/// A package with a function of some image and range, and an engine.
fn world(image: &str, range: &str, local: &str) -> World {
    let world = World::new();
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - image: {image}\n    tag: '{range}'\n"
    );
    world.write("pkg/Kptfile", &kptfile);
    world.write("../bin/tags", local);
    world.write_program("../bin/docker", ENGINE);
    world
}

fn render(world: &World, flags: &[&str]) -> Outcome {
    let mut command = world.command("kiln", &world.work());
    let words = [&["fn", "render", "pkg"], flags].concat();
    run(command.args(words).env("DOCKER_CONFIG", world.work()), "")
}

/// What the engine ran.
fn ran(world: &World) -> String {
    let ran = fs::read_to_string(world.bin().join("ran"));
    ran.unwrap_or_default().trim().to_owned()
}

fn registry(tags: &str) -> TestRegistry {
    let registry = TestRegistry::scripted();
    let body = format!("{{\"name\":\"team/fn\",\"tags\":{tags}}}");
    registry.say("/v2/team/fn/tags/list", "application/json", &body);
    registry
}

const TAGS: &str =
    r#"["latest","v1.0.0","v1.2.0","v1.3.0-rc1","sha256-0a.sig","v1.9.0-git-abc","v2.0.0"]"#;

#[test]
fn the_registry_is_asked_for_versions() {
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    for (range, local, best) in [
        ("~1", "", "v1.2.0"),
        (">=1, <3", "", "v2.0.0"),
        ("^1", "v1.1.0\nv1.5.0\n<none>\n", "v1.5.0"),
        ("^1", "v1.1.0\n", "v1.2.0"),
        ("1.0 - 1.1", "", "v1.0.0"),
    ] {
        let world = world(&image, range, local);
        let rendered = render(&world, &[]);
        assert_eq!(rendered.code, Some(0), "{rendered:?}");
        assert_eq!(ran(&world), format!("{image}:{best}"), "{range}");
        let kptfile = fs::read_to_string(world.work().join("pkg/Kptfile")).expect("a file");
        assert!(
            kptfile.contains(&format!("image: {image}:{best}")),
            "{kptfile}"
        );
    }
}

#[test]
fn what_there_is_not_is_said() {
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    let none = render(&world(&image, "~3", ""), &[]);
    assert_eq!(none.code, Some(1));
    let said = "no tag could be found matching the version constraint \"~3\"";
    assert!(none.stderr.contains(said), "{none:?}");
    assert!(
        none.stderr.contains("name a version that there is"),
        "{none:?}"
    );
    let missing = format!("{}/team/other", registry.host);
    let missing = render(&world(&missing, "~1", ""), &[]);
    assert!(
        missing.stderr.contains(said.trim_end_matches("\"~3\"")),
        "{missing:?}"
    );
    assert!(
        missing.stderr.contains("is not in the registry"),
        "{missing:?}"
    );
    // kpt says no more than that.
    let kpt = render(&world(&image, "~3", ""), &["--compat=kpt"]);
    assert!(
        kpt.stderr.contains(said) && !kpt.stderr.contains("hint"),
        "{kpt:?}"
    );
}

#[test]
fn without_the_registry_there_is_what_is_here() {
    // Nobody listens there.
    let image = "127.0.0.1:1/team/fn";
    let away = world(image, "^1", "v1.1.0\n");
    let rendered = render(&away, &[]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&away), format!("{image}:v1.1.0"));
    // Who pulls nothing has no use for what is elsewhere.
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    let never = world(&image, "^1", "v1.1.0\n");
    let rendered = render(&never, &["--image-pull-policy=Never"]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&never), format!("{image}:v1.1.0"));
}

#[test]
fn what_is_built_in_needs_nobody_else() {
    let world = world("set-labels", "~0.2", "v0.2.9\n");
    world.write(
        "pkg/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n",
    );
    let kptfile = fs::read_to_string(world.work().join("pkg/Kptfile")).expect("a file");
    world.write(
        "pkg/Kptfile",
        &format!("{kptfile}    configMap:\n      a: b\n"),
    );
    let rendered = render(&world, &[]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&world), "");
    assert!(
        rendered.stderr.contains("set-labels:v0.2.5"),
        "{rendered:?}"
    );
}
