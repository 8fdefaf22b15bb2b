//! What a policy may refer to: of `data`, only the inventory and its own libraries.

/// References to other parts of `data`, sorted and without duplicates.
pub(super) fn disallowed(rego: &str) -> Vec<String> {
    let mut found = Vec::new();
    for reference in references(rego) {
        let root = reference.split('.').nth(1);
        if !matches!(root, None | Some("inventory" | "lib")) && !found.contains(&reference) {
            found.push(reference);
        }
    }
    found
}

/// All text of the form `data.x.y` outside of strings and comments.
fn references(rego: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut chars = rego.chars().peekable();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    while let Some(c) = chars.next() {
        if is_word(c) {
            word.push(c);
            continue;
        }
        if word.starts_with("data.") {
            found.push(std::mem::take(&mut word));
        }
        word.clear();
        match c {
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '`' => while chars.next().is_some_and(|c| c != '`') {},
            '"' => {
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    match c {
                        '"' => break,
                        '\\' => _ = chars.next(),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if word.starts_with("data.") {
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::disallowed;

    #[test]
    fn only_the_inventory_and_libraries_are_data() {
        let rego = "import data.lib.x\n# data.comment\na { data.inventory.cluster[_]; data.foo.bar; \
                    contains(\"data.text\", `data.raw`); input.data.field; data.foo.bar; data.other }";
        assert_eq!(disallowed(rego), ["data.foo.bar", "data.other"]);
    }
}
