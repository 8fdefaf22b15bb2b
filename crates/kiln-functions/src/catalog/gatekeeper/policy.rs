//! Policies in Rego, and the engine that evaluates them.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use regorus::unstable::{Module, Parser};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, PolicyLengthConfig, Source, Value};

use crate::port::go_json::{JsonContent, JsonRef};

use super::graph::GraphError;
use super::limits::{HUGE_NUMBER, MAX_COLUMN, Meter, OverLimit, is_overflow, unsupported};
use super::release::GatekeeperRelease;
use super::rules::Rules;
use super::template::Template;
use super::{Halt, TARGET, builtins, graph, opa, openapi, references, rewrite, scan, unique};

pub(super) struct Policy {
    kind: String,
    parameters: Option<openapi::ParameterSchema>,
    engine: Engine,
    /// The path of its violations.
    rule: String,
}

/// How much work is done between two checks of the clock. One step can be a call that takes milliseconds.
const STEPS: NonZeroU32 = NonZeroU32::MIN.saturating_add(15);

/// The limits for texts that [`rewrite`] has made longer. The texts of users have the engine's own limits.
const REWRITTEN: PolicyLengthConfig = PolicyLengthConfig {
    max_col: MAX_COLUMN,
    max_file_bytes: NonZeroUsize::MAX,
    max_lines: NonZeroUsize::MAX,
};

impl Policy {
    pub(super) fn new(
        template: Template<'_>,
        release: GatekeeperRelease,
        meter: &Arc<Meter>,
        tokens: &mut usize,
    ) -> Result<Policy, String> {
        let refused = |why: String| release.refused_template(template.name, &why);
        let invalid = |why: String| refused(release.invalid_template(&why));
        let path = format!("templates[\"{TARGET}\"][\"{}\"]", template.kind);
        if is_blank(template.rego) {
            return Err(invalid(format!("{path}:0: rego_parse_error: empty module")));
        }
        let libs = template.libs.iter().enumerate().map(|(at, lib)| {
            let path = format!("libs.{TARGET}.{}[\"lib_{at}\"]", template.kind);
            (path, *lib)
        });
        let sources: Vec<(String, &str)> = std::iter::once((path.clone(), template.rego))
            .chain(libs)
            .collect();
        for (path, rego) in &sources {
            scan::check(rego, tokens).map_err(|why| invalid(format!("{path}:{why}")))?;
        }
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        engine.set_strict_builtin_errors(false);
        engine.set_policy_length_config(REWRITTEN);
        builtins::add(&mut engine, meter)?;
        let mut modules = Vec::with_capacity(sources.len());
        let mut package = String::new();
        for (number, (path, rego)) in sources.iter().enumerate() {
            let module = parse(path, rego).map_err(|error| invalid(unparsed(path, &error)))?;
            let rewritten = rewrite::rewrite(rego, &module);
            let added = rewritten.map(|rego| engine.add_policy(path.clone(), rego));
            let Some(Ok(added)) = added else {
                return Err(invalid(format!(
                    "{path}: {}",
                    unsupported("its memory cannot be bounded")
                )));
            };
            modules.push(module);
            if number == 0 {
                package = added;
                check_template(&engine, path, rego, release).map_err(invalid)?;
            }
        }
        // The original numbers the modules of a template.
        let entries: Vec<String> = (0..sources.len())
            .map(|number| format!("__modset_{path}_idx_{number}"))
            .collect();
        let rule = format!("{package}.violation");
        let uncompiled = |why: String| refused(release.uncompiled(&why));
        let rules = Rules::read(&modules);
        check_calls(&rules, &entries).map_err(uncompiled)?;
        let mut calls = rules.other_calls.iter();
        if calls.any(|call| builtins::is_random(&call.name)) {
            meter.note_random();
        }
        let checked = graph::check(&rules);
        if let Err(GraphError::TooDeep(why)) = &checked {
            return Err(invalid(format!("{path}: {why}")));
        }
        // OPA checks for unsafe variables before it checks for recursion.
        let mut probe = engine.clone();
        if let Err(error) = probe.compile_with_entrypoint(&rule.as_str().into()) {
            let why = in_opa_format(&entries[0], "rego_type_error", &error.to_string());
            return Err(uncompiled(why));
        }
        if let Err(GraphError::Recursive(recursions)) = checked {
            let errors = recursions.iter().map(|recursion| {
                let entry = &entries[recursion.module];
                let (line, reason) = (recursion.line, &recursion.reason);
                format!("{entry}:{line}: rego_recursion_error: {reason}")
            });
            return Err(uncompiled(listed(errors.collect())));
        }
        Ok(Policy {
            kind: template.kind.to_owned(),
            parameters: template.parameters.map(openapi::ParameterSchema::read),
            engine,
            rule,
        })
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// The schema of the parameters.
    pub(super) fn parameters(&self) -> Option<&openapi::ParameterSchema> {
        self.parameters.as_ref()
    }

    pub(super) fn set_inventory(&mut self, inventory: Value) -> Result<(), String> {
        let added = self.engine.add_data(object([("inventory", inventory)]));
        added.map_err(|error| in_target(&error.to_string()))
    }

    /// The violations of a resource, without duplicates.
    pub(super) fn violations(
        &mut self,
        review: Value,
        parameters: Value,
        meter: &Meter,
    ) -> Result<Vec<String>, Halt> {
        meter.renew();
        self.engine
            .set_execution_timer_config(ExecutionTimerConfig {
                limit: meter.time_left(),
                check_interval: STEPS,
            });
        let input = [("review", review), ("parameters", parameters)];
        self.engine.set_input(object(input));
        let found = self.engine.eval_rule(self.rule.clone());
        let is_late = found.is_err() && meter.time_left().is_zero();
        if is_late || meter.over().is_some() {
            meter.stopped().map_err(Halt::Stopped)?;
            let over = meter.record(OverLimit::new("policies take too long"));
            return Err(in_target(&over.to_string()).into());
        }
        let found = match found {
            Ok(found) => found,
            Err(error) if is_overflow(&error.to_string()) => {
                return Err(in_target(&unsupported(HUGE_NUMBER)).into());
            }
            Err(error) => {
                let path = format!("__modset_templates[\"{TARGET}\"][\"{}\"]_idx_0", self.kind);
                let why = in_opa_format(&path, "eval_internal_error", &error.to_string());
                let why = why.strip_prefix(ONE_ERROR).unwrap_or(&why);
                return Err(in_target(why).into());
            }
        };
        let Ok(found) = found.as_set() else {
            return Ok(Vec::new());
        };
        let mut messages = Vec::new();
        for violation in found {
            let Ok(fields) = violation.as_object() else {
                continue;
            };
            let details = fields.get(&Value::from("details")).cloned();
            let details = details.unwrap_or_else(Value::new_object);
            match fields.get(&Value::from("msg")) {
                None | Some(Value::Undefined) => {}
                Some(Value::String(message)) => messages.push((message.to_string(), details)),
                Some(Value::Null) => messages.push((String::new(), details)),
                Some(other) => {
                    let type_ = go_type(other);
                    return Err(in_target(&format!(
                        "json: cannot unmarshal {type_} into Go struct field Result.msg of type string"
                    ))
                    .into());
                }
            }
        }
        Ok(unique(messages.into_iter()))
    }
}

fn parse(path: &str, rego: &str) -> Result<Module, String> {
    let source = Source::from_contents(path.to_owned(), rego.to_owned());
    let source = source.map_err(|error| error.to_string())?;
    let module = Parser::new(&source).and_then(|mut parser| {
        parser.set_max_col(MAX_COLUMN);
        parser.parse()
    });
    module.map_err(|error| error.to_string())
}

/// An error of the parser, or one about the engine's limits on texts.
fn unparsed(path: &str, error: &str) -> String {
    let reason = error.rsplit("error: ").next().unwrap_or(error).trim();
    let reason = reason.strip_prefix(path).unwrap_or(reason).trim_start();
    match reason.contains("exceeds maximum ") {
        true => format!("{path}: {}", unsupported(reason)),
        false => in_opa_format(path, "rego_parse_error", error),
    }
}

/// Checks what the template's own module must and must not define.
fn check_template(
    engine: &Engine,
    path: &str,
    rego: &str,
    release: GatekeeperRelease,
) -> Result<(), String> {
    let has_rule = engine.has_declared_rule_rooted_at(path, "violation");
    if !has_rule.unwrap_or_default() {
        return Err(release.no_violation_rule().to_owned());
    }
    match references::disallowed(rego).as_slice() {
        [] => Ok(()),
        disallowed => Err(release.disallowed_references(path, disallowed)),
    }
}

/// Checks that called functions exist, and that none is redefined.
fn check_calls(rules: &Rules, entries: &[String]) -> Result<(), String> {
    let unknown = rules
        .other_calls
        .iter()
        .find(|call| !builtins::is_known(&call.name));
    if let Some(call) = unknown {
        let (entry, line, name) = (&entries[call.module], call.line, &call.name);
        let error = match opa::has_function(name) {
            true => unsupported(&format!("{entry}:{line}: the policy calls {name}")),
            false => format!("{entry}:{line}: rego_type_error: undefined function {name}"),
        };
        return Err(listed(vec![error]));
    }
    let Some((module, line)) = rules.mocks.first() else {
        return Ok(());
    };
    Err(listed(vec![format!(
        "{}:{line}: rego_type_error: with keyword target must start with input or data",
        entries[*module]
    )]))
}

/// A list of errors in OPA's format.
fn listed(errors: Vec<String>) -> String {
    match errors.as_slice() {
        [error] => format!("{ONE_ERROR}{error}"),
        errors => format!("{} errors occurred:\n{}", errors.len(), errors.join("\n")),
    }
}

/// An evaluation error in the format of the original's client.
fn in_target(why: &str) -> String {
    format!("{TARGET}: {why}\n")
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Array(_) | Value::Set(_) => "array",
        _ => "object",
    }
}

/// Whether a module contains only comments.
fn is_blank(rego: &str) -> bool {
    let mut lines = rego.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

const ONE_ERROR: &str = "1 error occurred: ";

/// An error of the engine in OPA's format. The engine draws the source line; the reason follows `error: `.
fn in_opa_format(path: &str, code: &str, error: &str) -> String {
    let mut lines = error.lines();
    let place = lines.find_map(|line| line.trim().strip_prefix("--> "));
    let line = place.and_then(|place| place.rsplit(':').nth(1));
    let reason = error.rsplit("error: ").next().unwrap_or(error).trim();
    let (code, reason) = in_words_of_opa(code, reason);
    match line {
        Some(line) => format!("{ONE_ERROR}{path}:{line}: {code}: {reason}"),
        None => format!("{ONE_ERROR}{path}: {code}: {reason}"),
    }
}

/// Reasons for which OPA has its own wording.
fn in_words_of_opa<'a>(code: &'a str, reason: &str) -> (&'a str, String) {
    let between = |start: &str, end: &str| reason.strip_prefix(start)?.strip_suffix(end);
    if let Some(function) = between("could not find function ", "") {
        return ("rego_type_error", format!("undefined function {function}"));
    }
    if let Some(name) = between("use of undefined variable `", "` is unsafe") {
        return ("rego_unsafe_var_error", format!("var {name} is unsafe"));
    }
    let code = match reason.contains("must not produce multiple outputs") {
        true => "eval_conflict_error",
        false => code,
    };
    (code, reason.to_owned())
}

/// Converts a value for the engine. Nesting was limited when the value was text.
pub(super) fn value(json: JsonRef<'_>) -> Value {
    match json.content() {
        JsonContent::Null => Value::Null,
        JsonContent::Bool(value) => Value::from(value),
        JsonContent::Int(value) => Value::from(value),
        JsonContent::Float(value) => Value::from(value),
        JsonContent::String(text) => Value::from(text),
        JsonContent::Array => Value::from(json.items().map(value).collect::<Vec<_>>()),
        JsonContent::Object => object(json.fields().map(|(name, part)| (name, value(part)))),
    }
}

pub(super) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let fields = fields.into_iter();
    let fields = fields.map(|(name, value)| (Value::from(name), value));
    Value::from(fields.collect::<BTreeMap<_, _>>())
}
