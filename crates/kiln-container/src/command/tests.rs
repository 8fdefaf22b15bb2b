//! Exact command lines.

use super::*;

#[track_caller]
fn check(options: &ContainerOptions, function: &FunctionSpec, name: Option<&str>, expected: &str) {
    let arguments = run_arguments(options, function, name, None);
    assert_eq!(arguments.join(" "), expected);
}

fn options(style: CommandStyle) -> ContainerOptions {
    ContainerOptions {
        style,
        ..ContainerOptions::default()
    }
}

fn reaching() -> FunctionSpec {
    FunctionSpec {
        network: Network::Host,
        env: ["Z=1", "HOME", "A=x=y", "Z=2", "HOME", "B="]
            .map(str::to_owned)
            .to_vec(),
        ..FunctionSpec::image("example.com/x:v1")
    }
}

#[test]
fn the_least_that_a_function_gets() {
    check(
        &options(CommandStyle::Kpt),
        &FunctionSpec::image("example.com/x:v1"),
        None,
        "run --rm -i --network none --user nobody --security-opt=no-new-privileges --pull missing \
         example.com/x:v1",
    );
}

#[test]
fn the_most_that_a_function_gets() {
    let options = ContainerOptions {
        pull_policy: PullPolicy::Never,
        mounts: vec![
            Mount::parse("type=bind,src=/a,dst=/b"),
            Mount::parse("type=volume,source=v,target=/c,rw=true,x,y=z"),
        ],
        user: Some("7:8".to_owned()),
        ..options(CommandStyle::Kpt)
    };
    check(
        &options,
        &reaching(),
        None,
        "run --rm -i --network host --user 7:8 --security-opt=no-new-privileges --pull never \
         --mount type=bind,source=/a,target=/b,readonly --mount type=volume,source=v,target=/c \
         -e A=x=y -e B= -e Z=2 -e HOME example.com/x:v1",
    );
}

#[test]
fn the_older_command_attaches_and_sets_two_variables() {
    check(
        &options(CommandStyle::Legacy),
        &reaching(),
        None,
        "run --rm -i -a STDIN -a STDOUT -a STDERR --network host --user nobody \
         --security-opt=no-new-privileges -e A=x=y -e B= -e LOG_TO_STDERR=true \
         -e STRUCTURED_RESULTS=true -e Z=2 -e HOME example.com/x:v1",
    );
}

#[test]
fn the_older_command_may_have_a_name() {
    let options = options(CommandStyle::NamedLegacy);
    let arguments = run_arguments(&options, &FunctionSpec::image("x"), Some("kiln-7"), None);
    assert_eq!(
        arguments.join(" "),
        "run --rm -i -a STDIN -a STDOUT -a STDERR --name kiln-7 --network none --user nobody \
         --security-opt=no-new-privileges -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true x"
    );
}

#[test]
fn our_own_has_a_name_and_perhaps_a_limit() {
    let arguments = run_arguments(
        &options(CommandStyle::Kiln),
        &FunctionSpec::image("x"),
        Some("kiln-7"),
        Some(1024),
    );
    assert_eq!(
        arguments.join(" "),
        "run --rm -i --name kiln-7 --network none --user nobody --security-opt=no-new-privileges \
         --pull missing --memory 1024 x"
    );
}

#[test]
fn policies_are_named_in_any_case() {
    assert_eq!(PullPolicy::parse("ALWAYS"), Some(PullPolicy::Always));
    assert_eq!(
        PullPolicy::parse("ifnotpresent"),
        Some(PullPolicy::IfNotPresent)
    );
    assert_eq!(PullPolicy::parse("Never"), Some(PullPolicy::Never));
    assert_eq!(PullPolicy::parse("missing"), None);
    assert_eq!(pull_word(PullPolicy::Always), "always");
}
