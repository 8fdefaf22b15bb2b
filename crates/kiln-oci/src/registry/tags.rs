//! The tags of a repository, page by page.
//!
//! Only the query of the URL that a registry returns for the next page is used: all pages come from the registry itself.

use http::{HeaderMap, Method, header};
use serde::Deserialize;

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::RegistryRequest;
use crate::auth::RepositoryAction;
use crate::error::RegistryError;
use crate::reference::ImageReference;

/// A registry may return a next page forever.
const MAX_PAGES: usize = 1000;
/// The largest list of tags, all pages together.
const MAX_BYTES: u64 = 32 << 20;

#[derive(Deserialize)]
struct TagPage {
    #[serde(default, deserialize_with = "crate::manifest::null_is_empty")]
    tags: Vec<String>,
}

impl RegistryClient {
    /// All tags of the repository of a reference, in the registry's order.
    pub async fn tags(&self, reference: &ImageReference) -> Result<Vec<String>, RegistryError> {
        let endpoint = RepositoryEndpoint::new(reference);
        let subject = format!("tags of {}/{}", endpoint.registry, endpoint.repository);
        let limit = self.state.options.limits.manifest;
        let mut tags = Vec::new();
        let mut remaining = MAX_BYTES;
        let mut path = "tags/list".to_owned();
        for _ in 0..MAX_PAGES {
            let request =
                RegistryRequest::new(Method::GET, path, RepositoryAction::Pull, subject.clone());
            let response = self.request(&endpoint, &request, limit).await?;
            let size = response.body.len() as u64;
            remaining = remaining
                .checked_sub(size)
                .ok_or_else(|| RegistryError::TooLarge {
                    subject: subject.clone(),
                    limit: MAX_BYTES,
                })?;
            let page: TagPage =
                serde_json::from_slice(&response.body).map_err(|_| RegistryError::Protocol {
                    url: subject.clone(),
                    problem: "the response is not a list of tags",
                })?;
            tags.extend(page.tags);
            match next_query(&response.headers) {
                Some(query) => path = format!("tags/list?{query}"),
                None => return Ok(tags),
            }
        }
        Err(RegistryError::Protocol {
            url: subject,
            problem: "the list of tags has too many pages",
        })
    }
}

/// The query of `Link: </v2/x/tags/list?last=b&n=1>; rel="next"`, possibly among other links.
pub(super) fn next_query(headers: &HeaderMap) -> Option<String> {
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

/// Whether the parameters of a link contain `rel="next"`.
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
