//! Go's conventions, for programs that replace Go programs: what they accept, and the texts that they print.
//!
//! | here | Go's package |
//! |---|---|
//! | [`FlagSet`] | `flag`: one or two dashes, `-name value` or `-name=value` |
//! | [`GoDuration`] | `time`: `1h30m0s` |
//! | [`quote`], [`quote_char`] | `strconv`, and `%q` of `fmt` |
//! | [`parse_bool`], [`atoi`], [`parse_integer`] | `strconv` |
//! | [`json_string`], [`escape_html`] | `encoding/json`, since Go 1.22 |
//! | [`to_lower`], [`to_upper`], [`lower_char`] | `strings`, `unicode` |
//! | [`regexp`] | `regexp`, for the `regex` crate |
//! | [`errno_text`], [`error_chain`] | `syscall`, and errors that are wrapped with `%w` |
//!
//! Deliberately absent: dependencies, and everything that no Go program prints or reads.

mod duration;
mod errors;
mod flags;
mod json;
mod number;
mod quote;
pub mod regexp;

pub use duration::{DurationError, GoDuration};
pub use errors::{errno_text, error_chain};
pub use flags::{FlagHelp, FlagSet, FlagValue, Key, Parsed, Stop, UsageError};
pub use json::{escape_html, json_string, push_json_char, push_json_string};
pub use number::{NumberError, atoi, parse_bool, parse_integer};
pub use quote::{lower_char, push_quoted_char, quote, quote_char, to_lower, to_upper};
