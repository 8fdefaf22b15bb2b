//! Programs of images start again, and at the same time.

use kiln_sandbox::ImagePolicy;

use crate::fixture::output_text;
use crate::image::{TestImage, finish, image_sandbox, run_image};

/// As after an attempt that found the program open for writing, or no new `/proc`.
#[test]
fn a_run_starts_again() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let process = image.process(&["create", "/tmp/file"]);
    let run = sandbox.prepare_run(&process, None).unwrap();
    for _ in 0..3 {
        assert_eq!(output_text(&finish(run.start().unwrap())), "done");
    }
}

/// Children share the memory of this process, and whether it is dumpable, until they execute their programs.
#[test]
fn starts_at_the_same_time_do_not_disturb_each_other() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let process = image.process(&["create", "/tmp/file"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(output_text(&run_image(&sandbox, &process)), "done");
                }
            });
        }
    });
}
