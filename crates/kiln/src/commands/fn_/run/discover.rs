//! Finds the declared functions and their order.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use kiln_container::{CommandStyle, LEGACY_VARIABLES, Mount, PullPolicy};
use kiln_evaluators::{ChainOptions, ExecOptions, PolicyGuard};
use kiln_exec::ExecEvaluator;
use kiln_functions::StarlarkScript;
use kiln_krm::Resource;
use kiln_krm::annotations::{LEGACY_INDEX, LEGACY_PATH};
use kiln_krm::declaration::{Declaration, Declared, declared_function};
use kiln_krm::paths::{clean, directory};
use kiln_runtime::{Evaluator, EvaluatorChain, FunctionSpec, Network, Runner, Target};

use super::flags::RunArgs;
use super::read;
use super::step::{Config, Scope, Step, directory_of};
use crate::compat::Compat;
use crate::environment::PATH;
use crate::functions::image_runtime::ImageSettings;
use crate::image_store::FunctionPulls;
use crate::package::Location;
use crate::ui::Ui;

/// Where declarations come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Input,
    /// Another directory or the command line.
    Elsewhere,
}

/// All functions in the order in which they run. If one of them cannot run, none does.
pub(super) fn steps(
    ui: &Ui,
    args: &RunArgs,
    resources: &[Resource],
    imperative: Option<Resource>,
) -> Result<Vec<(Step, Config)>> {
    let mut finder = Finder::new(ui, args)?;
    if imperative.is_none() && args.fn_path.is_empty() {
        let candidates = resources.iter().enumerate();
        let candidates = candidates.filter(|(_, resource)| declared_function(resource).is_some());
        let mut candidates: Vec<Config> = candidates
            .map(|(at, resource)| Config {
                resource: resource.clone(),
                original: Some(at),
            })
            .collect();
        sort(&mut candidates)?;
        finder.add(Source::Input, candidates)?;
    }
    let elsewhere = from_directories(ui, &args.fn_path)?.into_iter();
    let elsewhere = elsewhere.chain(imperative).map(|resource| Config {
        resource,
        original: None,
    });
    finder.add(Source::Elsewhere, elsewhere.collect())?;
    Ok(finder.steps)
}

/// The resources of other directories. The original uses only the last directory.
fn from_directories(ui: &Ui, dirs: &[String]) -> Result<Vec<Resource>> {
    let mut resources = Vec::new();
    for dir in dirs {
        if ui.compat() == Compat::KptV039 {
            resources.clear();
        }
        resources.extend(read(ui, &Location::unresolved(dir)?)?.0);
    }
    Ok(resources)
}

struct Finder<'a> {
    ui: &'a Ui,
    args: &'a RunArgs,
    evaluators: EvaluatorChain,
    policy: Option<Arc<PolicyGuard>>,
    steps: Vec<(Step, Config)>,
    /// The number of declarations, skipped ones included.
    count: usize,
}

impl<'a> Finder<'a> {
    fn new(ui: &'a Ui, args: &'a RunArgs) -> Result<Finder<'a>> {
        let search_path = std::env::var_os(PATH).unwrap_or_default();
        let user = args.as_current_user.then(|| {
            let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
            format!("{}:{}", user.as_raw(), group.as_raw())
        });
        let variables = LEGACY_VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = ImageSettings {
            pull_policy: PullPolicy::default(),
            mounts: args.mount.iter().map(|text| Mount::parse(text)).collect(),
            user,
            style: match ui.compat() {
                Compat::Kiln => CommandStyle::NamedLegacy,
                Compat::Kpt | Compat::KptV039 => CommandStyle::Legacy,
            },
            variables: variables.into(),
            pulls: Arc::new(FunctionPulls(ui.clone())),
        };
        let images = args.image_runtime.check(ui.compat(), settings)?;
        let policy = args.policy.guard(ui, PullPolicy::default())?;
        let evaluators = ChainOptions {
            policy: policy.clone(),
            exec: Some(ExecOptions {
                programs: ExecEvaluator::new(search_path),
                table: None,
            }),
            image: images.image(),
            container: images.container(),
            ..ChainOptions::default()
        };
        Ok(Finder {
            ui,
            args,
            evaluators: evaluators.chain(),
            policy,
            steps: Vec::new(),
            count: 0,
        })
    }

    fn add(&mut self, source: Source, candidates: Vec<Config>) -> Result<()> {
        for candidate in candidates {
            let Some(declared) = declared_function(&candidate.resource) else {
                continue;
            };
            self.print_problem(source, &candidate.resource, &declared);
            let declaration = declared.declaration;
            if declaration.container.network && !self.args.network {
                bail!("network required but not enabled with --network");
            }
            let number = self.count;
            self.count += 1;
            let script = self.script(&candidate.resource, &declaration)?;
            let (name, is_image, is_script, runner) = match script {
                Some((name, runner)) => (name, false, true, runner),
                None => {
                    let function = self.function(&candidate.resource, &declaration)?;
                    let Some(function) = function else {
                        continue;
                    };
                    let is_image = matches!(function.target, Target::Image(_));
                    let runner = self.evaluators.find(&function)?.into_runner();
                    (function.name().to_owned(), is_image, false, runner)
                }
            };
            let is_global = self.args.global_scope || (is_image && source == Source::Elsewhere);
            let dir = self.args.results_dir.as_deref();
            let dir = dir.filter(|dir| !dir.is_empty());
            let step = Step {
                name,
                position: None,
                is_image,
                is_script,
                runner,
                directory: candidate.directory(),
                scope: match is_global {
                    true => Scope::Global,
                    false => Scope::Directory,
                },
                results_file: dir.map(|dir| results_file(dir, number)),
                defers_failure: declaration.defer_failure,
            };
            self.steps.push((step, candidate));
        }
        Ok(())
    }

    /// The function of a declaration; `None` if there is none, or it is not allowed.
    fn function(&self, config: &Resource, declared: &Declaration) -> Result<Option<FunctionSpec>> {
        let container = &declared.container;
        if !container.image.is_empty() {
            let mut function = FunctionSpec::image(container.image.clone());
            if container.network {
                function.network = Network::Host;
            }
            // The defaults override declared variables, and the command line overrides both.
            let defaults = ["LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"];
            function.env.extend(container.envs.iter().cloned());
            function.env.extend(defaults.map(str::to_owned));
            function.env.extend(self.args.env.iter().cloned());
            return Ok(Some(function));
        }
        let script = &declared.starlark;
        let is_script = !script.path.is_empty() || !script.url.is_empty();
        let program = &declared.exec.path;
        if !program.is_empty() && self.args.enable_exec {
            return Ok(Some(FunctionSpec::new(Target::Program(program.clone()))));
        }
        if !program.is_empty() {
            self.print_skipped(config, program, "--enable-exec");
        } else if is_script {
            self.print_skipped(config, &script.path, "--enable-star");
        }
        Ok(None)
    }

    /// The script of a declaration, with its path; `None` if there is none, or scripts are not allowed.
    fn script(
        &self,
        config: &Resource,
        declared: &Declaration,
    ) -> Result<Option<(String, Arc<dyn Runner>)>> {
        let script = &declared.starlark;
        let is_script = !script.path.is_empty() || !script.url.is_empty();
        if !is_script || !self.args.enable_star || !declared.container.image.is_empty() {
            return Ok(None);
        }
        check_script_path(&script.path)?;
        if !script.url.is_empty() {
            bail!(
                "Starlark scripts at a URL are not supported: {}",
                script.url
            );
        }
        // The path is relative to the file that declares the script.
        let root = self.args.dirs.first().map_or("", String::as_str);
        let file = config.annotation(LEGACY_PATH).unwrap_or_default();
        let path = Path::new(root).join(directory(&clean(file)));
        let path = clean(&path.join(clean(&script.path)).to_string_lossy());
        if self.ui.compat() == Compat::KptV039 {
            self.ui.write_data(format!("{path}\n").as_bytes())?;
        }
        if let Some(policy) = &self.policy {
            policy.policy().decide_script(&path)?;
        }
        let source = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow!("open {path}: no such file or directory"),
            _ => anyhow!("open {path}: {error}"),
        })?;
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value.to_str()?)));
        let runner = StarlarkScript {
            name: script.name.clone(),
            source,
            environment: environment.collect(),
        };
        Ok(Some((path, Arc::new(runner))))
    }

    /// The original prints nothing.
    fn print_skipped(&self, config: &Resource, what: &str, flag: &str) {
        if self.ui.compat() == Compat::Kiln {
            let path = config.annotation(LEGACY_PATH).unwrap_or("<stdin>");
            let message = format!("skipped function {what:?} in {path}: it requires {flag}");
            self.ui.print_message(&message);
        }
    }

    /// The original parses declarations in its input twice, and prints the problem each time.
    fn print_problem(&self, source: Source, config: &Resource, declared: &Declared) {
        let Some(problem) = &declared.problem else {
            return;
        };
        match (self.ui.compat(), source) {
            (Compat::KptV039, Source::Input) => {
                self.ui.print_message(&format!("{problem}\n{problem}"))
            }
            (Compat::KptV039, Source::Elsewhere) => self.ui.print_message(problem),
            (Compat::Kiln | Compat::Kpt, _) => {
                let path = config.annotation(LEGACY_PATH).unwrap_or("<stdin>");
                let message = format!("{path}: invalid function declaration: {problem}");
                self.ui.print_message(&message);
            }
        }
    }
}

fn results_file(dir: &str, number: usize) -> PathBuf {
    Path::new(&clean(dir)).join(format!("results-{number}.yaml"))
}

fn check_script_path(path: &str) -> Result<()> {
    let path = match path {
        "" => return Ok(()),
        path => clean(path),
    };
    if path.starts_with('/') {
        bail!("absolute function path {path} not allowed");
    }
    if path.starts_with("..") {
        bail!("function path {path} not allowed to start with ../");
    }
    Ok(())
}

/// Sorts by depth, deepest first, then by directory; functions of one file keep their order.
fn sort(candidates: &mut [Config]) -> Result<()> {
    for (at, one) in candidates.iter().enumerate() {
        let is_same = |other: &&Config| path(&other.resource) == path(&one.resource);
        if candidates.iter().skip(at + 1).any(|other| is_same(&other)) {
            let index = one.resource.annotation(LEGACY_INDEX).unwrap_or_default();
            kiln_go::atoi(index)?;
        }
    }
    candidates.sort_by(|one, other| order(&one.resource, &other.resource));
    Ok(())
}

fn order(one: &Resource, other: &Resource) -> Ordering {
    let (one_path, other_path) = (path(one), path(other));
    if one_path == other_path {
        return index(one).cmp(&index(other));
    }
    let (one, other) = (directory_of(one_path), directory_of(other_path));
    depth(&other)
        .cmp(&depth(&one))
        .then_with(|| one.cmp(&other))
}

fn path(resource: &Resource) -> &str {
    resource.annotation(LEGACY_PATH).unwrap_or_default()
}

fn index(resource: &Resource) -> i64 {
    let index = resource.annotation(LEGACY_INDEX).unwrap_or_default();
    index.parse().unwrap_or(0)
}

fn depth(dir: &str) -> usize {
    match dir {
        "." => 0,
        dir => dir.split('/').count(),
    }
}
