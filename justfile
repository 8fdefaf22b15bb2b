# What people run; `.ci/run` is all of it. `just` alone lists the recipes.

_default:
    @just --list

# Everything that CI checks.
ci:
    .ci/run

# Tests, tidy included.
test *args:
    cargo test --workspace --locked {{ args }}

# Formats, then everything clippy and tidy have to say.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo run --quiet -p xtask -- tidy

# Recorded cases against kiln.
conformance *args:
    cargo run --release -p conformance -- yaml conformance/yaml {{ args }}

# Golden cases against kiln, or against the program that --bin names.
cases *args:
    cargo run --release -p conformance -- cases conformance/recorded/*.jsonl {{ args }}

# Coverage-guided fuzzing of one target (parse, roundtrip, …).
fuzz target seconds="60" *args:
    fuzz/run {{ target }} {{ seconds }} {{ args }}

# Mutated inputs compared with Go.
differential *args:
    fuzz/differential {{ args }}

# Packages made up from a seed, through kpt with the original functions and through kiln.
packages-differential *args:
    fuzz/packages {{ args }}

# Speed and memory (yaml, read or limits).
bench what="yaml":
    bench/run {{ what }}

# Licences, duplicates and known holes of dependencies; needs cargo-deny.
deny:
    cargo deny check

# A Kubernetes of one node on this machine, for the tests with pods: up, status or down.
cluster what="status":
    tests/cluster/{{ what }}
