//! The recorded pairs: those with inputs of our own in `conformance/yaml`, the others beside the repository.

use std::fs;
use std::path::PathBuf;

/// A recorded case: the input and what Go makes of it.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) input: Vec<u8>,
    fields: serde_json::Map<String, serde_json::Value>,
}

/// The cases of a set. One that is not in the repository is skipped, loudly, where it is not at hand.
pub(crate) fn yaml_pairs(set: &str) -> Vec<Case> {
    let repository = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let shared =
        std::env::var_os("KILN_SHARED").map_or_else(|| repository.join("../shared"), PathBuf::from);
    let file = format!("conformance/yaml/{set}.jsonl");
    let found = [repository, shared]
        .iter()
        .find_map(|root| fs::read_to_string(root.join(&file)).ok());
    let Some(text) = found else {
        eprintln!("SKIPPED: no recorded pairs {set}.jsonl; set KILN_SHARED");
        return Vec::new();
    };
    text.lines().map(Case::parse).collect()
}

impl Case {
    fn parse(line: &str) -> Case {
        let mut deserializer = serde_json::Deserializer::from_str(line);
        deserializer.disable_recursion_limit();
        let value =
            serde_json::Value::deserialize(&mut deserializer).expect("a recorded case is JSON");
        let serde_json::Value::Object(fields) = value else {
            panic!("a recorded case is an object");
        };
        Case {
            id: fields["id"].to_string(),
            input: bytes(&fields["in"]).expect("a recorded case has an input"),
            fields,
        }
    }

    /// What Go writes for a kind.
    pub(crate) fn written(&self, kind: &str) -> Option<Vec<u8>> {
        let value = self.fields.get(kind)?;
        match value.get("same").and_then(|same| same.as_str()) {
            Some("in") => Some(self.input.clone()),
            Some(same) => self.written(same),
            None => bytes(value),
        }
    }

    /// What Go says where it refuses.
    pub(crate) fn refusal(&self, kind: &str) -> Option<&str> {
        self.fields.get("refused")?.get(kind)?.as_str()
    }
}

fn bytes(value: &serde_json::Value) -> Option<Vec<u8>> {
    use base64::Engine as _;
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let encoded = value.get("base64")?.as_str()?;
    base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()
}

use serde::Deserialize as _;
