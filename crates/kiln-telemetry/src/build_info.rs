//! Version, commit, date and target of this build, as `version` prints them.
//!
//! The build script finds them. Commit and date are unknown in debug builds and if the sources are not in git, unless the
//! environment of the build has `KILN_COMMIT` and `KILN_BUILD_DATE`. The date is that of the commit, so that equal sources give equal programs.

use std::fmt::Write as _;

use kiln_go::json_string;

/// What is known about a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildInfo {
    /// The version of the workspace.
    pub version: &'static str,
    pub commit: &'static str,
    pub date: &'static str,
    /// The target triple.
    pub target: &'static str,
    /// The engines for WebAssembly, of programs that run functions.
    pub wasm_engines: &'static [&'static str],
}

/// A function that a program contains, and the newest of its versions.
pub type BuiltIn = (&'static str, &'static str);

impl BuildInfo {
    /// This build.
    pub const fn this() -> BuildInfo {
        const fn or_unknown(value: Option<&'static str>) -> &'static str {
            match value {
                Some(value) => value,
                None => "unknown",
            }
        }
        BuildInfo {
            version: env!("CARGO_PKG_VERSION"),
            commit: or_unknown(option_env!("KILN_COMMIT")),
            date: or_unknown(option_env!("KILN_BUILD_DATE")),
            target: env!("KILN_TARGET"),
            wasm_engines: &[],
        }
    }

    /// The text of `version`.
    pub fn to_text(self, program: &str, functions: &[BuiltIn]) -> String {
        let BuildInfo {
            version,
            commit,
            date,
            target,
            wasm_engines,
        } = self;
        let mut text =
            format!("{program} {version}\ncommit: {commit}\ndate: {date}\ntarget: {target}\n");
        if !wasm_engines.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "wasm engines: {}", wasm_engines.join(", "));
        }
        if !functions.is_empty() {
            text.push_str("functions:\n");
        }
        for (name, version) in functions {
            let _ = writeln!(text, "  {name}: {version}");
        }
        text
    }

    /// The JSON of `version -o json`.
    pub fn to_json(self, program: &str, functions: &[BuiltIn]) -> String {
        let field =
            |name: &str, value: &str| format!("{}:{}", json_string(name), json_string(value));
        let mut fields = vec![
            field("program", program),
            field("version", self.version),
            field("commit", self.commit),
            field("date", self.date),
            field("target", self.target),
        ];
        if !self.wasm_engines.is_empty() {
            let engines = self.wasm_engines.iter().map(|name| json_string(name));
            let engines: Vec<String> = engines.collect();
            fields.push(format!("\"wasmEngines\":[{}]", engines.join(",")));
        }
        if !functions.is_empty() {
            let functions: Vec<String> = functions
                .iter()
                .map(|(name, version)| field(name, version))
                .collect();
            fields.push(format!("\"functions\":{{{}}}", functions.join(",")));
        }
        format!("{{{}}}\n", fields.join(","))
    }

    /// What a program that has only this one command besides its flags prints for its arguments; `None` if they do not ask for the
    /// version.
    pub fn answer(
        self,
        program: &str,
        arguments: &[String],
        functions: &[BuiltIn],
    ) -> Option<String> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments[..] {
            ["version" | "--version"] => Some(self.to_text(program, functions)),
            ["version", "-o" | "--output", "json"] | ["version", "-o=json" | "--output=json"] => {
                Some(self.to_json(program, functions))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_arguments_ask_for_the_version() {
        let build = BuildInfo {
            version: "1.2.3",
            commit: "abc",
            date: "2026-01-02",
            target: "x86_64-unknown-linux-gnu",
            wasm_engines: &["interpreter", "compiler"],
        };
        let answer = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            build.answer("runner", &arguments, &[("set-labels", "v0.2")])
        };
        let text = "runner 1.2.3\ncommit: abc\ndate: 2026-01-02\ntarget: x86_64-unknown-linux-gnu\nwasm engines: interpreter, compiler\nfunctions:\n  set-labels: v0.2\n".to_owned();
        assert_eq!(answer("version"), Some(text.clone()));
        assert_eq!(answer("--version"), Some(text));
        let json = "{\"program\":\"runner\",\"version\":\"1.2.3\",\"commit\":\"abc\",\"date\":\"2026-01-02\",\"target\":\"x86_64-unknown-linux-gnu\",\"wasmEngines\":[\"interpreter\",\"compiler\"],\"functions\":{\"set-labels\":\"v0.2\"}}\n".to_owned();
        assert_eq!(answer("version -o json"), Some(json));
        for other in ["", "version x", "--port 1", "-- version"] {
            assert_eq!(answer(other), None, "{other}");
        }
    }
}
