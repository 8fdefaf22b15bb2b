//! Error messages of `kiln rpkg` and `kiln repo`: each reason once.

use crate::packages::GitEnvironment;

/// No part of a message after `error: ` is repeated. A verb for several revisions prints each failure where it happens
/// and once more in the end, as porchctl does; that end is what is looked at.
#[track_caller]
fn check_no_repetition(command: &str, printed: &str) {
    let (_, message) = printed
        .rsplit_once("error: ")
        .unwrap_or_else(|| panic!("{command} gives no reason: {printed}"));
    let mut sentences: Vec<&str> = message
        .split([':', ';', '\n', '('])
        .map(|sentence| sentence.trim_matches([' ', ')', '.', '"', '\'']))
        .filter(|sentence| sentence.split(' ').count() > 2)
        .collect();
    let count = sentences.len();
    assert!(!message.trim().is_empty(), "{command}");
    sentences.sort_unstable();
    sentences.dedup();
    assert_eq!(
        sentences.len(),
        count,
        "{command} repeats itself:\n{printed}"
    );
}

#[test]
fn every_reason_is_printed_once() {
    let Some(git_env) = GitEnvironment::new("every_reason_is_printed_once") else {
        return;
    };
    git_env.publish();
    git_env.run(
        "kiln rpkg clone up.p.v1 q --repository down 2>log
        kiln rpkg pull down.q.v1 broken; printf 'a: [\\n' > broken/Kptfile
        kiln rpkg pull down.q.v1 none; rm none/Kptfile
        kiln rpkg pull down.q.v1 failing
        printf 'pipeline:\\n  mutators:\\n    - exec: touch x\\n' >> failing/Kptfile
        kiln rpkg pull down.q.v1 stale; sed -i 's/resourceVersion:.*/resourceVersion: abc/' stale/.KptRevisionMetadata
        mkdir plain; git init --quiet --bare guarded.git
        kiln repo register guarded.git --create-branch
        kiln rpkg init p --repository guarded --workspace v1 2>log
        kiln rpkg pull guarded.p.v1 guarded; cp failing/Kptfile guarded/
        git init --quiet --bare gone.git; kiln repo register gone.git --create-branch; rm -r gone.git",
    );
    let commands = [
        "rpkg init Bad --repository up --workspace v1",
        "rpkg init a//b --repository up --workspace v1",
        "rpkg init --repository up --workspace v1 -- -x",
        "rpkg init new --repository up --workspace 'V 1'",
        "rpkg init p --repository up --workspace v1",
        "rpkg init p/q --repository up --workspace v1",
        "rpkg init p --repository gone --workspace v1",
        "rpkg init p --repository up --workspace v1 --repo plain",
        "rpkg init n --repository up --workspace v1 --function-runner-address nonsense://x",
        "rpkg clone up.p.v1 Bad --repository down",
        "rpkg clone up.p.v1 q --repository down",
        "rpkg clone up.p.v9 r --repository down",
        "rpkg clone nowhere.p.v9 r --repository down",
        "rpkg clone ./up.git/p@nothing r --repository down",
        "rpkg clone ./up.git/nothing r --repository down",
        "rpkg clone ./nothing.git/p r --repository down",
        "rpkg clone file:///nothing.git/p r --repository down",
        "rpkg clone ext::sh/x.git/p r --repository down",
        "rpkg clone --repository down -- -x/y.git/p r",
        "rpkg clone oci://127.0.0.1:1/UPPER:v1 r --repository down",
        "rpkg clone oci://127.0.0.1:1/x:v1 r --repository down",
        "rpkg copy up.p.v1 --workspace v1",
        "rpkg copy up.p.v1 --workspace V2",
        "rpkg copy up.p.v9 --workspace v2",
        "rpkg copy down.q.v1 --workspace v2",
        "rpkg copy up.p.main --workspace v2",
        "rpkg upgrade up.p.v1 --workspace v2",
        "rpkg upgrade down.q.v1 --workspace v2",
        "rpkg upgrade down.q.v9 --workspace v2",
        "rpkg upgrade --discover upstream down.q.v9",
        "rpkg get up.p.v9",
        "rpkg get --repo gone",
        "rpkg get --repo file:///nothing",
        "rpkg get down.q.v1 --show-kptfile --name q",
        "rpkg pull up.p.v9",
        "rpkg pull up.p.v1 plain",
        "rpkg push down.q.v1 nothing",
        "rpkg push down.q.v1 plain",
        "rpkg push down.q.v1 broken",
        "rpkg push down.q.v1 none",
        "rpkg push down.q.v1 failing",
        "rpkg push down.q.v1 stale",
        "rpkg push up.p.v1 failing",
        "rpkg push down.q.v1 - < /dev/null",
        "rpkg update down.q.v1 --condition G=Perhaps",
        "rpkg update down.q.v1 --label =",
        "rpkg update up.p.v1 --label a=b",
        "rpkg propose up.p.v1",
        "rpkg propose nowhere.p.v1",
        "rpkg approve down.q.v1",
        "rpkg reject down.q.v1",
        "rpkg propose-delete down.q.v1",
        "rpkg del up.p.v1",
        "rpkg diff up.p.v1 up.p.v9",
        "rpkg log up.p.v9",
        "repo register nothing",
        "repo register plain",
        "repo register file:///nothing",
        "repo register up.git --name other --branch other",
        "repo register up.git --name other --branch 'a b'",
        "repo register up.git --name other --branch=-x",
        "repo register up.git --name other --runner-timeout soon",
        "repo register up.git --name 'Bad Name'",
        "repo get nothing",
        "repo sync nothing",
        "repo sync gone",
        "repo unregister nothing",
    ];
    for command in commands {
        let printed = git_env.fail(&format!("kiln {command}"));
        check_no_repetition(command, &printed);
    }
    // A repository that takes nothing, and a package that cannot be rendered but is to be pushed.
    git_env.run(
        "printf '#!/bin/sh\\nexit 1\\n' > guarded.git/hooks/pre-receive; chmod +x guarded.git/hooks/pre-receive
        kiln repo unregister guarded; kiln repo register \"file://$PWD/guarded.git\"",
    );
    for command in [
        "rpkg init n --repository guarded --workspace v1",
        "rpkg push guarded.p.v1 guarded --push-on-render-failure",
    ] {
        let printed = git_env.fail(&format!("kiln {command}"));
        assert!(printed.contains("pre-receive hook declined"), "{printed}");
        check_no_repetition(command, &printed);
    }
}
