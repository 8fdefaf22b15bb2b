//! A function that sets the owner of every resource. It is an ordinary program: a list on standard input, the changed list on
//! standard output. Built for `wasm32-wasip1` it is a function in WebAssembly.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use kiln_krm::read::read_answer;
use kiln_krm::{Dialect, Wrapper, write_list};

/// The annotation.
const OWNER: &str = "example.com/owner";

fn main() -> ExitCode {
    let mut input = Vec::new();
    let read = io::stdin().read_to_end(&mut input);
    let output = read
        .map_err(|error| error.to_string())
        .and_then(|_| set_owner(input));
    let written = match &output {
        Ok(list) => io::stdout().write_all(list.as_bytes()),
        Err(message) => writeln!(io::stderr(), "{message}"),
    };
    match (output, written) {
        (Ok(_), Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Sets the annotation on all resources of a list to the owner in its functionConfig.
fn set_owner(list: Vec<u8>) -> Result<String, String> {
    let list = read_answer(list, Dialect::Current).map_err(|error| error.to_string())?;
    let config = list.function_config.as_ref();
    let owner = config.and_then(|config| config.root().get_path(&["data", "owner"])?.as_text());
    let owner = owner
        .ok_or("the functionConfig has no data.owner")?
        .to_owned();
    let mut items = list.items;
    for resource in &mut items {
        let set = resource.set_annotation(OWNER, &owner);
        set.map_err(|error| format!("{}: {error}", resource.name()))?;
    }
    let wrapper = list
        .wrapper
        .unwrap_or_else(|| Wrapper::resource_list(Dialect::Current));
    let (config, results) = (list.function_config.as_ref(), list.results.as_ref());
    Ok(write_list(&wrapper, &items, config, results))
}

#[cfg(test)]
mod tests;
