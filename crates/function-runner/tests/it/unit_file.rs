//! The unit of systemd: its command line, with the directories that it names in a temporary one.

use crate::program::{Runner, RunnerFiles};

const UNIT: &str = include_str!("../../../../deploy/function-runner.service");
const CONFIG: &str = include_str!("../../../../deploy/function-runner.config.yaml");

/// The words of `ExecStart` after the program.
fn arguments() -> Vec<String> {
    let unit = UNIT.replace("\\\n", " ");
    let command = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let words = command.expect("ExecStart").split_whitespace();
    words.skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_unit_starts_with_the_configuration_of_the_package() {
    let files = RunnerFiles::empty();
    files.config(CONFIG);
    // systemd makes it.
    assert!(UNIT.contains("\nCacheDirectory=function-runner\n"));
    let cache = files.path("cache/function-runner");
    std::fs::create_dir_all(&cache).expect("a directory");
    let config = files.path("config.yaml").display().to_string();
    let arguments = arguments();
    assert!(
        arguments.contains(&"--port=9445".to_owned()),
        "{arguments:?}"
    );
    let arguments = arguments.iter().map(|word| {
        word.replace("--port=9445", "--port=0")
            .replace("/etc/function-runner/config.yaml", &config)
            .replace("%C", &files.path("cache").display().to_string())
    });
    let mut command = files.command(&[]);
    command.args(arguments).env_clear();
    let runner = Runner::start(command);
    // The image evaluator has a store, although HOME is not set.
    runner.wait_for_log(&format!("from {}/images", cache.display()));
    let image = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1";
    let answer = runner.call(image).await.expect("a list");
    let text = String::from_utf8_lossy(&answer.resource_list);
    assert!(text.contains("namespace: there"), "{text}");
}
