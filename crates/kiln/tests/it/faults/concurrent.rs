//! Other people, and other kiln commands, at work on the same package.

use std::fs;

use super::Job;
use crate::test_environment::Outcome;

const CHANGED: &str = "was changed by another process while functions ran; nothing was written";

/// Runs the job while its function, in the place of another program, does something to the package.
fn meanwhile(verb: &str, script: &str) -> (Job, Outcome) {
    let job = Job::new(verb);
    job.function(&format!("cat > /dev/null; {script}; cat answer.yaml"));
    let ran = job.test_env.kiln(job.args(), "");
    (job, ran)
}

#[test]
fn an_edit_made_meanwhile_is_not_lost() {
    for verb in ["render", "eval", "run"] {
        let (old, new) = Job::states(verb);
        // One file that is to be changed, one that is to be deleted, and one by renaming as editors do.
        for (path, script) in [
            ("a.yaml", "echo '# edited' >> pkg/a.yaml"),
            ("gone.yaml", "echo '# edited' >> pkg/gone.yaml"),
            (
                "b/c.yaml",
                "(cat pkg/b/c.yaml; echo '# edited') > c; mv c pkg/b/c.yaml",
            ),
        ] {
            let (job, ran) = meanwhile(verb, script);
            assert_eq!(ran.code, Some(1), "{verb}: {}", ran.stderr);
            let words = format!("{path} {CHANGED}");
            assert!(ran.stderr.contains(&words), "{}", ran.stderr);
            let mut wanted = old.clone();
            wanted.get_mut(path).expect("a file").push_str("# edited\n");
            assert_eq!(job.files(), wanted, "{verb}");
        }
        // A file that was not read does not matter, nor does one that has the new content already.
        let (job, ran) = meanwhile(verb, "echo >> pkg/README.md");
        assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        let mut wanted = new.clone();
        wanted.get_mut("README.md").expect("a file").push('\n');
        assert_eq!(job.files(), wanted, "{verb}");
    }
}

#[test]
fn a_package_that_changes_while_it_is_read_is_not_shown() {
    for output in [
        &["-o", "stdout"][..],
        &["-o", "unwrap"],
        &["-o", "out"],
        &["--dry-run"],
        &["--check"],
    ] {
        let job = Job::new("render");
        job.function("cat > /dev/null; echo '# edited' >> pkg/a.yaml; cat answer.yaml");
        let args: Vec<&str> = job.args().iter().chain(output).copied().collect();
        let ran = job.test_env.kiln(&args, "");
        assert_eq!(ran.code, Some(1), "{output:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(CHANGED), "{output:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{output:?}");
        assert!(!job.test_env.work().join("out").exists(), "{output:?}");
    }
}

#[test]
fn kpt_writes_over_edits_and_so_does_its_compatibility() {
    let job = Job::new("eval");
    job.function("cat > /dev/null; echo '# edited' >> pkg/a.yaml; cat answer.yaml");
    let args: Vec<&str> = ["--compat=kpt"].iter().chain(job.args()).copied().collect();
    let ran = job.test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!job.files()["a.yaml"].contains("edited"));
}

#[test]
fn a_package_that_is_removed_or_replaced_is_not_made_anew() {
    for verb in ["render", "eval", "run"] {
        for script in ["rm -r pkg", "mv pkg old", "mv pkg old; cp -r old pkg"] {
            let (job, ran) = meanwhile(verb, script);
            assert_eq!(ran.code, Some(1), "{verb} {script}: {}", ran.stderr);
            let words = "pkg was moved or removed while functions ran; nothing was written";
            assert!(
                ran.stderr.contains(words),
                "{verb} {script}: {}",
                ran.stderr
            );
            let (old, _) = Job::states(verb);
            match script.contains("cp") {
                true => assert_eq!(job.files(), old, "{verb} {script}"),
                false => assert!(!job.target().exists(), "{verb} {script}"),
            }
        }
    }
}

#[test]
fn a_function_may_use_kiln_on_the_package_that_it_works_for() {
    for verb in ["render", "eval", "run"] {
        let (job, ran) = meanwhile(verb, "kiln fn source pkg > seen");
        assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        let seen = fs::read_to_string(job.test_env.work().join("seen")).expect("a file");
        assert!(seen.contains("value: old"), "{seen}");
        // One that writes to it does not have to wait either; then the outer command is based on an old state.
        let inner = "kiln fn eval pkg --exec \"sed s/old/inner/\" 2> printed";
        let (job, ran) = meanwhile(verb, inner);
        assert_eq!(ran.code, Some(1), "{verb}: {}", ran.stderr);
        assert!(ran.stderr.contains(CHANGED), "{}", ran.stderr);
        assert!(job.files()["a.yaml"].contains("inner"));
    }
}

/// Starts the job several times at once; no function ends before all have begun.
fn at_once(job: &Job, count: usize) -> Vec<Outcome> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn(move || {
                    let (number, count) = (number.to_string(), count.to_string());
                    let variables = [("NUMBER", number.as_str()), ("COUNT", count.as_str())];
                    let script = format!("exec kiln {}", job.args().join(" "));
                    job.test_env
                        .shell(&job.test_env.work(), &script, &variables)
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Outcome>| thread.join();
        threads
            .into_iter()
            .map(|thread| join(thread).expect("no panic"))
            .collect()
    })
}

/// Part of a function: waits until all of its kind run.
const ALL_RUN: &str = "cat > /dev/null; touch runs.$NUMBER; \
                       while [ $(ls | grep -c '^runs') -lt $COUNT ]; do sleep 0.02; done";

#[test]
fn of_two_conflicting_commands_one_wins_and_the_other_fails() {
    for verb in ["render", "eval", "run"] {
        let job = Job::new(verb);
        job.function(&format!("{ALL_RUN}; sed \"s/new/of $NUMBER/\" answer.yaml"));
        let ran = at_once(&job, 2);
        let winner = usize::from(ran[0].code != Some(0));
        let loser = 1 - winner;
        assert_eq!(ran[winner].code, Some(0), "{verb}: {ran:?}");
        assert_eq!(ran[loser].code, Some(1), "{verb}: {ran:?}");
        assert!(ran[loser].stderr.contains(CHANGED), "{}", ran[loser].stderr);
        let now = job.files();
        let (mut wanted, _) = Job::states(verb);
        wanted.remove("gone.yaml");
        for path in ["a.yaml", "b/c.yaml", "d/e/f.yaml"] {
            assert!(
                now[path].contains(&format!("of {winner}")),
                "{path}: {now:#?}"
            );
            wanted.insert(path.into(), now[path].clone());
        }
        wanted.insert("Kptfile".into(), now["Kptfile"].clone());
        assert_eq!(now, wanted, "{verb}: nothing is left over");
    }
}

#[test]
fn commands_with_the_same_aim_do_not_mind_each_other() {
    for verb in ["render", "eval", "run"] {
        let (_, new) = Job::states(verb);
        let job = Job::new(verb);
        job.function(&format!("{ALL_RUN}; cat answer.yaml"));
        for ran in at_once(&job, 5) {
            assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        }
        assert_eq!(job.files(), new, "{verb}");
    }
}
