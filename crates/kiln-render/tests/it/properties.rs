//! What holds for every package and every pipeline.

use std::num::NonZeroUsize;

use kiln_krm::kptfile::{BFS_RENDERING, SAVE_ON_RENDER_FAILURE};
use kiln_krm::package::MemoryFiles;
use kiln_render::{ExternalFunctions, Jobs, RenderCompat};
use kiln_runtime::CancelToken;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::actions::Actions;
use crate::setup::{After, RenderSetup};
use crate::trees::{faulty, harmless};

/// The same cases every time.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

fn jobs() -> impl Strategy<Value = Jobs> {
    let external = prop_oneof![
        Just(ExternalFunctions::InOrder),
        Just(ExternalFunctions::Parallel)
    ];
    (2..6_usize, external).prop_map(|(count, external)| Jobs {
        count: NonZeroUsize::new(count).expect("is not zero"),
        external,
    })
}

fn compat() -> impl Strategy<Value = RenderCompat> {
    prop_oneof![Just(RenderCompat::Kiln), Just(RenderCompat::Kpt)]
}

fn annotations() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec![BFS_RENDERING, SAVE_ON_RENDER_FAILURE], 0..=2)
}

/// Renders with [`Actions`]; also gives those that were not native in the order in which they ran.
fn render(compat: RenderCompat, jobs: Jobs, files: MemoryFiles) -> (After, Vec<String>) {
    let actions = Actions::default();
    let setup = RenderSetup {
        compat,
        jobs,
        evaluator: &actions,
        cancel: CancelToken::new(),
    };
    let after = setup.render(files);
    let external = actions.external.lock().expect("not poisoned").clone();
    (after, external)
}

fn memory(after: &After) -> MemoryFiles {
    let mut memory = MemoryFiles::new();
    for (path, content) in &after.files {
        memory.insert(path.as_str(), content.as_bytes());
    }
    memory
}

/// How often a text is in the package.
fn count(after: &After, text: &str) -> usize {
    let counts = after.files.values().map(|file| file.matches(text).count());
    counts.sum()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn nothing_is_lost_and_nothing_comes_back(
        tree in harmless(),
        jobs in jobs(),
        compat in compat(),
        annotations in annotations(),
    ) {
        let expected = tree.build(&annotations);
        let (after, _) = render(compat, jobs, expected.files);
        prop_assert_eq!(after.rendered.error.as_ref(), None);
        for resource in expected.resources {
            let number = resource.number;
            let names = ["", "-x"].map(|suffix| {
                count(&after, &format!("name: r{number}{suffix} "))
                    + count(&after, &format!("name: r{number}{suffix}\n"))
                    + count(&after, &format!("\"name\": \"r{number}{suffix}\""))
            });
            let is_kept = usize::from(resource.is_kept);
            prop_assert_eq!(names.iter().sum::<usize>(), is_kept, "resource {}", number);
            // JSON has no comments.
            let is_json = count(&after, &format!("\"name\": \"r{number}")) > 0;
            if compat == RenderCompat::Kiln && !is_json {
                let comments = count(&after, &format!(" of {number};\n"));
                let expected = resource.comments * is_kept;
                prop_assert_eq!(comments, expected, "comments of resource {}", number);
            }
        }
        prop_assert_eq!(after.files.get("README.md").map(String::as_str), Some("# not a resource"));
        prop_assert_eq!(count(&after, "internal.config.kubernetes.io"), 0);
        prop_assert_eq!(count(&after, "config.k8s.io"), 0);
    }

    #[test]
    fn nothing_is_written_outside(tree in faulty(), jobs in jobs(), annotations in annotations()) {
        let (after, _) = render(RenderCompat::Kiln, jobs, tree.build(&annotations).files);
        for path in &after.changed {
            let is_inside = !path.starts_with('/') && path.split('/').all(|part| part != "..");
            prop_assert!(is_inside, "{}", path);
        }
        let saves = annotations.contains(&SAVE_ON_RENDER_FAILURE);
        if after.rendered.error.is_some() && !saves {
            prop_assert_eq!(&after.changed, &["Kptfile"]);
        }
    }

    #[test]
    fn a_second_render_changes_nothing(
        tree in harmless(),
        jobs in jobs(),
        annotations in annotations(),
    ) {
        let (first, _) = render(RenderCompat::Kiln, jobs, tree.build(&annotations).files);
        prop_assert_eq!(first.rendered.error.as_ref(), None);
        let (second, _) = render(RenderCompat::Kiln, jobs, memory(&first));
        prop_assert_eq!(second.rendered.error.as_ref(), None);
        let of_changed = |after: &After| -> Vec<String> {
            let files = second.changed.iter().map(|path| after.files.get(path).cloned());
            files.map(|file| file.unwrap_or_default()).collect()
        };
        prop_assert_eq!(of_changed(&first), of_changed(&second));
        prop_assert_eq!(&second.changed, &[""; 0]);
    }

    #[test]
    fn what_is_done_at_the_same_time_makes_no_difference(
        tree in faulty(),
        jobs in jobs(),
        compat in compat(),
        annotations in annotations(),
    ) {
        let files = || tree.build(&annotations).files;
        let (one, one_outside) = render(compat, Jobs::ONE, files());
        let (many, many_outside) = render(compat, jobs, files());
        prop_assert_eq!(one.events, many.events);
        prop_assert_eq!(one.files, many.files);
        prop_assert_eq!(one.changed, many.changed);
        prop_assert_eq!(&one.rendered.error, &many.rendered.error);
        prop_assert_eq!(&one.rendered.results, &many.rendered.results);
        prop_assert_eq!(one.rendered.functions, many.rendered.functions);
        prop_assert_eq!(one.rendered.packages, many.rendered.packages);
        if jobs.external == ExternalFunctions::InOrder {
            prop_assert_eq!(one_outside, many_outside);
        }
    }
}
