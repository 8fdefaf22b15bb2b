//! Kptfiles as people write them, with a status put in.

use proptest::prelude::*;

use super::EditableText;
use crate::kptfile::{Condition, Kptfile, RenderStatus, Status, Step, edit};

fn outcome(failure: Option<&str>) -> (Condition, RenderStatus) {
    let step = Step {
        exec: "cat".to_owned(),
        exit_code: i64::from(failure.is_some()),
        ..Step::default()
    };
    let render_status = RenderStatus {
        mutation_steps: vec![step],
        error_summary: failure.unwrap_or_default().to_owned(),
        ..RenderStatus::default()
    };
    let condition = match failure {
        Some(message) => Condition::render_failed(message),
        None => Condition::render_succeeded(),
    };
    (condition, render_status)
}

/// The file after a render.
fn rendered(kptfile: &str, failure: Option<&str>) -> Option<String> {
    let (condition, render_status) = outcome(failure);
    let mut text = EditableText::read_kptfile(kptfile.as_bytes()).unwrap();
    edit::set_condition(text.document_mut(), &condition).unwrap();
    edit::set_render_status(text.document_mut(), Some(&render_status)).unwrap();
    text.changed()
        .map(|bytes| String::from_utf8(bytes).unwrap())
}

#[track_caller]
fn check(kptfile: &str, expect: &str) {
    assert_eq!(rendered(kptfile, None).as_deref(), Some(expect));
    // What has been done is not done again.
    assert_eq!(rendered(expect, None), None);
}

const HEAD: &str = "# licence\n\napiVersion:   kpt.dev/v1\nkind: Kptfile # k\nmetadata:\n    name: 'a'\n\n\
                    pipeline:\n    mutators:\n    -   exec: \"cat\"\n\n# end\n";

const STATUS: &str = "status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n  \
                      renderStatus:\n    mutationSteps:\n      - exec: cat\n        exitCode: 0\n";

#[test]
fn a_status_is_added_and_nothing_else_touched() {
    let plain = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n";
    check(plain, &format!("{plain}{STATUS}"));
    check(plain.trim_end(), &format!("{plain}{STATUS}"));
    let with_blank = format!("{plain}\n\n");
    check(&with_blank, &format!("{plain}{STATUS}\n\n"));
    let windows = plain.replace('\n', "\r\n");
    check(&windows, &format!("{plain}{STATUS}").replace('\n', "\r\n"));
}

#[test]
fn further_documents_and_separators_stay() {
    let plain = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n";
    check(
        &format!("# licence\n---\n{plain}--- # more\nother:   1\n"),
        &format!("# licence\n---\n{plain}{STATUS}--- # more\nother:   1\n"),
    );
}

#[test]
fn a_layout_of_ones_own_stays() {
    let text = rendered(HEAD, None).unwrap();
    let mut lines = text.lines();
    assert!(
        HEAD.lines().all(|line| lines.any(|kept| kept == line)),
        "{text}"
    );
}

#[test]
fn a_status_in_braces_stays_so() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:   {name: a}\n\
                status: {conditions: [{type: Ready, status: \"True\"}]} # s\n";
    let text = rendered(text, None).unwrap();
    assert!(
        text.starts_with("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:   {name: a}\nstatus: {"),
        "{text}"
    );
    assert!(text.ends_with(" # s\n"), "{text}");
}

/// Pieces of Kptfiles, each of which stands on lines of its own.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "# a comment",
        "",
        "  ",
        "info:\n   description:   'x'   # why\n   emails: [a@b,  c@d]",
        "upstream:\n    type: git\n\n    git:\n        repo: r\n        directory: /",
        "pipeline:\n  mutators:\n  -  exec:  cat   # c\n     name:   n\n\n  - image: x:v1\n    configMap: {a:   \"1\"}",
        "pipeline: {mutators: [{exec: cat}],\n  validators: []}",
        "pipeline:\n  mutators:\n\n      - exec: cat\n\n      # before\n      - exec: >-\n          sed -e\n          s/a/b/",
        "inventory:\n  name: \"\\u00e9\"",
    ])
}

fn status() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "status: {}",
        "status:",
        "status:   {conditions: [{type: Ready,  status: \"True\"}]}",
        "status:\n    # ours\n    conditions:\n    -   type:   Ready # r\n        status: \"True\"",
        "status:\n  conditions:\n    - type: Rendered\n      status: \"False\"\n      reason: RenderFailed\n      message: |-\n        a\n        \tb\n\n    - type: Ready\n      status: Unknown\n  renderStatus:\n    mutationSteps:\n      - exec: sed\n        exitCode: 3\n    errorSummary: 'x'",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn only_the_status_changes(
        pieces in prop::collection::vec(piece(), 0..5),
        status in status(),
        behind in prop::collection::vec(piece(), 0..2),
        is_crlf in any::<bool>(),
        is_ended in any::<bool>(),
        has_more in any::<bool>(),
        failure in prop::option::of(prop::sample::select(vec!["pkg.render: pkg .:\n\tpipeline.run: x", "short"])),
    ) {
        let head = "apiVersion: kpt.dev/v1\nkind:   Kptfile\nmetadata:\n    name: a";
        let outside = [vec![head], pieces.clone()].concat();
        let all = [outside.clone(), vec![status], behind.clone()].concat();
        let mut text = all.join("\n");
        if is_ended {
            text.push('\n');
        }
        if has_more {
            text.push_str("\n---\nmore:   1\n\n");
        }
        if is_crlf {
            text = text.replace('\n', "\r\n");
        }
        let Ok(mut wanted) = Kptfile::read(text.as_bytes()) else {
            // A field is there twice.
            return Ok(());
        };
        let (condition, render_status) = outcome(failure);
        let status = wanted.status.get_or_insert_with(Status::default);
        status.replace_condition(condition);
        status.render_status = Some(render_status);
        let Some(new) = rendered(&text, failure) else {
            prop_assert_eq!(Kptfile::read(text.as_bytes()).unwrap(), wanted);
            return Ok(());
        };
        let read = Kptfile::read(new.as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(&wanted), "{}\n----\n{}", text, new);
        // The lines outside of the status are there to the byte, in order.
        let outside = outside.iter().chain(&behind).flat_map(|piece| piece.lines());
        let mut lines = new.lines();
        for line in outside {
            prop_assert!(lines.any(|kept| kept == line), "{:?} is lost\n{}\n----\n{}", line, text, new);
        }
        if has_more {
            let more = if is_crlf { "---\r\nmore:   1\r\n\r\n" } else { "---\nmore:   1\n\n" };
            prop_assert!(new.ends_with(more), "{}", new);
        }
        prop_assert_eq!(rendered(&new, failure), None, "not stable\n{}", new);
    }
}
