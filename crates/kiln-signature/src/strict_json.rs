//! JSON without repeated keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::rejection::{Rejection, quoted};

/// A value. Numbers, booleans and `null` are of no interest here.
#[derive(Debug)]
pub(crate) enum StrictJson {
    Text(String),
    List(Vec<StrictJson>),
    Object(BTreeMap<String, StrictJson>),
    Other,
}

impl StrictJson {
    /// Reads one value. `part` names it in messages.
    pub(crate) fn parse(part: &'static str, bytes: &[u8]) -> Result<StrictJson, Rejection> {
        serde_json::from_slice(bytes).map_err(|error| Rejection::Json {
            part,
            problem: quoted(&error.to_string()),
        })
    }

    /// The value at a path of keys.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&StrictJson> {
        path.iter().try_fold(self, |value, key| match value {
            StrictJson::Object(object) => object.get(*key),
            _ => None,
        })
    }

    pub(crate) fn text(&self, path: &[&str]) -> Option<&str> {
        match self.get(path)? {
            StrictJson::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self, path: &[&str]) -> Option<&[StrictJson]> {
        match self.get(path)? {
            StrictJson::List(list) => Some(list),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StrictJson, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = StrictJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<StrictJson, E> {
        Ok(StrictJson::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<StrictJson, E> {
        Ok(StrictJson::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<StrictJson, E> {
        Ok(StrictJson::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<StrictJson, E> {
        Ok(StrictJson::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<StrictJson, E> {
        Ok(StrictJson::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StrictJson, E> {
        Ok(StrictJson::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<StrictJson, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(StrictJson::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<StrictJson, A::Error> {
        let mut object = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let problem = format!("the key {:?} is repeated", quoted(&key));
                return Err(A::Error::custom(problem));
            }
            object.insert(key, entries.next_value()?);
        }
        Ok(StrictJson::Object(object))
    }
}
