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
        let mut tail = "tags/list".to_owned();
        for _ in 0..MAX_PAGES {
            let question = Question::new(Method::GET, tail, Access::Pull, what.clone());
            let answer = self.ask(endpoint, &question, limit).await?;
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

/// The query of `Link: </v2/x/tags/list?last=b&n=1>; rel="next"`.
fn next_query(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
    let is_next = parameters.replace('"', "").contains("rel=next");
    let (_, query) = target.split_once('?')?;
    (is_next && !query.is_empty()).then(|| query.to_owned())
}
