//! Schemas from files.
//!
//! The keywords that schemas of Kubernetes resources use are supported, in drafts 4 to 2020-12. An unsupported
//! keyword with a meaning is an error: ignoring it would accept invalid resources.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use crate::port::go_json::{Json, JsonContent, JsonRef, Scalars, read};

use super::format::{Format, Named};
use super::schema::{Additional, Range, Schema, SchemaId, Schemas, Type, Types};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ParseError {
    /// The file is not a schema. kubeconform then looks for one elsewhere.
    #[error("{0} is not a JSON schema")]
    Invalid(String),
    /// The original can use the file, this port cannot.
    #[error("the schema {path} uses {what}, which is not supported natively; use --no-native")]
    Unsupported {
        path: String,
        /// The unsupported feature.
        what: String,
    },
}

/// Reads referenced files by path.
pub(crate) type ReadFile<'a> = dyn Fn(&str) -> Option<String> + 'a;

pub(crate) fn parse(path: &str, text: &str, files: &ReadFile<'_>) -> Result<Schemas, ParseError> {
    let mut parser = SchemaParser {
        files,
        documents: Vec::new(),
        schemas: Schemas::checking_formats(),
        made: HashMap::new(),
        open: Vec::new(),
    };
    let document = parser.add_document(path, text)?;
    parser.schema_at(document, 0);
    while let Some((id, document, place)) = parser.open.pop() {
        let json = Rc::clone(&parser.document(document)?.json);
        let schema = parser.schema(document, json.part(place))?;
        parser.schemas.set(id, schema);
    }
    Ok(parser.schemas)
}

struct SchemaParser<'a> {
    files: &'a ReadFile<'a>,
    documents: Vec<SchemaDocument>,
    schemas: Schemas,
    /// By document and index in it.
    made: HashMap<(usize, usize), SchemaId>,
    open: Vec<(SchemaId, usize, usize)>,
}

struct SchemaDocument {
    path: String,
    json: Rc<Json>,
    draft: u32,
}

const KEYWORDS_WITHOUT_SUPPORT: &[&str] = &[
    "$dynamicRef",
    "$recursiveRef",
    "additionalItems",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

impl SchemaParser<'_> {
    fn add_document(&mut self, path: &str, text: &str) -> Result<usize, ParseError> {
        let invalid = || ParseError::Invalid(path.to_owned());
        let tree = kiln_yaml::parse(text).ok().flatten().ok_or_else(invalid)?;
        let json = read(tree.root(), Scalars::Yaml12).map_err(|_| invalid())?;
        let draft = match json.root().get("$schema").and_then(JsonRef::as_str) {
            None => 4,
            Some(url) => draft(url).ok_or_else(invalid)?,
        };
        self.documents.push(SchemaDocument {
            path: path.to_owned(),
            json: Rc::new(json),
            draft,
        });
        Ok(self.documents.len() - 1)
    }

    fn document(&self, at: usize) -> Result<&SchemaDocument, ParseError> {
        let document = self.documents.get(at);
        document.ok_or_else(|| ParseError::Invalid(String::new()))
    }

    fn schema_at(&mut self, document: usize, place: usize) -> SchemaId {
        if let Some(id) = self.made.get(&(document, place)) {
            return *id;
        }
        let id = self.schemas.push(Schema::default());
        self.made.insert((document, place), id);
        self.open.push((id, document, place));
        id
    }

    fn schema(&mut self, document: usize, json: JsonRef<'_>) -> Result<Schema, ParseError> {
        if let JsonContent::Bool(verdict) = json.content() {
            return Ok(Schema {
                verdict: Some(verdict),
                ..Schema::default()
            });
        }
        if !json.is_object() {
            return Err(ParseError::Invalid(self.document(document)?.path.clone()));
        }
        let draft = self.document(document)?.draft;
        let mut schema = Schema::default();
        if let Some(reference) = json.get("$ref").and_then(JsonRef::as_str) {
            schema.reference = Some(self.reference(document, reference)?);
            schema.reference_only = draft < 2019;
            if schema.reference_only {
                return Ok(schema);
            }
        }
        for keyword in KEYWORDS_WITHOUT_SUPPORT {
            if json.get(keyword).is_some() {
                return Err(self.unsupported(document, format!("the keyword {keyword}")));
            }
        }
        self.read_values(document, json, draft, &mut schema)?;
        self.read_parts(document, json, draft, &mut schema)?;
        Ok(schema)
    }

    /// Keywords about a value itself.
    fn read_values(
        &self,
        document: usize,
        json: JsonRef<'_>,
        draft: u32,
        schema: &mut Schema,
    ) -> Result<(), ParseError> {
        schema.types = json.get("type").map(types).unwrap_or_default();
        schema.enumeration = json
            .get("enum")
            .map(|list| list.items().map(JsonRef::to_json).collect());
        schema.constant = json
            .get("const")
            .filter(|_| draft >= 6)
            .map(JsonRef::to_json);
        let range = |min: &str, max: &str| Range {
            min: count(json, min),
            max: count(json, max),
        };
        schema.properties_count = range("minProperties", "maxProperties");
        schema.items_count = range("minItems", "maxItems");
        schema.length = range("minLength", "maxLength");
        schema.is_unique = is_true(json, "uniqueItems");
        schema.multiple_of = number(json, "multipleOf");
        schema.minimum = number(json, "minimum");
        schema.maximum = number(json, "maximum");
        // In draft 4 a boolean excludes the limit itself.
        schema.exclusive_minimum = match is_true(json, "exclusiveMinimum") {
            true => schema.minimum.take(),
            false => number(json, "exclusiveMinimum"),
        };
        schema.exclusive_maximum = match is_true(json, "exclusiveMaximum") {
            true => schema.maximum.take(),
            false => number(json, "exclusiveMaximum"),
        };
        if let Some(pattern) = json.get("pattern").and_then(JsonRef::as_str) {
            schema.pattern = Some(self.pattern(document, pattern)?);
        }
        if let Some(required) = json.get("required") {
            let names = required.items().filter_map(JsonRef::as_str);
            schema.required = names.map(|name| Cow::Owned(name.to_owned())).collect();
        }
        let format = json.get("format").and_then(JsonRef::as_str);
        if let Some(format) = format.filter(|_| draft < 2019) {
            schema.format = match Format::named(format) {
                Named::Known(format) => Some(format),
                Named::Unchecked => None,
                Named::Missing => {
                    return Err(self.unsupported(document, format!("the format {format}")));
                }
            };
        }
        Ok(())
    }

    /// Keywords that contain schemas.
    fn read_parts(
        &mut self,
        document: usize,
        json: JsonRef<'_>,
        draft: u32,
        schema: &mut Schema,
    ) -> Result<(), ParseError> {
        let mut part = |json: JsonRef<'_>| self.schema_at(document, json.place());
        let list = |keyword: &str| json.get(keyword).into_iter().flat_map(JsonRef::items);
        schema.all_of = list("allOf").map(&mut part).collect();
        schema.any_of = list("anyOf").map(&mut part).collect();
        schema.one_of = list("oneOf").map(&mut part).collect();
        schema.not = json.get("not").map(&mut part);
        if draft >= 7
            && let Some(condition) = json.get("if")
        {
            schema.if_then_else = Some((
                part(condition),
                json.get("then").map(&mut part),
                json.get("else").map(&mut part),
            ));
        }
        match json.get("items") {
            Some(items) if items.content() == JsonContent::Array => {
                schema.first_items = items.items().map(&mut part).collect();
            }
            items => schema.items = items.map(&mut part),
        }
        if draft >= 2020 {
            schema
                .first_items
                .extend(list("prefixItems").map(&mut part));
        }
        schema.additional =
            json.get("additionalProperties")
                .and_then(|json| match json.content() {
                    JsonContent::Bool(true) => None,
                    JsonContent::Bool(false) => Some(Additional::Refused),
                    _ => Some(Additional::Schema(part(json))),
                });
        let fields = |keyword: &str| json.get(keyword).into_iter().flat_map(JsonRef::fields);
        schema.properties = fields("properties")
            .map(|(name, json)| (Cow::Owned(name.to_owned()), part(json)))
            .collect();
        for (pattern, json) in fields("patternProperties") {
            let id = self.schema_at(document, json.place());
            let pattern = self.pattern(document, pattern)?;
            schema.pattern_properties.push((pattern, id));
        }
        Ok(())
    }

    fn reference(&mut self, document: usize, reference: &str) -> Result<SchemaId, ParseError> {
        let (url, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let target = match url {
            "" => document,
            url => self.other_document(document, url)?,
        };
        let json = Rc::clone(&self.document(target)?.json);
        let place = match fragment {
            "" => Some(json.root()),
            fragment if fragment.starts_with('/') => pointer(json.root(), fragment),
            _ => None,
        };
        match place {
            Some(part) => Ok(self.schema_at(target, part.place())),
            None => Err(self.unsupported(document, format!("the reference {reference}"))),
        }
    }

    fn other_document(&mut self, document: usize, url: &str) -> Result<usize, ParseError> {
        let from = &self.document(document)?.path;
        let path = match url.strip_prefix("file://") {
            Some(path) => path.to_owned(),
            None if url.contains("://") => {
                return Err(self.unsupported(document, format!("the reference {url}")));
            }
            None => match from.rsplit_once('/') {
                Some((folder, _)) => format!("{folder}/{url}"),
                None => url.to_owned(),
            },
        };
        let known = self.documents.iter().position(|known| known.path == path);
        if let Some(known) = known {
            return Ok(known);
        }
        let text = (self.files)(&path).ok_or_else(|| ParseError::Invalid(path.clone()))?;
        self.add_document(&path, &text)
    }

    fn pattern(&self, document: usize, pattern: &str) -> Result<regex::Regex, ParseError> {
        let compiled = regex::Regex::new(pattern);
        compiled.map_err(|_| self.unsupported(document, format!("the pattern {pattern}")))
    }

    fn unsupported(&self, document: usize, what: String) -> ParseError {
        let path = self
            .document(document)
            .map(|document| document.path.clone());
        ParseError::Unsupported {
            path: path.unwrap_or_default(),
            what,
        }
    }
}

fn draft(url: &str) -> Option<u32> {
    let url = url.strip_suffix('#').unwrap_or(url);
    let url = url.strip_prefix("http://").or(url.strip_prefix("https://"));
    match url?.strip_prefix("json-schema.org/")? {
        "schema" | "draft/2020-12/schema" => Some(2020),
        "draft/2019-09/schema" => Some(2019),
        "draft-07/schema" => Some(7),
        "draft-06/schema" => Some(6),
        "draft-04/schema" => Some(4),
        _ => None,
    }
}

fn types(json: JsonRef<'_>) -> Types {
    let names = json.items().chain(Some(json)).filter_map(JsonRef::as_str);
    names
        .filter_map(Type::from_name)
        .fold(Types::default(), Types::with)
}

fn is_true(json: JsonRef<'_>, keyword: &str) -> bool {
    json.get(keyword).map(JsonRef::content) == Some(JsonContent::Bool(true))
}

fn number(json: JsonRef<'_>, keyword: &str) -> Option<f64> {
    match json.get(keyword)?.content() {
        JsonContent::Int(number) => Some(number as f64),
        JsonContent::Float(number) => Some(number),
        _ => None,
    }
}

fn count(json: JsonRef<'_>, keyword: &str) -> Option<usize> {
    match json.get(keyword)?.content() {
        JsonContent::Int(number) => usize::try_from(number).ok(),
        _ => None,
    }
}

fn pointer<'a>(json: JsonRef<'a>, pointer: &str) -> Option<JsonRef<'a>> {
    let mut names = pointer.split('/').skip(1);
    names.try_fold(json, |json, name| {
        let name = name.replace("~1", "/").replace("~0", "~");
        match json.content() {
            JsonContent::Array => json.items().nth(name.parse().ok()?),
            _ => json.get(&name),
        }
    })
}
