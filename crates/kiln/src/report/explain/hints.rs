//! What can be done about a failure, where that is known. A hint says what to do next, never what went wrong.

use kiln_krm::check::{ListKind, ListNotKrm};
use kiln_krm::kptfile::{InvalidPipeline, KptfileProblem};
use kiln_render::Why;

/// A function that answers with nothing.
pub(crate) const NO_ITEMS: &str = "a function prints all resources that are to stay; one that changes nothing \
    prints the ResourceList that it got, and one that removes everything prints `items: []`";

/// A failure of which more is known than its text.
pub(super) fn because(why: Why, text: &str) -> Option<String> {
    let hint = match why {
        Why::ExecNotAllowed => {
            "add --allow-exec if you trust the programs that this package wants to run"
        }
        Why::NotStarted => return start_hint(text).map(str::to_owned),
        Why::BadOutput => {
            "a function prints a ResourceList on standard output, and everything else on standard error"
        }
        Why::NoItems => NO_ITEMS,
        Why::Reported => "correct what the results above name",
        Why::NotFound | Why::NoTag | Why::Unavailable => return None,
    };
    Some(hint.to_owned())
}

/// No version is the one that is wanted. `problems` are those of registries that were asked.
pub(super) fn no_tag(problems: &[String]) -> String {
    match problems {
        [] => "among the functions that are built in, the images of this machine and the tags in the registry is none: \
               name a version that there is"
            .to_owned(),
        problems => format!(
            "the registry does not tell which versions there are ({}): name an exact version, or pull the image",
            problems.join("; ")
        ),
    }
}

/// A function that says that it failed, or was killed, by how it ended in Go's words. `config` is the file it is
/// configured by, if there is one.
pub(crate) fn exit(text: &str, config: Option<&str>) -> Option<String> {
    let hint = match text {
        "exit status 126" => "what the function runs may not be executed: see its permissions",
        "exit status 127" => {
            "what the function runs was not found: see its spelling and the search path"
        }
        "exit status 137" | "signal: killed" => {
            "something else killed the function, often for want of memory: give it more, or fewer resources"
        }
        _ if text.starts_with("signal: ") => {
            "the function crashed, which is a fault of its own: try another version of it"
        }
        _ if text.starts_with("exit status ") => {
            let place = config.map_or_else(String::new, |config| format!(", {config}"));
            return Some(format!(
                "correct what the function complains of, in the resources or in its configuration{place}"
            ));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Something is not a resource.
pub(super) fn not_krm(error: &ListNotKrm) -> &'static str {
    match error.list {
        ListKind::Input => {
            "give the resource what it lacks, or name its file in .krmignore if it is none"
        }
        ListKind::Output => "the function must give every resource what it lacks",
    }
}

/// A pipeline says what makes no sense.
pub(super) fn pipeline(error: &InvalidPipeline) -> &'static str {
    if error.field.ends_with(".configPath") {
        "configPath names a file of the package itself, as seen from its Kptfile"
    } else if error.field.ends_with(".image") {
        "an image is named as in example.com/functions/set-labels:v1"
    } else if error.reason.contains("must specify a functon") {
        "say which function to run: `image: NAME:VERSION`, or `exec: COMMAND`"
    } else if error.reason.contains("configMap") {
        "a function has one configuration: configPath or configMap"
    } else {
        "a function has one of `image` and `exec`"
    }
}

/// A Kptfile cannot be used.
pub(super) fn kptfile(problem: &KptfileProblem) -> Option<&'static str> {
    let hint = match problem {
        KptfileProblem::Missing(_) => {
            "a package is a directory with a Kptfile; `kiln fn eval` works without one"
        }
        KptfileProblem::Yaml(_) => "correct the Kptfile",
        KptfileProblem::Decode(_) => "correct or remove what a Kptfile does not have",
        KptfileProblem::UnknownType(_)
        | KptfileProblem::NoMetadata
        | KptfileProblem::GroupVersion(_)
        | KptfileProblem::Empty => {
            "a Kptfile begins with `apiVersion: kpt.dev/v1` and `kind: Kptfile`"
        }
        KptfileProblem::Deprecated(_) | KptfileProblem::Io(_) => return None,
    };
    Some(hint)
}

/// A program that does not start, by what the operating system says.
pub(crate) fn start_hint(text: &str) -> Option<&'static str> {
    if text.ends_with("permission denied") {
        Some("make the program executable: chmod +x")
    } else if text.ends_with("exec format error") {
        Some("a script needs a first line that says what runs it, such as #!/bin/sh")
    } else if text.ends_with("no such file or directory") {
        Some(
            "a relative path counts from the current directory, not from the package; \
             of a script, what its first line names must be there too",
        )
    } else if text.ends_with("executable file not found in $PATH") {
        Some("install the program, or name it by its path")
    } else {
        None
    }
}
