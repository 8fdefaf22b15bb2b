//! A program that tries what it should not, for tests: `hostile ATTACK ARGUMENT…`.
//!
//! It prints `done`, or `denied` and why, and ends with 0 either way: the test checks which of them is right. What has to
//! be looked at from outside prints `ready`, or numbers of processes, and waits until it is killed.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod isolation;
#[cfg(target_os = "linux")]
mod kernel;

#[cfg(target_os = "linux")]
#[expect(
    clippy::print_stdout,
    reason = "it is a program, and this is its answer"
)]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let tried = hold::run(&words).or_else(|| isolation::run(&words));
    match tried.unwrap_or_else(|| attacks::run(&words)) {
        Ok(()) => println!("done"),
        Err(error) => println!("denied: {error}"),
    }
}
