//! The CI/CD component of GitLab: its scripts, run by a shell as runners do.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::clean_root::{find, skipped};
use crate::release::{Release, SMALL_KILN, own_triple, version};

/// The lines of a script of the component: those of its block, or the command of its only line.
fn script(component: &str, name: &str) -> String {
    let heading = format!("  {name}:");
    let lines = component
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1);
    let lines = lines.take_while(|line| line.starts_with("    "));
    let lines = lines.map(|line| line.get(6..).unwrap_or_default());
    lines
        .filter(|line| *line != "|")
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_component_installs_a_release_and_checks_a_package() {
    if find("curl").is_none() {
        return skipped("the component of GitLab", "curl is not installed");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/kiln-render.yml");
    let component = fs::read_to_string(path).expect("a file");
    let scripts = ["before_script", "script", "after_script"].map(|name| script(&component, name));
    assert!(
        scripts.iter().all(|script| !script.is_empty()),
        "{scripts:?}"
    );
    let all = scripts.concat().replace("$[[ inputs.args ]]", "--quiet");
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    let work = tempfile::tempdir().expect("a directory");
    let project = work.path().join("project");
    fs::create_dir_all(project.join(".kiln-store/blobs")).expect("a directory");
    let run = |locked: &str| {
        let output = Command::new("sh")
            .args(["-euc", &all])
            .current_dir(&project)
            .env("KILN_PACKAGE", "my app")
            .env("KILN_LOCKED", locked)
            .env("KILN_VERSION", version())
            .env(
                "KILN_RELEASES",
                format!("file://{}", release.releases().display()),
            )
            .env("KILN_BIN", work.path().join("job/bin"))
            .env("KILN_STORE", work.path().join("job/store"))
            .output()
            .expect("sh");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let reports = "--report kiln.junit.xml --report kiln.codequality.json --report kiln.html";
    let expected = format!("kiln fn render my app --check {reports} --quiet\n");
    assert_eq!(run("false"), expected);
    let expected = format!("kiln fn render my app --check --locked {reports} --quiet\n");
    assert_eq!(run("true"), expected);
    // The cache of the next job.
    assert!(project.join(".kiln-store/blobs").is_dir());
}
