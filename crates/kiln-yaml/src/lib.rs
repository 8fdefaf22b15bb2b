//! YAML as the Go tools around Kubernetes read and write it: the same tree, the same comments, the same bytes.
//!
//! [`parse_all`] reads text into [`Document`]s, [`Encoder`] writes them. What lies between is an editable tree of
//! [`NodeRef`]s that keeps comments, styles, anchors, tags and positions. The rules are those of go-yaml v3 under
//! kyaml, quirks included, so that a file shared with kpt, kustomize or Porch shows no noise in `git diff`.
//!
//! This crate is pure: no files, no environment, no clock. It accepts any input without panicking, needs time
//! linear in its size, and refuses nesting beyond 10,000 levels.

mod aliases;
mod allowance;
mod document;
mod edit;
mod edits;
mod emit;
mod equality;
mod error;
mod lines;
mod list_pairs;
mod merge_comments;
mod node;
mod noderef;
mod parse;
mod resolve;
mod split;
mod sync_order;
mod tags;
mod visit;

pub use allowance::{Allowance, EnteredAllowance, may_build, take_for_good};
pub use document::{Document, Slot};
pub use edit::{EditError, NodeMut};
pub use edits::{AddedFields, Edits};
pub use emit::{Encoder, SequenceStyle, to_string};
pub use error::{Error, Position};
pub use list_pairs::pair_items;
pub use merge_comments::{
    ListKeys, NoListKeys, Start, TypeId, copy_comments, copy_matching_comments,
};
pub use node::{Kind, NodeId, Style};
pub use noderef::NodeRef;
pub use parse::{is_ordinary, parse, parse_all, parse_first, parse_single, parse_until_error};
pub use resolve::is_yaml_1_1_non_string;
pub use sync_order::{SyncOrderError, sync_matching_order, sync_order};
pub use visit::{PathStep, Visit};
