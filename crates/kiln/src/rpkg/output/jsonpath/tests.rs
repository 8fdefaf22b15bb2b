//! Templates and their output.

use serde_json::json;

use super::Template;

/// Compares the output of a template, or its error.
fn check(template: &str, expected: &str) {
    let object = json!({
        "kind": "Thing",
        "metadata": {"name": "n", "labels": {"a.b/c": "x"}, "count": 2},
        "list": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Done", "status": "False", "n": 2},
            {"type": "Ready", "n": 3},
        ],
        "plain": [1, 2, 3, 4],
        "none": null,
        "yes": true,
    });
    let found = match Template::parse(template) {
        Ok(template) => template.text(&object),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(found, expected, "{template}");
}

#[test]
fn paths_are_followed() {
    check("{.metadata.name}", "n");
    check("name={.metadata.name}!", "name=n!");
    check("{$.kind}", "Thing");
    check("{.metadata['name']}", "n");
    check("{.metadata['name','count']}", "n 2");
    check(r"{.metadata.labels.a\.b/c}", "x");
    check("{.metadata.labels['a.b/c']}", "x");
    check("{.metadata.labels}", r#"{"a.b/c":"x"}"#);
    check("{.yes}{.none}{.missing}{.missing.deeper[0]}", "truenull");
    check("{.list[0].type} {.list[-1].n} {.list[7].n}", "Ready 3 ");
    check("{.list[*].type}", "Ready Done Ready");
    check(
        "{.plain[1:3]} {.plain[:2]} {.plain[::2]} {.plain[-2:]}",
        "2 3 1 2 1 3 3 4",
    );
    check("{.plain[0,2]}", "1 3");
    check("{..type}", "Ready Done Ready");
    check("{.list[0].*}", "1 True Ready");
}

#[test]
fn lists_are_filtered() {
    check("{.list[?(@.type=='Ready')].status}", "True");
    check("{.list[?(@.type == \"Ready\")].n}", "1 3");
    check("{.list[?(@.n>=2)].n}", "2 3");
    check("{.list[?(@.n != 2)].n}", "1 3");
    check("{.list[?(@.status)].n}", "1 2");
    check("{.list[?(@.type=='a]b')].n}", "");
}

#[test]
fn ranges_repeat() {
    check(
        "{range .list[*]}{.type}{\"\\t\"}{.n}{\"\\n\"}{end}",
        "Ready\t1\nDone\t2\nReady\t3\n",
    );
    check("{range .list[*]}{$.kind}{end}.", "ThingThingThing.");
    check(
        "{range .list[0]}{range $.plain[*]}{@}{','}{end}{end}",
        "1,2,3,4,",
    );
}

#[test]
fn mistakes_are_errors() {
    check("{.a", "error: unclosed action");
    check("{.a[0}", "error: unclosed action");
    check("{end}", "error: not in range, nothing to end");
    check("{range .a}", "error: unterminated range");
    check("{.a['b}", "error: unclosed action");
    check("{.a[x]}", "error: invalid array index x");
    check("{.a[]}", "error: invalid array index ");
    check("{.a[0:1:0]}", "error: invalid array index 0:1:0");
    check("{.a[?(@.b]}", "error: unclosed action");
    check("{a}", "error: unrecognized character in action: \"a\"");
    check("", "error: template format specified but no template given");
    check(
        &"{range .a}".repeat(40),
        "error: ranges are nested too deeply",
    );
}
