//! What every environment variable of kiln means, and the commands that read it.
//!
//! Tests compare this table with the constants of `environment` and with the modules that use them.

use crate::environment::*;

/// An environment variable in the help.
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    commands: &'static [&'static str],
}

impl Variable {
    /// Whether the help of a command at the top level lists it; the empty name is that of kiln itself.
    pub(super) fn is_of(&self, command: &str) -> bool {
        self.commands == ALL || self.commands.contains(&command)
    }
}

const fn variable(
    name: &'static str,
    meaning: &'static str,
    commands: &'static [&'static str],
) -> Variable {
    Variable {
        name,
        meaning,
        commands,
    }
}

/// Every command, and kiln itself.
const ALL: &[&str] = &["*"];
/// Commands that run functions.
const FUNCTIONS: &[&str] = &[
    "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate",
];
/// Commands that run functions as images: `rpkg` does not.
const IMAGES: &[&str] = &["fn", "lock", "argocd", "helm", "policy", "push", "migrate"];
/// Commands that use images in registries.
const REGISTRIES: &[&str] = &[
    "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate", "image", "wasm", "alpha",
    "pkg", "doctor", "serve",
];
/// Commands that keep images or modules.
const STORES: &[&str] = &[
    "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate", "image", "wasm", "alpha",
    "cache", "doctor", "serve",
];
/// Commands with a file in the directory for caches.
const CACHES: &[&str] = &[
    "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate", "image", "wasm", "alpha",
    "pkg", "repo", "cache", "doctor", "serve",
];
/// Commands that read files below the home directory.
const HOMES: &[&str] = &[
    "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate", "image", "wasm", "alpha",
    "pkg", "repo", "cache", "doctor", "serve", "live",
];

/// In the order of the help: those of few commands first.
pub(super) const VARIABLES: &[Variable] = &[
    variable(
        KPT_CACHE_DIR,
        "Directory of kpt's cache of repositories, with --compat=kpt",
        &["pkg"],
    ),
    variable(
        KPT_EXTERNAL_DIFF,
        "Program of pkg diff without --diff-tool",
        &["pkg"],
    ),
    variable(
        KPT_EXTERNAL_DIFF_OPTS,
        "Its arguments without --diff-tool-opts",
        &["pkg"],
    ),
    variable(
        KILN_CACHE,
        "Which answers are kept without --cache: off, on, images or verify",
        &["fn", "argocd", "helm"],
    ),
    variable(
        GITHUB_WORKSPACE,
        "Directory from which annotations and reports name files",
        &["fn"],
    ),
    variable(CI_PROJECT_DIR, "The same in a job of GitLab", &["fn"]),
    variable(
        ARGOCD_APP_PARAMETERS,
        "Parameters of the application, as JSON",
        &["argocd"],
    ),
    variable(
        ARGOCD_EXEC_TIMEOUT,
        "Time limit of Argo CD [default: 60s]; 0 for none",
        &["argocd"],
    ),
    variable(
        KILN_POST_PIPELINE,
        "Kptfile of post-render without --pipeline",
        &["helm"],
    ),
    variable(
        KUBECONFIG,
        "Configuration of kubectl, for the namespace",
        &["live"],
    ),
    variable(
        KILN_KPT,
        "The kpt to compare with, or to run what kiln lacks",
        &["", "alpha", "live", "migrate"],
    ),
    variable(
        KILN_REPOSITORIES,
        "File of registered repositories",
        &["rpkg", "repo", "cache"],
    ),
    variable(
        KILN_GIT_TIMEOUT,
        "Time limit of git commands that use a remote",
        &["rpkg", "repo", "pkg"],
    ),
    variable(
        GIT_AUTHOR_NAME,
        "Author of commits, as for git",
        &["rpkg", "repo"],
    ),
    variable(
        GIT_AUTHOR_EMAIL,
        "Email address of the author",
        &["rpkg", "repo"],
    ),
    variable(
        KPT_IMAGE_PREFIX,
        "Prefix of short image names without --image-prefix",
        FUNCTIONS,
    ),
    variable(
        KRM_FN_RUNTIME,
        "Container engine: docker, podman or nerdctl",
        IMAGES,
    ),
    variable(
        KILN_IMAGE_RUNTIME,
        "How to run images without --image-runtime",
        IMAGES,
    ),
    variable(
        KILN_WASM_AOT,
        "1: compile functions in WebAssembly before they first run",
        FUNCTIONS,
    ),
    variable(
        KPT_FN_WASM_RUNTIME,
        "As in kpt: wasmtime or nodejs; both mean kiln's own engine",
        IMAGES,
    ),
    variable(
        KILN_POLICY,
        "Policy of functions without --policy",
        &[
            "fn", "lock", "argocd", "helm", "policy", "push", "rpkg", "migrate", "serve",
        ],
    ),
    variable(
        TRACEPARENT,
        "Trace of the caller, for function runners",
        FUNCTIONS,
    ),
    variable(TRACESTATE, "State of that trace", FUNCTIONS),
    variable(KILN_STORE, "Directory of the store of images", STORES),
    variable(
        DOCKER_CONFIG,
        "Directory of the credentials for registries",
        REGISTRIES,
    ),
    variable(
        KRM_DISABLE_ATTRIBUTION,
        "Not empty: no attribution annotations",
        &["fn", "argocd", "helm", "push", "rpkg", "pkg"],
    ),
    variable(
        XDG_CONFIG_HOME,
        "Directory for configuration; default: ~/.config",
        &[
            "fn", "argocd", "helm", "policy", "push", "rpkg", "repo", "cache", "migrate", "serve",
        ],
    ),
    variable(
        XDG_CACHE_HOME,
        "Directory for caches; default: ~/.cache",
        CACHES,
    ),
    variable(HOME, "Home directory", HOMES),
    variable(
        PATH,
        "Directories with programs: git, container engines, kpt",
        HOMES,
    ),
    variable(KILN_COMPAT, "Compatibility mode without --compat", ALL),
    variable(
        NO_COLOR,
        "Not empty: no colours, unless --color asks for them",
        ALL,
    ),
    variable(TERM, "dumb: no progress line", ALL),
    variable(CI, "Not empty: no progress line", ALL),
];
