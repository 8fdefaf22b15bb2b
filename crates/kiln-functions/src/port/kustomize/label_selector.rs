//! Label selectors of Kubernetes: `app=web,tier in (a, b),!old`.

/// A parsed selector: all of its requirements must be met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Requirement {
    key: String,
    operator: SelectorOperator,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SelectorOperator {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SelectorError(String);

impl LabelSelector {
    /// Parses a selector; an empty one selects everything.
    pub(crate) fn parse(text: &str) -> Result<LabelSelector, SelectorError> {
        let mut parser = SelectorParser {
            tokens: tokens(text),
            at: 0,
        };
        let mut requirements = Vec::new();
        loop {
            match parser.peek().clone() {
                SelectorToken::Word(_) | SelectorToken::Sign("!") => {
                    let requirement = parser.requirement().map_err(|SelectorError(error)| {
                        SelectorError(format!("unable to parse requirement: {error}"))
                    })?;
                    requirements.push(requirement);
                    match parser.next() {
                        SelectorToken::End => break,
                        SelectorToken::Sign(",") => match parser.peek() {
                            SelectorToken::Word(_) | SelectorToken::Sign("!") => {}
                            other => {
                                return Err(SelectorError(format!(
                                    "found '{}', expected: identifier after ','",
                                    other.text()
                                )));
                            }
                        },
                        other => {
                            return Err(SelectorError(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.text()
                            )));
                        }
                    }
                }
                SelectorToken::End => break,
                other => {
                    return Err(SelectorError(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    )));
                }
            }
        }
        Ok(LabelSelector { requirements })
    }

    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                SelectorOperator::Exists => value.is_some(),
                SelectorOperator::Missing => value.is_none(),
                SelectorOperator::In(values) => {
                    value.is_some_and(|v| values.iter().any(|w| w == v))
                }
                SelectorOperator::NotIn(values) => {
                    value.is_none_or(|v| values.iter().all(|w| w != v))
                }
                SelectorOperator::Above(limit) => number().is_some_and(|number| number > *limit),
                SelectorOperator::Below(limit) => number().is_some_and(|number| number < *limit),
            }
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SelectorToken {
    Word(String),
    Sign(&'static str),
    End,
}

impl SelectorToken {
    fn text(&self) -> &str {
        match self {
            SelectorToken::Word(word) => word,
            SelectorToken::Sign(sign) => sign,
            SelectorToken::End => "",
        }
    }
}

const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<SelectorToken> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let length = match sign {
            Some(sign) => {
                tokens.push(SelectorToken::Sign(sign));
                sign.len()
            }
            None => {
                let is_end = |c: char| c.is_ascii_whitespace() || "=!(),><".contains(c);
                let end = rest.find(is_end).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                tokens.push(SelectorToken::Word(word.to_owned()));
                end
            }
        };
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    tokens
}

struct SelectorParser {
    tokens: Vec<SelectorToken>,
    at: usize,
}

impl SelectorParser {
    fn peek(&self) -> &SelectorToken {
        self.tokens.get(self.at).unwrap_or(&SelectorToken::End)
    }

    fn next(&mut self) -> SelectorToken {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let is_negated = *self.peek() == SelectorToken::Sign("!");
        self.at += usize::from(is_negated);
        let key = match self.next() {
            SelectorToken::Word(key) => key,
            other => {
                return Err(SelectorError(format!(
                    "found '{}', expected: identifier",
                    other.text()
                )));
            }
        };
        check_key(&key)?;
        let operator = if is_negated {
            SelectorOperator::Missing
        } else if matches!(self.peek(), SelectorToken::End | SelectorToken::Sign(",")) {
            SelectorOperator::Exists
        } else {
            self.comparison()?
        };
        Ok(Requirement { key, operator })
    }

    fn comparison(&mut self) -> Result<SelectorOperator, SelectorError> {
        let word = self.next();
        let number = |value: String| {
            let refused = || {
                let text = "for 'Gt', 'Lt' operators, the value must be an integer";
                SelectorError(text.to_owned())
            };
            value.parse::<i64>().map_err(|_| refused())
        };
        Ok(match &word {
            SelectorToken::Sign("=" | "==") => SelectorOperator::In(vec![self.value()]),
            SelectorToken::Sign("!=") => SelectorOperator::NotIn(vec![self.value()]),
            SelectorToken::Sign(">") => SelectorOperator::Above(number(self.value())?),
            SelectorToken::Sign("<") => SelectorOperator::Below(number(self.value())?),
            SelectorToken::Word(word) if word == "in" => SelectorOperator::In(self.values()?),
            SelectorToken::Word(word) if word == "notin" => SelectorOperator::NotIn(self.values()?),
            other => {
                return Err(SelectorError(format!(
                    "found '{}', expected: '=', '!=', '==', 'in', notin'",
                    other.text()
                )));
            }
        })
    }

    /// The value to compare with; it may be empty.
    fn value(&mut self) -> String {
        match self.peek().clone() {
            SelectorToken::Word(value) => {
                self.at += 1;
                value
            }
            _ => String::new(),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        match self.next() {
            SelectorToken::Sign("(") => {}
            other => {
                return Err(SelectorError(format!(
                    "found '{}' expected: '('",
                    other.text()
                )));
            }
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value());
            match self.next() {
                SelectorToken::Sign(",") => {}
                SelectorToken::Sign(")") => return Ok(values),
                other => {
                    return Err(SelectorError(format!(
                        "found '{}', expected: ',' or ')'",
                        other.text()
                    )));
                }
            }
        }
    }
}

/// Rejects a key that no label can have.
fn check_key(key: &str) -> Result<(), SelectorError> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                        validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let complaint = if name.contains('/') {
        format!(
            "a qualified name {RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
    } else if name.is_empty() {
        "name part must be non-empty".to_owned()
    } else if bytes.len() > 63 {
        "name part must be no more than 63 characters".to_owned()
    } else if !is_edge(bytes.first()) || !is_edge(bytes.last()) || !bytes.iter().all(is_inner) {
        format!("name part {RULE}")
    } else {
        return Ok(());
    };
    let key = kiln_go::quote(key);
    Err(SelectorError(format!(
        "invalid label key {key}: {complaint}"
    )))
}

#[cfg(test)]
mod tests {
    use super::LabelSelector;

    #[track_caller]
    fn check(selector: &str, expected: bool) {
        let label = |key: &str| match key {
            "app" => Some("web"),
            "size" => Some("12"),
            "none" => Some(""),
            _ => None,
        };
        let parsed = LabelSelector::parse(selector).unwrap();
        assert_eq!(parsed.matches(label), expected, "{selector}");
    }

    #[test]
    fn labels_are_compared() {
        for selector in [
            "",
            "app",
            "!old",
            "app=web",
            "app == web , size!=3",
            "app in (api, web)",
            "tier notin (db)",
            "none=",
            "size>11,size<13",
        ] {
            check(selector, true);
        }
        for selector in [
            "old",
            "!app",
            "app=api",
            "app notin (web)",
            "app!=web",
            "size>12",
        ] {
            check(selector, false);
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for selector in [
            "=web",
            "app=web,",
            "app in web",
            "app web",
            "(app)",
            "size>x",
        ] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
