//! What token servers are asked and what they answer.

use std::time::Duration;

use super::{parse_token, token_call};
use crate::Credentials;

fn ask(credentials: &Credentials) -> (String, String, String, bool) {
    let realm = "https://auth/t?x=1".parse().unwrap();
    let scopes = ["repository:a/b:pull".to_owned()];
    let (call, shown) = token_call(&realm, "s s", &scopes, credentials).unwrap();
    let body = String::from_utf8(call.body.to_vec()).unwrap();
    (
        call.method.to_string(),
        call.url.to_string(),
        body,
        shown.is_some(),
    )
}

#[test]
fn passwords_are_shown_and_identities_exchanged() {
    let scope = "repository%3Aa%2Fb%3Apull";
    let url = format!("https://auth/t?x=1&service=s%20s&scope={scope}");
    let (method, asked, body, shown) = ask(&Credentials::Anonymous);
    assert_eq!(
        (method.as_str(), asked.as_str(), body.as_str(), shown),
        ("GET", url.as_str(), "", false)
    );

    let (method, asked, body, shown) = ask(&Credentials::Basic {
        username: "me&".to_owned(),
        password: "p".to_owned(),
    });
    let with_account = format!("{url}&account=me%26");
    assert_eq!(
        (method.as_str(), asked.as_str(), body.as_str(), shown),
        ("GET", with_account.as_str(), "", true)
    );

    let (method, asked, body, shown) = ask(&Credentials::Identity("id=".to_owned()));
    let form = format!(
        "grant_type=refresh_token&service=s%20s&client_id=kiln&scope={scope}&refresh_token=id%3D"
    );
    assert_eq!(
        (method.as_str(), asked.as_str(), shown),
        ("POST", "https://auth/t?x=1", false)
    );
    assert_eq!(body, form);
}

#[test]
fn answers_have_one_name_or_the_other() {
    let token =
        |text: &str| parse_token(text.as_bytes()).map(|token| (token.text, token.life.as_secs()));
    assert_eq!(token(r#"{"token":"a"}"#), Some(("a".to_owned(), 60)));
    assert_eq!(
        token(r#"{"token":"","access_token":"b","expires_in":300}"#),
        Some(("b".to_owned(), 300))
    );
    assert_eq!(
        token(r#"{"token":null,"access_token":"b","expires_in":-1}"#),
        Some(("b".to_owned(), 60))
    );
    assert_eq!(
        token(r#"{"token":"a","expires_in":1e300}"#),
        Some(("a".to_owned(), 60))
    );
    assert_eq!(token("{}"), None);
    assert_eq!(token("<html>"), None);
    assert_eq!(
        parse_token(br#"{"token":"a","expires_in":0.5}"#)
            .unwrap()
            .life,
        Duration::from_millis(500)
    );
}
