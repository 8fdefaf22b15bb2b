//! The oracle: a program in Go that keeps running and answers over pipes.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use anyhow::{Context, bail};
use serde_json::Value;

use super::question;
use crate::yaml::case::{self, Case};
use crate::yaml::kind::Kind;

pub(super) struct Oracle {
    child: Child,
    questions: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    pub(super) fn start(program: &Path, kinds: &[Kind]) -> anyhow::Result<Oracle> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let mut child = Command::new(program)
            .args(["pairs", "-only", &names.join(",")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the oracle {}", program.display()))?;
        let questions = child.stdin.take().context("the oracle has no input")?;
        let answers = child.stdout.take().context("the oracle has no output")?;
        Ok(Oracle {
            child,
            questions: BufWriter::new(questions),
            answers: BufReader::new(answers),
        })
    }

    /// Go's output for each input, in order. The cases' ids are the positions in `inputs`.
    pub(super) fn ask(&mut self, inputs: &[Vec<u8>]) -> anyhow::Result<Vec<Case>> {
        let lines = self.exchange(inputs)?;
        let cases = lines.iter().zip(inputs);
        cases
            .map(|(line, input)| Case::read_answer(line, input.clone()))
            .collect()
    }

    /// Writes an input and Go's output as a line of a recorded set.
    pub(super) fn record(
        &mut self,
        id: &str,
        input: &[u8],
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let lines = self.exchange(&[input.to_owned()])?;
        let line = lines.first().context("no answer")?;
        let mut record: Value = serde_json::from_str(line).context("an answer nested too deep")?;
        record["id"] = Value::from(id);
        record["in"] = case::to_value(input);
        writeln!(out, "{record}")?;
        out.flush()?;
        Ok(())
    }

    fn exchange(&mut self, inputs: &[Vec<u8>]) -> anyhow::Result<Vec<String>> {
        let (questions, answers) = (&mut self.questions, &mut self.answers);
        // Write and read at the same time, or both pipes would fill up.
        let lines = thread::scope(|scope| {
            scope.spawn(move || {
                for (id, input) in inputs.iter().enumerate() {
                    writeln!(questions, "{}", question(id, input))?;
                }
                questions.flush()
            });
            let mut lines = Vec::with_capacity(inputs.len());
            for _ in inputs {
                let mut line = String::new();
                answers.read_line(&mut line)?;
                lines.push(line);
            }
            anyhow::Ok(lines)
        })?;
        if lines.iter().any(String::is_empty) {
            bail!("the oracle stopped answering");
        }
        Ok(lines)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It only reads and writes pipes: nothing is lost, and no caller is left to handle an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
