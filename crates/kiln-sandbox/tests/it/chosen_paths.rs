//! Paths that an image chooses: they lead to its own files, or nowhere (CVE-2024-21626, CVE-2019-5736).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use kiln_sandbox::{ImageMount, ImagePolicy, ImageProcess, MountAccess};

use crate::fixture::{TestDirectory, output_text, set_mode};
use crate::image::{TestImage, image_sandbox, refusal, run_image};

/// A directory of this machine that this process has open, as it has those of its image store.
struct OpenDirectory {
    directory: TestDirectory,
    open: File,
    root: File,
}

impl OpenDirectory {
    fn new() -> OpenDirectory {
        let directory = TestDirectory::new();
        set_mode(directory.path(), 0o777);
        directory.file("secret");
        OpenDirectory {
            open: File::open(directory.path()).unwrap(),
            root: File::open("/").unwrap(),
            directory,
        }
    }

    /// The links by which a process that has the same open files reaches it, and the root of this machine.
    fn links(&self) -> [String; 4] {
        let (open, root) = (self.open.as_raw_fd(), self.root.as_raw_fd());
        let path = self.directory.path().display();
        [
            format!("/proc/self/fd/{open}"),
            format!("/proc/self/fd/{root}"),
            format!("/proc/1/fd/{root}{path}"),
            format!("/dev/fd/{open}"),
        ]
    }
}

/// Each way by which an image or the user names a path.
const CHOICES: [fn(&mut ImageProcess, &str); 4] = [
    |process, path| process.directory = path.into(),
    |process, path| process.writable.push(path.into()),
    |process, path| process.program = path.into(),
    |process, path| {
        process.mounts.push(ImageMount {
            source: "/etc".into(),
            target: path.into(),
            access: MountAccess::ReadOnly,
        });
    },
];

#[test]
fn no_path_leads_through_the_open_files_of_the_parent() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let outside = OpenDirectory::new();
    for path in outside.links() {
        for choose in CHOICES {
            let image = TestImage::new();
            let mut process = image.process(&["list", "."]);
            choose(&mut process, &path);
            let error = refusal(&sandbox, &process);
            assert!(error.contains("which the image cannot choose"), "{error}");
        }
    }
}

/// The image has links where this sandbox looks for a directory, and what the links lead to exists only while it runs.
#[test]
fn no_link_of_an_image_leads_through_the_open_files_of_the_parent() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let outside = OpenDirectory::new();
    for path in outside.links() {
        let image = TestImage::new();
        symlink(&path, image.root().join("link")).unwrap();
        let mut process = image.process(&["list", "."]);
        process.directory = "/link".into();
        let error = refusal(&sandbox, &process);
        assert!(error.contains("working directory"), "{error}");
        let mut process = image.process(&[]);
        process.program = "/link".into();
        let error = refusal(&sandbox, &process);
        assert!(error.contains("cannot start the program"), "{error}");
        // What is missing in the image is added in memory, in place of the link.
        let mut process = image.process(&["create", "/link/file"]);
        process.writable.push("/link".into());
        assert_eq!(output_text(&run_image(&sandbox, &process)), "done");
        assert!(!outside.directory.path().join("file").exists());
    }
}

#[test]
fn links_to_what_the_sandbox_mounts_are_refused() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    // With files in the place of those of the kernel, as a layer can have them.
    std::fs::create_dir_all(image.root().join("proc/self/cwd")).unwrap();
    std::fs::write(image.root().join("proc/self/exe"), "").unwrap();
    symlink("/proc/self", image.root().join("link")).unwrap();
    for path in ["/link/cwd", "/link/exe", "/link/new", "/dev", "/sys/new"] {
        for choose in CHOICES {
            let mut process = image.process(&["list", "."]);
            choose(&mut process, path);
            let error = refusal(&sandbox, &process);
            assert!(error.contains("which the image cannot choose"), "{error}");
        }
    }
}

/// Neither ours, which is the parent's until exec, nor one behind a link that is missing in the image.
#[test]
fn the_program_is_a_file_of_the_image() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    symlink("/proc/self/exe", image.root().join("link")).unwrap();
    let mut process = image.process(&[]);
    process.program = "/proc/self/exe".into();
    let error = refusal(&sandbox, &process);
    assert!(error.contains("which the image cannot choose"), "{error}");
    process.program = "/link".into();
    let error = refusal(&sandbox, &process);
    let is_link = error.contains(&format!("os error {})", libc::ELOOP));
    assert!(
        is_link && error.starts_with("cannot start the program"),
        "{error}"
    );
}

/// While the root changes, the old one is on top of the new one, and `..` leads from one to the other.
#[test]
fn paths_with_parents_stay_in_the_image() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    symlink("../../..", image.root().join("up")).unwrap();
    let outside = TestDirectory::new();
    let file = outside.file("file");
    for up in ["/..", "/../../..", "/up", "/up/.."] {
        let mut process = image.process(&["create", "/empty/file"]);
        process.writable.push(format!("{up}/empty").into());
        process.directory = format!("{up}/data").into();
        assert_eq!(output_text(&run_image(&sandbox, &process)), "done", "{up}");
        let mut process = image.process(&["read", "/data/file"]);
        process.mounts = vec![ImageMount {
            source: (&file).into(),
            target: format!("{up}/data/file").into(),
            access: MountAccess::ReadOnly,
        }];
        assert_eq!(output_text(&run_image(&sandbox, &process)), "done", "{up}");
    }
}

/// A writable directory hides what the image has in it.
#[test]
fn directories_below_writable_ones_are_made_in_memory() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    std::fs::create_dir_all(image.root().join("tmp/hidden/deeper")).unwrap();
    for path in ["/tmp/hidden", "/tmp/hidden/deeper", "/tmp/new/deeper"] {
        let create = format!("{path}/file");
        let mut process = image.process(&["create", &create]);
        // In any order.
        process.writable.insert(0, path.into());
        process.directory = format!("{path}/work").into();
        assert_eq!(
            output_text(&run_image(&sandbox, &process)),
            "done",
            "{path}"
        );
        // By the path of the working directory, too.
        process.words = vec!["/bin/hostile".into(), "create".into(), "../file".into()];
        assert_eq!(
            output_text(&run_image(&sandbox, &process)),
            "done",
            "{path}"
        );
    }
    assert!(!image.root().join("tmp/hidden/file").exists());
    // Elsewhere the image is read-only.
    let mut process = image.process(&["list", "."]);
    process.directory = "/data/missing".into();
    let error = refusal(&sandbox, &process);
    assert!(error.contains("working directory"), "{error}");
}

#[test]
fn paths_in_errors_have_no_control_characters() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    for path in ["/proc/\u{1b}]0;title\u{7}", "/a\0b"] {
        let mut process = image.process(&[]);
        process.directory = format!("{path}{}", "x".repeat(5_000)).into();
        let error = refusal(&sandbox, &process);
        assert!(!error.contains(char::is_control), "{error:?}");
        assert!(error.len() < 400, "{error}");
    }
}
