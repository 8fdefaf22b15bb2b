//! Lists that are written within a limit.

use std::num::NonZeroUsize;

use kiln_yaml::parse;

use super::{Wrapper, write_list, write_list_within};
use crate::dialect::Dialect;
use crate::resource::Resource;

#[test]
fn a_list_that_is_too_long_is_found_out_on_any_number_of_threads() {
    let item = |at: usize| {
        let text = format!("kind: ConfigMap\nmetadata: {{name: c{at}}} # kept\n");
        Resource::new(parse(&text).unwrap().unwrap())
    };
    let items: Vec<Resource> = (0..1000).map(item).collect();
    let wrapper = Wrapper::resource_list(Dialect::Current);
    let whole = write_list(&wrapper, &items, None, None);
    for threads in [1, 4] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let within = |limit| write_list_within(limit, threads, &wrapper, &items, None, None);
        assert_eq!(within(whole.len()).as_ref(), Some(&whole));
        for limit in [0, 100, whole.len() / 2, whole.len() - 1] {
            assert_eq!(within(limit), None, "{limit}");
        }
    }
}
