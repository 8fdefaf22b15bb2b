//! Token requests and responses.

use std::time::Duration;

use super::{parse_token, token_request};
use crate::credentials::Credentials;

fn sent(credentials: &Credentials) -> (String, String, String, bool) {
    let realm = "https://auth/t?x=1".parse().unwrap();
    let scopes = ["repository:a/b:pull".to_owned()];
    let (request, authorization) = token_request(&realm, "s s", &scopes, credentials).unwrap();
    let body = String::from_utf8(request.body.to_vec()).unwrap();
    (
        request.method.to_string(),
        request.url.to_string(),
        body,
        authorization.is_some(),
    )
}

#[test]
fn passwords_are_sent_and_identity_tokens_exchanged() {
    let scope = "repository%3Aa%2Fb%3Apull";
    let url = format!("https://auth/t?x=1&service=s%20s&scope={scope}");
    let (method, sent_url, body, authorized) = sent(&Credentials::Anonymous);
    assert_eq!(
        (
            method.as_str(),
            sent_url.as_str(),
            body.as_str(),
            authorized
        ),
        ("GET", url.as_str(), "", false)
    );

    let (method, sent_url, body, authorized) = sent(&Credentials::Basic {
        username: "me&".to_owned(),
        password: "p".to_owned(),
    });
    let with_account = format!("{url}&account=me%26");
    assert_eq!(
        (
            method.as_str(),
            sent_url.as_str(),
            body.as_str(),
            authorized
        ),
        ("GET", with_account.as_str(), "", true)
    );

    let (method, sent_url, body, authorized) = sent(&Credentials::Identity("id=".to_owned()));
    let form = format!(
        "grant_type=refresh_token&service=s%20s&client_id=kiln&scope={scope}&refresh_token=id%3D"
    );
    assert_eq!(
        (method.as_str(), sent_url.as_str(), authorized),
        ("POST", "https://auth/t?x=1", false)
    );
    assert_eq!(body, form);
}

#[test]
fn both_names_of_the_token_field_are_read() {
    let token = |text: &str| {
        parse_token(text.as_bytes()).map(|token| (token.text, token.lifetime.as_secs()))
    };
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
            .lifetime,
        Duration::from_millis(500)
    );
}
