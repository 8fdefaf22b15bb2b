//! Where schemas come from.
//!
//! A location is a folder or a path template, as in kubeconform. Only files that the user passed to the function are
//! read; without a location the built-in schemas are used, as the original uses those of its image. The network is
//! not accessible.

use crate::function::Files;
use crate::port::jsonschema::{ParseError, Schemas, TypeTable, UnknownFields, kind_suffix, parse};

use super::config::KubeconformConfig;

pub(super) struct Locations<'a> {
    templates: Vec<String>,
    unknown_fields: UnknownFields,
    files: &'a dyn Files,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum LocationError {
    #[error(
        "the schema location {0:?} is on the network, which functions that are built in do not use; give --no-native \
         to run the function as the image it is"
    )]
    Network(String),
    #[error("failed to run kubeconform: exit status 1")]
    Template,
    #[error(transparent)]
    Schema(#[from] ParseError),
}

/// The suffix that the original adds to a location that is not a template.
const LAYOUT: &str = "/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json";

/// The folder with the schemas of the original's image.
const BUILT_IN: &str = "/jsonschema";

impl<'a> Locations<'a> {
    pub(super) fn new(
        config: &KubeconformConfig,
        files: &'a dyn Files,
    ) -> Result<Locations<'a>, LocationError> {
        let mut templates = Vec::new();
        for location in &config.locations {
            if location == "default" || location.starts_with("http") {
                return Err(LocationError::Network(location.clone()));
            }
            let path = location.strip_prefix("file://").unwrap_or(location);
            let template = match location.ends_with("json") {
                true => path.to_owned(),
                false => format!("{path}{LAYOUT}"),
            };
            // Errors are found before the first resource is checked.
            fill_in(&template, "v1", "Deployment", UnknownFields::Refused)?;
            templates.push(template);
        }
        Ok(Locations {
            templates,
            unknown_fields: config.unknown_fields,
            files,
        })
    }

    pub(super) fn find(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Schemas>, LocationError> {
        let built_in = || TypeTable::current().schema(api_version, kind, self.unknown_fields);
        if self.templates.is_empty() {
            return Ok(built_in());
        }
        let own_layout = format!("{BUILT_IN}{LAYOUT}");
        for template in &self.templates {
            let path = fill_in(template, api_version, kind, self.unknown_fields)?;
            let schema = match self.files.read(&path) {
                Some(text) => parse(&path, &text, &|path| self.files.read(path)),
                None if *template == own_layout => match built_in() {
                    Some(schema) => Ok(schema),
                    None => continue,
                },
                None => continue,
            };
            match schema {
                Ok(schema) => return Ok(Some(schema)),
                Err(ParseError::Invalid(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// Fills in the fields of a template. Every action other than a field is an error.
fn fill_in(
    template: &str,
    api_version: &str,
    kind: &str,
    unknown_fields: UnknownFields,
) -> Result<String, LocationError> {
    let mut parts = api_version.split('/');
    let group = parts.next().unwrap_or_default();
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (field, after) = after.split_once("}}").ok_or(LocationError::Template)?;
        filled.push_str(before);
        match field.trim() {
            ".NormalizedKubernetesVersion" => filled.push_str("master"),
            ".StrictSuffix" if unknown_fields == UnknownFields::Refused => {
                filled.push_str("-strict");
            }
            ".StrictSuffix" => {}
            ".ResourceKind" => filled.push_str(&kind.to_lowercase()),
            ".ResourceAPIVersion" => {
                filled.push_str(api_version.rsplit('/').next().unwrap_or_default());
            }
            ".Group" => filled.push_str(group),
            ".KindSuffix" => filled.push_str(&kind_suffix(api_version)),
            _ => return Err(LocationError::Template),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
