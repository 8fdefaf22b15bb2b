//! Hints: what the user can do about an error. Every hint is found by the type of the error.

use kiln_krm::check::{ListKind, ListNotKrm};
use kiln_krm::kptfile::{KptfileProblem, PipelineProblem};
use kiln_krm::record::{DecodeError, Misfit};
use kiln_policy::PolicyRefusal;
use kiln_render::{Exit, Failure};
use kiln_runtime::{ExecProblem, PeerProblem, StartError};
use kiln_task::git::{ForeignDirectory, GitVersion};

use crate::environment::KILN_GIT_TIMEOUT;
use crate::functions::policy;

pub(crate) const NO_ITEMS: &str = "a function must print all resources to keep; to change nothing, print the input ResourceList; \
    to remove everything, print `items: []`";

/// A function of a package in a repository that nothing can run.
pub(super) const NO_RUNNER: &str = "`kiln rpkg` runs built-in functions and functions in WebAssembly; to run other images, pass a function runner with \
    --runner, or register the repository with one";

pub(super) const INVALID_FILE: &str =
    "fix the file, or list it in .krmignore if it does not contain resources";

/// The signal that the kernel sends when memory runs out.
const SIGKILL: i32 = 9;

/// The hint for a failed call of a function, as far as it needs no more than the failure. `config` is the path of the
/// functionConfig, if it is a file.
pub(crate) fn call(failure: &Failure, config: Option<&str>) -> Option<String> {
    let hint = match failure {
        Failure::Exit(exit) => return Some(self::exit(exit, config)),
        Failure::NotStarted(error) => start(error)?,
        Failure::NotKrm(error) => not_krm(error),
        Failure::ExecNotAllowed => {
            "add --allow-exec if you trust the programs that this package runs"
        }
        Failure::BadOutput(_) => {
            "a function must print a ResourceList to standard output, and everything else to standard error"
        }
        Failure::NoItems(_) => NO_ITEMS,
        Failure::ReportedErrors { .. } => "fix the errors in the results above",
        Failure::File(_) => INVALID_FILE,
        Failure::Kptfile(error) => return kptfile(&error.problem),
        Failure::Pipeline(error) => pipeline(error.problem),
        Failure::PipelineAtRun(errors) => pipeline(errors.first()?.problem),
        Failure::Remote { problem, .. } => peer((*problem)?),
        Failure::Denied(denied) => return policy::refusal(denied.error()).map(PolicyRefusal::hint),
        Failure::NotFound(_)
        | Failure::Unavailable(_)
        | Failure::NoMatchingTag(_)
        | Failure::Text(_) => return None,
    };
    Some(hint.to_owned())
}

/// No version matches. `problems` are the errors of the registries that were asked.
pub(super) fn no_matching_tag(problems: &[String]) -> String {
    match problems {
        [] => "no built-in, local or registry version matches this range; use an existing version"
            .to_owned(),
        problems => format!(
            "the registry did not list its versions ({}); use an exact version, or pull the image",
            problems.join("; ")
        ),
    }
}

/// A function failed or was killed.
pub(crate) fn exit(exit: &Exit, config: Option<&str>) -> String {
    let hint = match (exit.signal, exit.code) {
        (Some(SIGKILL), _) | (None, 137) => {
            "the function was killed, often because it ran out of memory; give it more memory or fewer resources"
        }
        (Some(_), _) => "the function crashed; try another version of it",
        (None, 125) => {
            "exit code 125 usually means that the container engine could not start the image; check its name and the registry"
        }
        (None, 126) => {
            "the program that the function runs is not executable; check its permissions"
        }
        (None, 127) => "the program that the function runs was not found; check its name and PATH",
        (None, _) => {
            let config = config.map_or_else(String::new, |config| format!(", {config}"));
            return format!(
                "fix what the function reports, in the resources or in its configuration{config}"
            );
        }
    };
    hint.to_owned()
}

/// A program cannot be started.
pub(crate) fn start(error: &StartError) -> Option<&'static str> {
    let problem = match error {
        StartError::NotOnPath { .. } => return Some("install the program, or specify its path"),
        StartError::NoCommand | StartError::RelativeToCurrentDirectory { .. } => return None,
        StartError::ForkExec { problem, .. } => problem,
    };
    match problem {
        ExecProblem::PermissionDenied => Some("make the program executable: chmod +x"),
        ExecProblem::NotAProgram => {
            Some("add an interpreter line to the script, such as #!/bin/sh")
        }
        ExecProblem::NotFound => Some(
            "paths are relative to the current directory, not to the package; \
             the interpreter of a script must exist too",
        ),
        ExecProblem::Other => None,
    }
}

pub(crate) fn git_timeout() -> String {
    format!("to wait longer, set {KILN_GIT_TIMEOUT}, for example {KILN_GIT_TIMEOUT}=1h")
}

/// There is no git.
pub(crate) fn no_git() -> String {
    let (major, minor) = GitVersion::OLDEST;
    format!("install git {major}.{minor} or newer")
}

/// Git refuses the repository of another user.
pub(crate) fn foreign_repository(foreign: &ForeignDirectory) -> String {
    format!(
        "if you trust it, run `git config --global --add safe.directory {}`",
        foreign.path.display()
    )
}

/// The function runner cannot be used.
fn peer(problem: PeerProblem) -> &'static str {
    match problem {
        PeerProblem::Refused => {
            "nothing listens at this address; start a runner with `kiln serve`, or check the address"
        }
        PeerProblem::PlainText => {
            "the runner ended the connection; if it uses TLS, pass its CA certificate with --runner-tls-ca"
        }
        PeerProblem::NoTls => {
            "the runner does not use TLS; start it with --tls-cert and --tls-key, or omit https:// and --runner-tls-ca"
        }
        PeerProblem::UnknownIssuer => {
            "the certificate of the runner is from another CA; pass the CA certificate that signed it with --runner-tls-ca"
        }
        PeerProblem::CaAsServer => {
            "the runner uses the certificate of a CA as its own; create a server certificate that the CA signs (see docs/runner.md), or start the runner with `kiln serve --tls-self-signed`"
        }
        PeerProblem::OtherName => {
            "the certificate of the runner is for another name; pass that name with --runner-tls-server-name"
        }
        PeerProblem::Token => {
            "the runner requires a token; pass a file with it with --runner-token-file"
        }
    }
}

fn not_krm(error: &ListNotKrm) -> &'static str {
    match error.list {
        ListKind::Input => {
            "add apiVersion, kind and metadata.name, or list the file in .krmignore if it is not a resource"
        }
        ListKind::Output => {
            "the function must return resources with apiVersion, kind and metadata.name"
        }
    }
}

fn pipeline(problem: PipelineProblem) -> &'static str {
    match problem {
        PipelineProblem::InvalidConfigPath => {
            "configPath is the path of a file in the package itself, relative to its Kptfile"
        }
        PipelineProblem::InvalidImage => {
            "write the image as in example.com/functions/set-labels:v1"
        }
        PipelineProblem::NoFunction => {
            "specify the function to run: `image: NAME:VERSION` or `exec: COMMAND`"
        }
        PipelineProblem::ConfigMapAndConfigPath => "use either configPath or configMap",
        PipelineProblem::ImageAndExec => "use either `image` or `exec`",
    }
}

/// A hint for each field, with its line if there are several.
fn misfit_hints(misfits: &[Misfit]) -> String {
    if let [misfit] = misfits {
        return misfit.problem.hint();
    }
    let hints = misfits
        .iter()
        .map(|Misfit { line, problem }| format!("line {line}: {}", problem.hint()));
    hints.collect::<Vec<_>>().join("; ")
}

fn kptfile(problem: &KptfileProblem) -> Option<String> {
    let hint = match problem {
        KptfileProblem::Decode(DecodeError::Misfits(misfits)) => {
            return Some(misfit_hints(misfits));
        }
        KptfileProblem::Missing(_) => {
            "a package needs a Kptfile, which `kiln pkg init` writes; `kiln fn eval` works without one"
        }
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
    Some(hint.to_owned())
}
