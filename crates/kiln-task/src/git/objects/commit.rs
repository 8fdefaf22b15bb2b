//! Commit objects.

use super::super::id::ObjectId;

/// The author or committer of a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitIdentity {
    pub name: String,
    pub email: String,
}

impl GitIdentity {
    /// Porch's identity: the committer of all commits, and the default author.
    pub fn porch() -> GitIdentity {
        GitIdentity {
            name: "Package Orchestration Service".to_owned(),
            email: "porch@kpt.dev".to_owned(),
        }
    }

    /// The header of a commit object, without characters that would end it.
    pub(super) fn to_header(&self) -> String {
        let clean = |text: &str| -> String {
            let kept = text
                .chars()
                .filter(|c| !c.is_control() && !"<>".contains(*c));
            kept.collect::<String>().trim().to_owned()
        };
        format!("{} <{}>", clean(&self.name), clean(&self.email))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: GitIdentity,
    /// Seconds since 1970.
    pub(crate) author_time: i64,
    pub(crate) message: String,
}

impl Commit {
    /// Parses a commit; `None` if it is invalid.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Commit> {
        let text = String::from_utf8_lossy(bytes);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut tree = None;
        let mut parents = Vec::new();
        let mut author = None;
        for line in head.split('\n') {
            match line.split_once(' ') {
                Some(("tree", id)) => tree = ObjectId::new(id),
                Some(("parent", id)) => parents.push(ObjectId::new(id)?),
                Some(("author", identity)) => author = signature(identity),
                _ => {}
            }
        }
        let (author, author_time) = author?;
        Some(Commit {
            tree: tree?,
            parents,
            author,
            author_time,
            message: message.to_owned(),
        })
    }
}

fn signature(identity: &str) -> Option<(GitIdentity, i64)> {
    let (name, rest) = identity.split_once('<')?;
    let (email, time) = rest.split_once('>')?;
    let time = time.split_whitespace().next()?.parse().ok()?;
    let identity = GitIdentity {
        name: name.trim().to_owned(),
        email: email.to_owned(),
    };
    Some((identity, time))
}
