# Commands for developers; `.ci/run` runs all checks. `just` alone lists the recipes.

_default:
    @just --list

# Run all checks of CI.
ci:
    .ci/run

# Run the tests, including tidy.
test *args:
    cargo test --workspace --locked {{ args }}

# Format, then run clippy and tidy.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo run --quiet -p xtask -- tidy

# Run recorded cases against kiln.
conformance *args:
    cargo run --release -p conformance -- yaml conformance/yaml {{ args }}

# Run golden cases against kiln, or against another program with --bin.
cases *args:
    cargo run --release -p conformance -- cases conformance/recorded/*.jsonl {{ args }}

# Coverage-guided fuzzing of one target (parse, roundtrip, …).
fuzz target seconds="60" *args:
    fuzz/run {{ target }} {{ seconds }} {{ args }}

# Compare kiln with Go on mutated inputs.
differential *args:
    fuzz/differential {{ args }}

# Compare kiln with kpt and the original functions on random packages.
packages-differential *args:
    fuzz/packages {{ args }}

# Measure speed and memory; bench/run lists the benchmarks.
bench what="yaml":
    bench/run {{ what }}

# Check licences, duplicates and advisories of dependencies; needs cargo-deny.
deny:
    cargo deny check

# Manage the single-node Kubernetes for the tests with pods: up, status or down.
cluster what="status":
    tests/cluster/{{ what }}

# Make a release in target/dist.
dist *args:
    cargo xtask dist {{ args }}

# Make web pages of the documentation in target/site/book; needs mdbook.
site:
    cargo xtask site
