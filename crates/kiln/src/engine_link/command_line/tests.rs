//! Command lines as kustomize and kpt send them, and lines that are left to a real engine.

use super::*;

fn parse_line(line: &str) -> Result<EngineCommand, UnknownWord> {
    let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
    parse(&words)
}

#[track_caller]
fn run_command(line: &str) -> RunCommand {
    match parse_line(line) {
        Ok(EngineCommand::Run(command)) => command,
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn check_unknown(line: &str, word: &str) {
    assert_eq!(parse_line(line), Err(unknown(word)), "{line}");
}

fn function(image: &str) -> RunCommand {
    RunCommand {
        image: image.to_owned(),
        is_help: false,
        files: None,
        network: Network::None,
        user: None,
        mounts: Vec::new(),
        env: Vec::new(),
        pull_policy: PullPolicy::IfNotPresent,
        sender: LineSender::FunctionTool,
    }
}

fn bind(source: &str, target: &str) -> Mount {
    Mount {
        kind: "bind".to_owned(),
        source: source.to_owned(),
        target: target.to_owned(),
        writable: false,
    }
}

const KUSTOMIZE: &str = "run --rm -i -a STDIN -a STDOUT -a STDERR --network none --user nobody \
     --security-opt=no-new-privileges";
const KPT: &str = "run --rm -i --network none --user nobody --security-opt=no-new-privileges";
const VARIABLES: [&str; 2] = ["LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"];

#[test]
fn the_lines_of_kustomize() {
    let plain = run_command(&format!(
        "{KUSTOMIZE} -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true example.com/fn:v1"
    ));
    let expected = RunCommand {
        env: VARIABLES.map(str::to_owned).to_vec(),
        ..function("example.com/fn:v1")
    };
    assert_eq!(plain, expected);

    let full = run_command(
        "run --rm -i -a STDIN -a STDOUT -a STDERR --network host --user 1000:100 --security-opt=no-new-privileges \
         --mount type=bind,source=/src/schemas,target=/schemas,readonly --mount type=bind,source=/src/out,target=/out \
         --mount type=tmpfs,source=,target=/scratch --mount type=tmpfs,source=,target=/empty,readonly \
         -e LOG_TO_STDERR=true -e MODE=a=b -e STRUCTURED_RESULTS=true -e TOKEN example.com/fn@sha256:00",
    );
    let expected = RunCommand {
        network: Network::Host,
        user: Some("1000:100".to_owned()),
        mounts: vec![
            bind("/src/schemas", "/schemas"),
            Mount {
                writable: true,
                ..bind("/src/out", "/out")
            },
            Mount {
                kind: "tmpfs".to_owned(),
                writable: true,
                ..bind("", "/scratch")
            },
            Mount {
                kind: "tmpfs".to_owned(),
                ..bind("", "/empty")
            },
        ],
        env: [
            "LOG_TO_STDERR=true",
            "MODE=a=b",
            "STRUCTURED_RESULTS=true",
            "TOKEN",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..function("example.com/fn@sha256:00")
    };
    assert_eq!(full, expected);
}

#[test]
fn the_lines_of_kpt() {
    for (word, pull_policy) in [
        ("missing", PullPolicy::IfNotPresent),
        ("always", PullPolicy::Always),
        ("never", PullPolicy::Never),
    ] {
        let command = run_command(&format!(
            "{KPT} --pull {word} gcr.io/kpt-fn/set-labels:v0.2.0"
        ));
        let expected = RunCommand {
            pull_policy,
            ..function("gcr.io/kpt-fn/set-labels:v0.2.0")
        };
        assert_eq!(command, expected, "{word}");
    }
    let help = RunCommand {
        is_help: true,
        sender: LineSender::Unknown,
        ..function("example.com/fn:v1")
    };
    // kpt 1.0.0-beta.56 sends the second one.
    for line in [
        "run --rm -i example.com/fn:v1 --help",
        "run --rm example.com/fn:v1 --help",
    ] {
        assert_eq!(run_command(line), help, "{line}");
    }
    for (line, expected) in [
        (
            "version --format {{.Client.Version}}",
            EngineCommand::ClientVersion,
        ),
        (
            "version --format={{.Client.Version}}",
            EngineCommand::ClientVersion,
        ),
        ("version", EngineCommand::Version),
        ("--version", EngineCommand::About),
        ("info", EngineCommand::Info),
        ("ps", EngineCommand::Processes),
        (
            "image ls --filter reference=gcr.io/kpt-fn/set-labels --format {{.Tag}}",
            EngineCommand::Tags {
                image: "gcr.io/kpt-fn/set-labels".to_owned(),
            },
        ),
        (
            "pull example.com/fn:v1",
            EngineCommand::Pull {
                image: "example.com/fn:v1".to_owned(),
            },
        ),
        (
            "image pull example.com/fn:v1",
            EngineCommand::Pull {
                image: "example.com/fn:v1".to_owned(),
            },
        ),
        (
            "image inspect example.com/fn:v1",
            EngineCommand::Inspect {
                image: "example.com/fn:v1".to_owned(),
            },
        ),
    ] {
        assert_eq!(parse_line(line), Ok(expected), "{line}");
    }
    // kpt writes its template with blanks, which a shell would keep together.
    let words = [
        "image",
        "ls",
        "--format",
        "{{ .Tag }}",
        "--filter",
        "reference=x",
    ];
    let tags = parse(&words.map(OsString::from));
    let image = "x".to_owned();
    assert_eq!(tags, Ok(EngineCommand::Tags { image }));
}

#[test]
fn flags_come_in_any_order_and_form() {
    let expected = RunCommand {
        env: vec!["A=b=c".to_owned()],
        ..function("x")
    };
    for line in [
        "run --security-opt no-new-privileges --user=nobody --network=none --env=A=b=c --interactive --rm x",
        "run --interactive=true --rm=true --env A=b=c -u nobody --network none --security-opt=no-new-privileges \
         --attach=stdin x",
    ] {
        assert_eq!(run_command(line), expected, "{line}");
    }
}

#[test]
fn a_line_without_a_restriction_may_be_from_a_user() {
    for line in [
        "run --rm -i x",
        "run --rm -i --network none x",
        "run --rm -i --network none --user nobody x",
        "run --rm -i --user nobody --security-opt=no-new-privileges x",
    ] {
        assert_eq!(run_command(line).sender, LineSender::Unknown, "{line}");
    }
    assert_eq!(
        run_command(&format!("{KPT} x")).sender,
        LineSender::FunctionTool
    );
}

#[test]
fn a_built_in_function_may_have_flags_of_its_own() {
    let image = "gcr.io/kpt-fn/gatekeeper:latest";
    let files = |line: &str| run_command(line).files;
    let mut expected = FunctionFiles {
        input: "in/a.json".to_owned(),
        output: "/in/b.json".to_owned(),
        is_json: false,
    };
    let line = format!("run --rm -v /work:/in {image} --input in/a.json --output=/in/b.json");
    assert_eq!(files(&line), Some(expected.clone()));
    let mount = Mount {
        writable: true,
        ..bind("/work", "/in")
    };
    assert_eq!(run_command(&line).mounts, [mount]);
    expected.is_json = true;
    assert_eq!(files(&format!("{line} --json")), Some(expected));
    check_unknown(&format!("{line} --yaml"), "-v");
    check_unknown(&format!("run --rm -i {image} --input a"), "--input");
    let other = line.replace("gatekeeper", "set-labels");
    check_unknown(&other, "-v");
    check_unknown(&line.replace("/work:", "work:"), "-v work:/in");
}

#[test]
fn every_other_word_is_unknown() {
    for (line, word) in [
        ("build .", "build"),
        ("compose up", "compose"),
        ("pull", "pull"),
        ("pull -q x", "-q"),
        ("pull x y", "x"),
        ("image", "image"),
        ("image prune", "prune"),
        ("image pull", "pull"),
        ("image pull -q x", "pull"),
        ("image inspect -f x", "inspect"),
        ("image ls", "a command without --filter"),
        (
            "image ls --filter reference=x",
            "a command without --format",
        ),
        (
            "image ls --filter dangling=true --format {{.Tag}}",
            "dangling=true",
        ),
        ("image ls --filter reference=x --format {{.ID}}", "{{.ID}}"),
        ("image ls --quiet", "--quiet"),
        (
            "version --format {{.Server.Version}}",
            "{{.Server.Version}}",
        ),
        ("version --format", "--format"),
        ("run", "run without --rm"),
        ("run x", "run without --rm"),
        ("run --rm x", "run without -i"),
        ("run --rm -i", "run without an image"),
        ("run -ti --rm x", "-ti"),
        ("run -it --rm x", "-it"),
        ("run --rm -i -t x", "-t"),
        ("run --rm -i -d x", "-d"),
        ("run --rm -i --privileged x", "--privileged"),
        ("run --rm -i -v /:/host x", "-v"),
        ("run --rm=false -i x", "--rm=false"),
        ("run --rm -i --network bridge x", "--network bridge"),
        ("run --rm -i --network=bridge x", "--network=bridge"),
        ("run --rm -i --user root x", "--user root"),
        ("run --rm -i --user 1:x x", "--user 1:x"),
        ("run --rm -i --pull sometimes x", "--pull sometimes"),
        ("run --rm -i -a tty x", "-a tty"),
        ("run --rm -i -e =x x", "-e =x"),
        (
            "run --rm -i --security-opt seccomp=unconfined x",
            "--security-opt seccomp=unconfined",
        ),
        (
            "run --rm -i --security-opt=seccomp=unconfined x",
            "--security-opt=seccomp=unconfined",
        ),
        ("run --rm -i --user", "--user"),
        ("run --rm -i x sh -c id", "sh"),
        ("run --rm -i x --help --verbose", "--help"),
    ] {
        check_unknown(line, word);
    }
    for mount in [
        "type=volume,source=data,target=/data",
        "source=/a,target=/b",
        "type=bind,source=a,target=/b",
        "type=bind,source=/a,target=b",
        "type=bind,source=/a",
        "type=bind,source=/a,target=/b,bind-propagation=shared",
        "type=bind,source=/a,target=/b,readonly=maybe",
        "type=bind,\"source=/a,x\",target=/b",
        "type=tmpfs,source=/a,target=/b",
        "",
    ] {
        let words = ["run", "--rm", "-i", "--mount", mount, "x"];
        let parsed = parse(&words.map(OsString::from));
        assert_eq!(parsed, Err(unknown(format!("--mount {mount}"))));
    }
}

#[test]
fn a_word_that_is_not_utf_8_is_unknown() {
    use std::os::unix::ffi::OsStringExt;
    let words = [OsString::from("run"), OsString::from_vec(vec![b'-', 0xff])];
    assert_eq!(parse(&words), Err(unknown("-\u{fffd}")));
}
