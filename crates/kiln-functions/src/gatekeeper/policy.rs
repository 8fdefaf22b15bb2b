//! Policies in Rego, and the engine that evaluates them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Instant;

use kiln_yaml::go_quote;
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};

use crate::function::Context;
use crate::sdk::json::{Content, JsonRef};

use super::template::Template;
use super::{Halt, TARGET, builtins, openapi, references, unique};

/// A policy that can be asked.
pub(super) struct Policy {
    kind: String,
    parameters: Option<openapi::Schema>,
    engine: Engine,
    /// The path of what it finds.
    rule: String,
}

/// How deep brackets of a policy may nest.
const MAX_NESTING: usize = 14;

/// How much work is done between looks at the clock.
const STEPS: NonZeroU32 = NonZeroU32::MIN.saturating_add(999);

impl Policy {
    pub(super) fn new(template: Template<'_>) -> Result<Policy, String> {
        let refused = |why: String| format!("adding template {}: {why}", go_quote(template.name));
        let invalid = |why: String| refused(format!("invalid ConstraintTemplate: {why}"));
        let path = format!("templates[\"{TARGET}\"][\"{}\"]", template.kind);
        if is_blank(template.rego) {
            return Err(invalid(format!("{path}:0: rego_parse_error: empty module")));
        }
        let mut sources = template.libs.iter().chain([&template.rego]);
        if sources.any(|rego| references::nesting(rego) > MAX_NESTING) {
            return Err(invalid(format!(
                "{path}: brackets are nested deeper than {MAX_NESTING} levels, which is not supported natively; use \
                 --no-native"
            )));
        }
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        engine.set_strict_builtin_errors(false);
        builtins::add(&mut engine)?;
        let package = engine
            .add_policy(path.clone(), builtins::redirect(template.rego))
            .map_err(|error| invalid(told(&path, "rego_parse_error", &error.to_string())))?;
        let has_rule = engine.has_declared_rule_rooted_at(&path, "violation");
        if !has_rule.unwrap_or_default() {
            return Err(invalid(
                "invalid rego: invalid module: missing required rules: [violation]".to_owned(),
            ));
        }
        let disallowed = references::disallowed(template.rego);
        if !disallowed.is_empty() {
            let lines: Vec<String> = disallowed
                .iter()
                .map(|reference| format!("\ndisallowed ref {reference}"))
                .collect();
            return Err(invalid(format!(
                "invalid data references: check refs failed on module {{{path}}}: errors ({}):{}",
                lines.len(),
                lines.concat()
            )));
        }
        for (at, lib) in template.libs.iter().enumerate() {
            let path = format!("libs.{TARGET}.{}[\"lib_{at}\"]", template.kind);
            let added = engine.add_policy(path.clone(), builtins::redirect(lib));
            added.map_err(|error| invalid(told(&path, "rego_parse_error", &error.to_string())))?;
        }
        let rule = format!("{package}.violation");
        let entry = format!("__modset_{path}_idx_0");
        let mut probe = engine.clone();
        let compiled = probe.compile_with_entrypoint(&rule.as_str().into());
        let fault = match compiled {
            Err(error) => Some(error),
            // The engine looks for functions when it comes to them.
            Ok(_) => probe.eval_rule(rule.clone()).err().filter(|error| {
                let text = error.to_string();
                text.contains("could not find function")
            }),
        };
        if let Some(error) = fault {
            let why = told(&entry, "rego_type_error", &error.to_string());
            return Err(refused(format!(
                "unable to compile modules: unable to compile modules: {why}"
            )));
        }
        Ok(Policy {
            kind: template.kind.to_owned(),
            parameters: template.parameters.map(openapi::Schema::read),
            engine,
            rule,
        })
    }

    /// The kind of its constraints.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// What parameters must look like.
    pub(super) fn parameters(&self) -> Option<&openapi::Schema> {
        self.parameters.as_ref()
    }

    pub(super) fn set_inventory(&mut self, inventory: Value) -> Result<(), String> {
        let added = self.engine.add_data(object([("inventory", inventory)]));
        added.map_err(|error| in_target(&error.to_string()))
    }

    /// What the policy has against a resource, each thing once.
    pub(super) fn violations(
        &mut self,
        review: Value,
        parameters: Value,
        ctx: &Context<'_>,
    ) -> Result<Vec<String>, Halt> {
        if let Some(deadline) = ctx.run.deadline {
            self.engine
                .set_execution_timer_config(ExecutionTimerConfig {
                    limit: deadline.at.saturating_duration_since(Instant::now()),
                    check_interval: STEPS,
                });
        }
        let input = [("review", review), ("parameters", parameters)];
        self.engine.set_input(object(input));
        let found = match self.engine.eval_rule(self.rule.clone()) {
            Ok(found) => found,
            Err(error) => {
                ctx.check().map_err(Halt::Stopped)?;
                let path = format!("__modset_templates[\"{TARGET}\"][\"{}\"]_idx_0", self.kind);
                let why = told(&path, "eval_internal_error", &error.to_string());
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

/// An error of evaluation as the original's client tells it.
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

/// Whether there is nothing but comments.
fn is_blank(rego: &str) -> bool {
    let mut lines = rego.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

const ONE_ERROR: &str = "1 error occurred: ";

/// An error of the engine in OPA's form. The engine draws the place; the reason follows `error: `.
fn told(path: &str, code: &str, error: &str) -> String {
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

/// The reasons that OPA has words of its own for.
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

/// A value for the engine. Nesting was limited when the value was written as text.
pub(super) fn value(json: JsonRef<'_>) -> Value {
    match json.content() {
        Content::Null => Value::Null,
        Content::Bool(value) => Value::from(value),
        Content::Int(value) => Value::from(value),
        Content::Float(value) => Value::from(value),
        Content::String(text) => Value::from(text),
        Content::Array => Value::from(json.items().map(value).collect::<Vec<_>>()),
        Content::Object => object(json.fields().map(|(name, part)| (name, value(part)))),
    }
}

/// An object from its fields.
pub(super) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let fields = fields.into_iter();
    let fields = fields.map(|(name, value)| (Value::from(name), value));
    Value::from(fields.collect::<BTreeMap<_, _>>())
}
