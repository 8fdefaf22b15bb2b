//! Functions that do what tests want of functions. One file without dependencies; what it does is its first argument.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let number = arguments.next().and_then(|number| number.parse().ok());
    match run(&what, number) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{what}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(what: &str, number: Option<u64>) -> io::Result<ExitCode> {
    let mut list = String::new();
    io::stdin().read_to_string(&mut list)?;
    match what {
        // The list as it came.
        "echo" => {}
        // The same, after so many milliseconds.
        "slow" => std::thread::sleep(Duration::from_millis(number.unwrap_or(1000))),
        // No answer, ever.
        "hang" => loop {
            std::thread::park();
        },
        // A process that dies.
        "crash" => std::process::abort(),
        // A failure, reported as functions report them.
        "fail" => {
            list.push_str("results:\n- message: this function always fails\n  severity: error\n");
            io::stdout().write_all(list.as_bytes())?;
            eprintln!("it failed");
            return Ok(ExitCode::FAILURE);
        }
        // An answer of so many bytes.
        "large" => {
            let padding = "#\n".repeat(number.unwrap_or(8 << 20) as usize / 2);
            list.push_str(&padding);
        }
        // Something that is not a list.
        "garbage" => "no: [list".clone_into(&mut list),
        _ => {
            eprintln!("{what:?} is nothing that is known here");
            return Ok(ExitCode::FAILURE);
        }
    }
    io::stdout().write_all(list.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
