//! What a function gets: resources and its configuration, as trees and as text.

use std::sync::OnceLock;

use kiln_krm::{Dialect, Resource, Wrapper, write_list};
use kiln_yaml::Document;

/// The list a function works on. It is written as text only if a runner asks, and only once.
pub struct Input<'a> {
    dialect: Dialect,
    items: &'a [Resource],
    function_config: Option<&'a Document>,
    wire: OnceLock<String>,
}

impl<'a> Input<'a> {
    /// A list of the given resources.
    pub fn new(
        dialect: Dialect,
        items: &'a [Resource],
        function_config: Option<&'a Document>,
    ) -> Input<'a> {
        Input {
            dialect,
            items,
            function_config,
            wire: OnceLock::new(),
        }
    }

    /// The resources.
    pub fn items(&self) -> &'a [Resource] {
        self.items
    }

    /// The function's configuration.
    pub fn function_config(&self) -> Option<&'a Document> {
        self.function_config
    }

    /// The list as functions in other processes read it.
    pub fn wire(&self) -> &str {
        self.wire.get_or_init(|| {
            let wrapper = Wrapper::resource_list(self.dialect);
            write_list(&wrapper, self.items, self.function_config, None)
        })
    }
}
