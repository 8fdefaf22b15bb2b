//! The words of kiln for new users, as stories: suggestions, summaries, places, and a first hour. The format of the files in
//! `words/` is that of `rpkg/`.

use crate::rpkg::check_story;

macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check_story("words", stringify!($name));
        })*
    };
}

stories![first_hour, places, results, suggestions, summaries];
