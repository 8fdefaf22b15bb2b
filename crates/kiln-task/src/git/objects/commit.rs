//! Commits: who, when, what was before, and what they say.

use super::super::id::ObjectId;

/// Who made a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

impl Identity {
    /// Who commits, always, and who is the author where no other is known.
    pub fn porch() -> Identity {
        Identity {
            name: "Package Orchestration Service".to_owned(),
            email: "porch@kpt.dev".to_owned(),
        }
    }

    /// As commits have it; without what would end it.
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

/// What is read of a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Identity,
    /// Seconds since 1970.
    pub(crate) author_time: i64,
    pub(crate) message: String,
}

impl Commit {
    /// Reads a commit; none if it makes no sense.
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
                Some(("author", who)) => author = signature(who),
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

fn signature(who: &str) -> Option<(Identity, i64)> {
    let (name, rest) = who.split_once('<')?;
    let (email, time) = rest.split_once('>')?;
    let time = time.split_whitespace().next()?.parse().ok()?;
    let identity = Identity {
        name: name.trim().to_owned(),
        email: email.to_owned(),
    };
    Some((identity, time))
}
