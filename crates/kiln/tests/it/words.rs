//! The words of kiln for new users, as stories: suggestions, summaries, places, and a first hour. The format of the files in
//! `words/` is that of `rpkg/`.

use crate::faults::skip;
use crate::rpkg::check_story;

macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check_story("words", stringify!($name));
        })*
    };
}

stories![places, results, suggestions, summaries];

#[test]
fn first_hour() {
    let python = std::process::Command::new("python3")
        .arg("--version")
        .output();
    match python.is_ok_and(|output| output.status.success()) {
        true => check_story("words", "first_hour"),
        false => skip("first_hour", "python3 is not there"),
    }
}
