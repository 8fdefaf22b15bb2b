//! Selection by labels as Kubernetes writes it: `app=web,tier in (a, b),!old`.

/// A parsed selector: all of its requirements must be met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Operator {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// What cannot be understood of a selector.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SelectorError(String);

impl LabelSelector {
    /// Reads a selector; an empty one selects all.
    pub(crate) fn parse(text: &str) -> Result<LabelSelector, SelectorError> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let mut requirements = Vec::new();
        loop {
            match parser.peek().clone() {
                Token::Word(_) | Token::Sign("!") => {
                    let requirement = parser.requirement().map_err(|SelectorError(error)| {
                        SelectorError(format!("unable to parse requirement: {error}"))
                    })?;
                    requirements.push(requirement);
                    match parser.next() {
                        Token::End => break,
                        Token::Sign(",") => match parser.peek() {
                            Token::Word(_) | Token::Sign("!") => {}
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
                Token::End => break,
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

    /// Whether labels meet all requirements.
    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::Missing => value.is_none(),
                Operator::In(values) => value.is_some_and(|v| values.iter().any(|w| w == v)),
                Operator::NotIn(values) => value.is_none_or(|v| values.iter().all(|w| w != v)),
                Operator::Above(limit) => number().is_some_and(|number| number > *limit),
                Operator::Below(limit) => number().is_some_and(|number| number < *limit),
            }
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Token::Word(word) => word,
            Token::Sign(sign) => sign,
            Token::End => "",
        }
    }
}

const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let length = match sign {
            Some(sign) => {
                tokens.push(Token::Sign(sign));
                sign.len()
            }
            None => {
                let is_end = |c: char| c.is_ascii_whitespace() || "=!(),><".contains(c);
                let end = rest.find(is_end).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                tokens.push(Token::Word(word.to_owned()));
                end
            }
        };
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let is_negated = *self.peek() == Token::Sign("!");
        self.at += usize::from(is_negated);
        let key = match self.next() {
            Token::Word(key) => key,
            other => {
                return Err(SelectorError(format!(
                    "found '{}', expected: identifier",
                    other.text()
                )));
            }
        };
        check_key(&key)?;
        let operator = if is_negated {
            Operator::Missing
        } else if matches!(self.peek(), Token::End | Token::Sign(",")) {
            Operator::Exists
        } else {
            self.comparison()?
        };
        Ok(Requirement { key, operator })
    }

    fn comparison(&mut self) -> Result<Operator, SelectorError> {
        let word = self.next();
        let number = |value: String| {
            let refused = || {
                let text = "for 'Gt', 'Lt' operators, the value must be an integer";
                SelectorError(text.to_owned())
            };
            value.parse::<i64>().map_err(|_| refused())
        };
        Ok(match &word {
            Token::Sign("=" | "==") => Operator::In(vec![self.value()]),
            Token::Sign("!=") => Operator::NotIn(vec![self.value()]),
            Token::Sign(">") => Operator::Above(number(self.value())?),
            Token::Sign("<") => Operator::Below(number(self.value())?),
            Token::Word(word) if word == "in" => Operator::In(self.values()?),
            Token::Word(word) if word == "notin" => Operator::NotIn(self.values()?),
            other => {
                return Err(SelectorError(format!(
                    "found '{}', expected: '=', '!=', '==', 'in', notin'",
                    other.text()
                )));
            }
        })
    }

    /// What is compared with; nothing stands for the empty text.
    fn value(&mut self) -> String {
        match self.peek().clone() {
            Token::Word(value) => {
                self.at += 1;
                value
            }
            _ => String::new(),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        match self.next() {
            Token::Sign("(") => {}
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
                Token::Sign(",") => {}
                Token::Sign(")") => return Ok(values),
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

/// Complains about a key that no label can have.
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
