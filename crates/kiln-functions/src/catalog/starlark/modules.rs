//! The modules that scripts can load.

use std::any::Any;
use std::rc::Rc;

use kiln_starlark::{
    Arguments, Builtin, Context, Failure, Members, Module, NativeFn, Object, Value, ValueKind,
};

use super::yaml_v2;

pub(super) struct Library {
    /// How `krmfn.match_gvk` compares; `None` before `krmfn` existed.
    pub(super) match_gvk: Option<MatchGvk>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MatchGvk {
    /// The whole `apiVersion`.
    ApiVersion,
    /// The whole `apiVersion` with a version alone, so that only the core group can match.
    CoreOnly,
    /// Only the parts that both sides have.
    Lenient,
}

/// Modules of the original that are not built in, with their names.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("bsoup.star", "bsoup"),
    ("geo.star", "geo"),
    ("html.star", "html"),
    ("http.star", "http"),
    ("time.star", "time"),
    ("xlsx.star", "xlsx"),
    ("zipfile.star", "ZipFile"),
];

/// A placeholder for a module that is not built in: it can be loaded, but a script that uses it fails.
struct Missing(String);

impl Object for Missing {
    fn type_name(&self) -> &str {
        &self.0
    }

    fn repr(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Library {
    /// The members of a module. The original finds no members in unknown modules.
    pub(super) fn find(&self, module: &str) -> Members {
        match (module, self.match_gvk) {
            ("krmfn.star", Some(match_gvk)) => vec![("krmfn".to_owned(), krmfn(match_gvk))],
            ("encoding/yaml.star", _) => vec![("yaml".to_owned(), yaml_v2::module())],
            _ => match UNSUPPORTED.iter().find(|(other, _)| *other == module) {
                Some((module, name)) => {
                    let missing = format!("{module}, not built in (needs --no-native),");
                    let value = Value::object(Rc::new(Missing(missing)));
                    vec![((*name).to_owned(), value)]
                }
                None => kiln_starlark::modules::find(module).unwrap_or_default(),
            },
        }
    }
}

fn krmfn(match_gvk: MatchGvk) -> Value {
    let match_gvk: NativeFn = match match_gvk {
        MatchGvk::ApiVersion => match_api_version,
        MatchGvk::CoreOnly => match_core,
        MatchGvk::Lenient => match_lenient,
    };
    let functions = [
        ("match_gvk", match_gvk),
        ("match_name", match_name),
        ("match_namespace", match_namespace),
    ];
    let members = functions.map(|(name, function)| {
        let function = Value::from(Builtin::new(name, function));
        (name.to_owned(), function)
    });
    Value::from(Module::new("krmfn", members.into()))
}

/// A string of a resource; empty if it is missing.
fn text_at(ctx: &Context<'_>, resource: &Value, path: &[&str]) -> Result<String, Failure> {
    let mut current = resource.clone();
    for key in path {
        let next = match current.kind() {
            ValueKind::Dict(dict) => dict.get_str(key),
            _ => None,
        };
        let Some(next) = next else {
            return Ok(String::new());
        };
        current = next;
    }
    Ok(match current.kind() {
        ValueKind::String(text) => {
            ctx.allocate(text.len())?;
            String::from_utf8_lossy(text).into_owned()
        }
        _ => String::new(),
    })
}

/// The resource and the strings that a function was called with.
fn arguments<const N: usize>(args: &Arguments<'_>) -> Result<(Value, [String; N]), Failure> {
    args.count(N + 1, N + 1)?;
    let mut texts = [const { String::new() }; N];
    for (place, text) in texts.iter_mut().enumerate() {
        *text = String::from_utf8_lossy(args.text(place + 1)?).into_owned();
    }
    let resource = args.get(0).cloned().unwrap_or(Value::NONE);
    if !matches!(resource.kind(), ValueKind::Dict(_)) {
        return Err(Failure::new("expected exactly one object, got 0"));
    }
    Ok((resource, texts))
}

fn match_api_version(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (resource, [api_version, kind]) = arguments(args)?;
    let same = text_at(ctx, &resource, &["apiVersion"])? == api_version
        && text_at(ctx, &resource, &["kind"])? == kind;
    Ok(Value::from(same))
}

fn match_core(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (resource, [version, kind]) = arguments(args)?;
    let own = text_at(ctx, &resource, &["apiVersion"])?;
    let (own_group, own_version) = group_and_version(&own);
    let same = own_group.is_empty()
        && own_version == version
        && text_at(ctx, &resource, &["kind"])? == kind;
    Ok(Value::from(same))
}

fn match_lenient(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (resource, [api_version, kind]) = arguments(args)?;
    let own = text_at(ctx, &resource, &["apiVersion"])?;
    let (own_group, own_version) = group_and_version(&own);
    let (group, version) = group_and_version(&api_version);
    let agree = |own: &str, given: &str| own.is_empty() || given.is_empty() || own == given;
    let same = agree(&text_at(ctx, &resource, &["kind"])?, &kind)
        && agree(own_group, group)
        && agree(own_version, version);
    Ok(Value::from(same))
}

fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn match_name(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (resource, [name]) = arguments(args)?;
    Ok(Value::from(
        text_at(ctx, &resource, &["metadata", "name"])? == name,
    ))
}

fn match_namespace(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (resource, [namespace]) = arguments(args)?;
    Ok(Value::from(
        text_at(ctx, &resource, &["metadata", "namespace"])? == namespace,
    ))
}
