//! Functions that misbehave.

use super::{Job, answer, config_map, without_status};

/// Asserts that a failing function changes nothing but the status, and that all commands print this message.
fn check_fails(script: &str, words: &[&str]) {
    for verb in ["render", "eval", "run"] {
        let job = Job::new(verb);
        job.function(script);
        let old = job.files();
        let ran = job.test_env.kiln(job.args(), "");
        assert_eq!(ran.code, Some(1), "{verb} {script}: {}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{verb} {word:?}: {}", ran.stderr);
        }
        let now = job.files();
        let is_reported = now
            .get("Kptfile")
            .is_some_and(|text| text.contains("RenderFailed"));
        assert_eq!(is_reported, verb == "render", "{now:#?}");
        assert_eq!(without_status(now), old, "{verb} {script}");
    }
}

#[test]
fn killed_by_a_signal() {
    check_fails(
        "cat answer.yaml; kill -9 $$",
        &["./function", "signal: killed"],
    );
    check_fails("kill -SEGV $$", &["segmentation fault"]);
}

#[test]
fn failing_after_a_whole_answer() {
    check_fails(
        "cat > /dev/null; cat answer.yaml; echo oh no >&2; exit 3",
        &["oh no", "3"],
    );
}

#[test]
fn an_answer_that_is_cut_off() {
    check_fails("cat > /dev/null; head -c 200 answer.yaml; exit 1", &["1"]);
}

#[test]
fn writing_a_gigabyte() {
    check_fails(
        "cat > /dev/null; head -c 1073741824 /dev/zero",
        &["536870912", "--max-output"],
    );
}

#[test]
fn limits_that_are_asked_for() {
    for verb in ["render", "eval", "run"] {
        for (script, flag, words) in [
            (
                "echo x; exec sleep 600",
                "--timeout=200ms",
                "did not finish within 200ms",
            ),
            ("yes", "--max-output=64K", "wrote more than 65536 bytes"),
        ] {
            let job = Job::new(verb);
            job.function(script);
            let old = job.files();
            let args: Vec<&str> = job.args().iter().copied().chain([flag]).collect();
            let ran = job.test_env.kiln(&args, "");
            assert_eq!(ran.code, Some(1), "{verb} {flag}: {}", ran.stderr);
            assert!(ran.stderr.contains(words), "{verb}: {}", ran.stderr);
            let (name, _) = flag.split_once('=').expect("a value");
            assert!(ran.stderr.contains(name), "{verb}: {}", ran.stderr);
            assert_eq!(without_status(job.files()), old, "{verb} {flag}");
        }
    }
}

#[test]
fn never_reading_much_input() {
    for verb in ["render", "eval", "run"] {
        let job = Job::new(verb);
        let long = "x".repeat(4 << 20);
        job.test_env
            .write("pkg/long.yaml", &config_map("long", &long));
        job.function("cat answer.yaml");
        let ran = job.test_env.kiln(job.args(), "");
        assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        let now = job.files();
        assert!(
            !now.contains_key("long.yaml") && now.contains_key("d/e/f.yaml"),
            "{verb}"
        );
    }
}

#[test]
fn reading_nothing_and_saying_nothing() {
    check_fails("exec 0<&- 1>&- 2>&-; exit 1", &["./function"]);
}

#[test]
fn ten_thousand_resources() {
    for verb in ["render", "eval", "run"] {
        let job = Job::new(verb);
        for file in 0..100 {
            let all: Vec<String> = (0..100)
                .map(|number| config_map(&format!("n{file}-{number}"), "old"))
                .collect();
            job.test_env
                .write(&format!("pkg/many/f{file}.yaml"), &all.join("---\n"));
        }
        let old = job.files();
        job.function("sed 's/value: old/value: new/'");
        let ran = job.test_env.kiln(job.args(), "");
        assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        let mut wanted = old;
        for content in wanted.values_mut() {
            *content = content.replace("value: old", "value: new");
        }
        assert!(without_status(job.files()) == wanted, "{verb}");
    }
}

#[test]
fn an_answer_of_ten_thousand_resources() {
    let mut list = answer();
    let item = list
        .split("- apiVersion")
        .nth(1)
        .expect("an item")
        .to_owned();
    for number in 0..10_000 {
        let item = item.replace("name: a", &format!("name: n{number}"));
        list.push_str(&format!(
            "- apiVersion{}",
            item.replace("a.yaml", &format!("n/{number}.yaml"))
        ));
    }
    let job = Job::new("render");
    job.test_env.write("answer.yaml", &list);
    let ran = job.test_env.kiln(job.args(), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let made = job
        .files()
        .keys()
        .filter(|path| path.starts_with("n/"))
        .count();
    assert_eq!(made, 10_000);
}
