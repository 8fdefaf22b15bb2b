//! The tags of a repository, page by page.
//!
//! Only the query of the place that a registry names for the next page is used: pages are asked of the registry itself.

use http::{HeaderMap, Method, header};
use serde::Deserialize;

use super::Registry;
use super::ask::Question;
use super::endpoint::{Endpoint, Round};
use crate::auth::Access;
use crate::error::RegistryError;
use crate::reference::Reference;

/// A registry that names a next page for ever is not followed for ever.
const MAX_PAGES: usize = 1000;
/// Nobody has more tags than fit in so many bytes.
const MAX_BYTES: u64 = 32 << 20;

#[derive(Deserialize)]
struct Page {
    #[serde(default, deserialize_with = "crate::manifest::null_is_empty")]
    tags: Vec<String>,
}

impl Registry {
    /// All tags of the repository that a reference names, in the registry's order. Of mirrors only the first that answers is
    /// asked.
    pub async fn tags(&self, reference: &Reference) -> Result<Vec<String>, RegistryError> {
        let mut round = Round::new(reference, &self.shared.options);
        while let Some(endpoint) = round.next() {
            match self.tags_of(&endpoint).await {
                Ok(tags) => return Ok(tags),
                Err(error) => round.failed(error),
            }
        }
        Err(round.into_error())
    }

    async fn tags_of(&self, endpoint: &Endpoint) -> Result<Vec<String>, RegistryError> {
        let what = format!("tags of {}/{}", endpoint.registry, endpoint.repository);
        let limit = self.shared.options.limits.manifest;
        let mut tags = Vec::new();
        let mut left = MAX_BYTES;
        let mut tail = "tags/list".to_owned();
        for _ in 0..MAX_PAGES {
            let question = Question::new(Method::GET, tail, Access::Pull, what.clone());
            let answer = self.ask(endpoint, &question, limit).await?;
            left = left.checked_sub(answer.body.len() as u64).ok_or_else(|| {
                RegistryError::TooLarge {
                    what: what.clone(),
                    limit: MAX_BYTES,
                }
            })?;
            let page: Page =
                serde_json::from_slice(&answer.body).map_err(|_| RegistryError::Protocol {
                    url: what.clone(),
                    problem: "its answer is no list of tags",
                })?;
            tags.extend(page.tags);
            match next_query(&answer.headers) {
                Some(query) => tail = format!("tags/list?{query}"),
                None => return Ok(tags),
            }
        }
        Err(RegistryError::Protocol {
            url: what,
            problem: "its list of tags has no end",
        })
    }
}

/// The query of `Link: </v2/x/tags/list?last=b&n=1>; rel="next"`, which may stand among others.
fn next_query(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::LINK).iter();
    let links = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split('<').skip(1))
        .filter_map(|link| link.split_once('>'));
    let mut next = links.filter(|(_, parameters)| is_next(parameters));
    let (target, _) = next.next()?;
    let (_, query) = target.split_once('?')?;
    (!query.is_empty()).then(|| query.to_owned())
}

/// Whether the parameters of a link say that it leads on: `; rel="next"`.
fn is_next(parameters: &str) -> bool {
    let mut parameters = parameters.split([';', ',']).map(str::trim);
    parameters.any(|parameter| match parameter.split_once('=') {
        Some((name, value)) => {
            name.trim().eq_ignore_ascii_case("rel") && {
                let value = value.trim().trim_matches('"');
                value
                    .split(' ')
                    .any(|word| word.eq_ignore_ascii_case("next"))
            }
        }
        None => false,
    })
}
