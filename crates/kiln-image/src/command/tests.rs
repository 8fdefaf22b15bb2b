//! Arguments, variables and users of images.

use kiln_oci::RunConfig;
use kiln_runtime::FunctionSpec;

use super::{Arguments, DEFAULT_PATH, environment, user, words};
use crate::image_files::Users;
use crate::options::ImageOptions;

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn arguments_replace_the_command_and_not_the_entrypoint() {
    let run = RunConfig {
        entrypoint: strings(&["function", "-v"]),
        cmd: strings(&["run"]),
        ..RunConfig::default()
    };
    assert_eq!(
        words(&run, Arguments::Default),
        strings(&["function", "-v", "run"])
    );
    assert_eq!(
        words(&run, Arguments::Help),
        strings(&["function", "-v", "--help"])
    );
}

#[test]
fn variables_of_the_function_win_and_nothing_else_of_ours_is_passed() {
    let run = RunConfig {
        env: strings(&["A=1", "A=2", "B=image", "BARE"]),
        ..RunConfig::default()
    };
    let mut function = FunctionSpec::image("x");
    function.env = strings(&["B=given", "C=given", "TOKEN", "MISSING"]);
    let options = ImageOptions {
        environment: vec![
            ("TOKEN".into(), "secret".into()),
            ("HOME".into(), "/ours".into()),
        ],
        ..ImageOptions::default()
    };
    let users = Users::parse(b"nobody:x:65534:65534::/home/nobody:/bin/false\n");
    let found = environment(&run, &function, &options, &users, 65534);
    let found: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(
        found,
        [
            "A=2",
            "B=given",
            "C=given",
            "HOME=/home/nobody",
            &format!("PATH={DEFAULT_PATH}"),
            "TOKEN=secret"
        ]
    );
    let nobody = environment(&run, &function, &options, &Users::parse(b""), 65534);
    assert!(nobody.contains(&("HOME".into(), "/".into())));
}

#[test]
fn the_user_is_nobody_unless_another_is_named() {
    let users = Users::parse(b"nobody:x:99:98::/:/bin/false\n");
    assert_eq!(user(&users, None).unwrap(), (99, 98));
    assert_eq!(user(&Users::parse(b""), None).unwrap(), (65534, 65534));
    assert_eq!(user(&users, Some("1000:1001")).unwrap(), (1000, 1001));
    assert!(user(&users, Some("name")).is_err());
}
