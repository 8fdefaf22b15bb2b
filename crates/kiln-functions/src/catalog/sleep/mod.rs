//! sleep: waits for a while. It stops when the call is cancelled.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use kiln_go::{DurationError, GoDuration, NumberError, atoi};
use kiln_yaml::Document;

use crate::function::{Context, Ending, Function, FunctionList, Stopped};
use crate::port::kyaml::data_map;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "sleep",
    former_names: &[],
    summary: "Waits, and returns its input",
    doc: include_str!("doc.md"),
    versions: &[FunctionVersion::new(
        &["latest"],
        Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Once),
        &Sleep,
    )],
};

struct Sleep;

#[derive(Debug, thiserror::Error)]
enum SleepError {
    #[error("couldn't parse `duration` field of functionConfig: {0}")]
    Duration(DurationError),
    #[error("couldn't parse `sleepSeconds` field of functionConfig: {0}")]
    Seconds(NumberError),
    #[error("FunctionConfig's data field contains neither `duration` nor `sleepSeconds`")]
    Nothing,
}

impl Function for Sleep {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let duration = match duration_of(list.config.as_ref()) {
            Ok(duration) => duration,
            Err(error) => {
                return Ending::Exit {
                    code: 1,
                    stderr: format!("{error}ERROR: {error}\n"),
                };
            }
        };
        list.stderr
            .push_str(&format!("Sleeping for {duration}...\n"));
        if wait(duration.to_std().unwrap_or_default(), ctx).is_err() {
            return Ending::Stopped;
        }
        list.stderr.push_str("Sleep completed.\n");
        Ending::Success
    }
}

/// Waits until the time is over or the call is cancelled.
fn wait(time: Duration, ctx: &Context<'_>) -> Result<(), Stopped> {
    let (sender, receiver) = mpsc::channel();
    let _listening = ctx.run.cancel.on_cancel(move || {
        // Sending fails if the receiver has gone away, which is fine.
        let _ = sender.send(());
    });
    let until_deadline = ctx
        .run
        .deadline
        .map(|deadline| deadline.at.saturating_duration_since(Instant::now()));
    let is_too_long = until_deadline.is_some_and(|left| left < time);
    let heard = receiver.recv_timeout(until_deadline.map_or(time, |left| left.min(time)));
    match heard.is_ok() || is_too_long {
        true => Err(Stopped),
        false => Ok(()),
    }
}

fn duration_of(config: Option<&Document>) -> Result<GoDuration, SleepError> {
    let kind = config.and_then(|config| config.root().get("kind"));
    if kind.is_none_or(|kind| kind.value() != "ConfigMap") {
        return Ok(GoDuration::from_seconds(10));
    }
    let data = data_map(config);
    let given = |wanted: &str| {
        let found = data.iter().find(|(key, _)| key == wanted);
        found.map(|(_, value)| value.trim())
    };
    match (given("duration"), given("sleepSeconds")) {
        (Some(text), _) => text.parse().map_err(SleepError::Duration),
        (None, Some(text)) => atoi(text)
            .map(GoDuration::from_seconds)
            .map_err(SleepError::Seconds),
        (None, None) => Err(SleepError::Nothing),
    }
}
