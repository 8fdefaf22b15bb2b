//! What can be done about a failure, where that is known. A hint says what to do next, never what went wrong.

use kiln_krm::check::{ListKind, ListNotKrm};
use kiln_krm::kptfile::{InvalidPipeline, KptfileProblem};
use kiln_render::Why;

/// A function that answers with nothing.
pub(crate) const NO_ITEMS: &str = "a function must print all resources to keep; to change nothing, print the input ResourceList; \
    to remove everything, print `items: []`";

/// A failure of which more is known than its text.
pub(super) fn because(why: Why, text: &str) -> Option<String> {
    let hint = match why {
        Why::ExecNotAllowed => "add --allow-exec if you trust the programs that this package runs",
        Why::NotStarted => return start_hint(text).map(str::to_owned),
        Why::BadOutput => {
            "a function must print a ResourceList to standard output, and everything else to standard error"
        }
        Why::NoItems => NO_ITEMS,
        Why::Reported => "fix the errors in the results above",
        Why::NotFound | Why::NoTag | Why::Unavailable => return None,
    };
    Some(hint.to_owned())
}

/// No version is the one that is wanted. `problems` are those of registries that were asked.
pub(super) fn no_tag(problems: &[String]) -> String {
    match problems {
        [] => "no built-in, local or registry version matches this range; use an existing version"
            .to_owned(),
        problems => format!(
            "the registry did not list its versions ({}); use an exact version, or pull the image",
            problems.join("; ")
        ),
    }
}

/// A function that says that it failed, or was killed, by how it ended in Go's words. `config` is the file it is
/// configured by, if there is one.
pub(crate) fn exit(text: &str, config: Option<&str>) -> Option<String> {
    let hint = match text {
        "exit status 126" => {
            "the program that the function runs is not executable; check its permissions"
        }
        "exit status 127" => {
            "the program that the function runs was not found; check its name and PATH"
        }
        "exit status 137" | "signal: killed" => {
            "the function was killed, often because it ran out of memory; give it more memory or fewer resources"
        }
        _ if text.starts_with("signal: ") => "the function crashed; try another version of it",
        _ if text.starts_with("exit status ") => {
            let place = config.map_or_else(String::new, |config| format!(", {config}"));
            return Some(format!(
                "fix what the function reports, in the resources or in its configuration{place}"
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
            "add apiVersion, kind and metadata.name, or list the file in .krmignore if it is not a resource"
        }
        ListKind::Output => {
            "the function must return resources with apiVersion, kind and metadata.name"
        }
    }
}

/// A pipeline says what makes no sense.
pub(super) fn pipeline(error: &InvalidPipeline) -> &'static str {
    if error.field.ends_with(".configPath") {
        "configPath is the path of a file in the package itself, relative to its Kptfile"
    } else if error.field.ends_with(".image") {
        "write the image as in example.com/functions/set-labels:v1"
    } else if error.reason.contains("must specify a functon") {
        "specify the function to run: `image: NAME:VERSION` or `exec: COMMAND`"
    } else if error.reason.contains("configMap") {
        "use either configPath or configMap"
    } else {
        "use either `image` or `exec`"
    }
}

/// A Kptfile cannot be used.
pub(super) fn kptfile(problem: &KptfileProblem) -> Option<&'static str> {
    let hint = match problem {
        KptfileProblem::Missing(_) => "a package needs a Kptfile; `kiln fn eval` works without one",
        KptfileProblem::Yaml(_) => "fix the Kptfile",
        KptfileProblem::Decode(_) => "fix or remove the invalid fields",
        KptfileProblem::UnknownType(_)
        | KptfileProblem::NoMetadata
        | KptfileProblem::GroupVersion(_)
        | KptfileProblem::Empty => {
            "a Kptfile starts with `apiVersion: kpt.dev/v1` and `kind: Kptfile`"
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
        Some("add an interpreter line to the script, such as #!/bin/sh")
    } else if text.ends_with("no such file or directory") {
        Some(
            "paths are relative to the current directory, not to the package; \
             the interpreter of a script must exist too",
        )
    } else if text.ends_with("executable file not found in $PATH") {
        Some("install the program, or specify its path")
    } else {
        None
    }
}
