//! kubectl's `-o custom-columns=`: a header and a path for each column.

use anyhow::{Result, bail};
use serde_json::Value;

use super::jsonpath::Path;
use crate::rpkg::table::table;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Column {
    header: String,
    path: Path,
}

/// Reads `HEADER:PATH,…`.
pub(super) fn parse(text: &str) -> Result<Vec<Column>> {
    if text.is_empty() {
        bail!("custom-columns format specified but no custom columns given");
    }
    let column = |text: &str| -> Result<Column> {
        let Some((header, path)) = text.split_once(':') else {
            bail!("unexpected custom-columns spec: {text}, expected <header>:<json-path-expr>");
        };
        Ok(Column {
            header: header.to_owned(),
            path: Path::parse(path)?,
        })
    };
    text.split(',').map(column).collect()
}

pub(super) fn text(columns: &[Column], objects: &[Value], has_headers: bool) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    if has_headers && !objects.is_empty() {
        rows.push(columns.iter().map(|column| column.header.clone()).collect());
    }
    for object in objects {
        let cells = columns.iter().map(|column| cell(&column.path, object));
        rows.push(cells.collect());
    }
    table(&rows)
}

fn cell(path: &Path, object: &Value) -> String {
    let values: Vec<String> = path.find(object, object).into_iter().map(go_text).collect();
    match values.is_empty() {
        true => "<none>".to_owned(),
        false => values.join(","),
    }
}

/// A value as Go prints it. The recursion is bounded because kiln makes the objects itself.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_text).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key, go_text(value)));
            let fields: Vec<String> = fields.map(|(key, text)| format!("{key}:{text}")).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{parse, text};

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let objects = [
            json!({"a": {"name": "x"}, "n": -1, "l": [1, {"b": "c"}]}),
            json!({"a": {"name": "longer"}, "n": null}),
        ];
        let columns = parse("NAME:.a.name,N:{.n},L:l,REST:.none").expect("columns");
        assert_eq!(
            text(&columns, &objects, true),
            "NAME     N       L              REST\n\
             x        -1      [1 map[b:c]]   <none>\n\
             longer   <nil>   <none>         <none>\n"
        );
        assert_eq!(
            text(&parse("X:.n").expect("a column"), &objects, false),
            "-1\n<nil>\n"
        );
    }

    #[test]
    fn mistakes_are_errors() {
        for (spec, message) in [
            (
                "",
                "custom-columns format specified but no custom columns given",
            ),
            (
                "A",
                "unexpected custom-columns spec: A, expected <header>:<json-path-expr>",
            ),
            (
                "A:{.x",
                "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
            ),
        ] {
            let error = parse(spec).expect_err("a mistake");
            assert_eq!(error.to_string(), message);
        }
    }
}
