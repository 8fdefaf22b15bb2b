//! Generated inputs: always the same bytes.

use std::fmt::Write;

/// A ResourceList of Deployments, Services and ConfigMaps of about `bytes` bytes, with some comments.
pub(crate) fn resource_list(bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 4096);
    out.push_str(LIST_HEAD);
    let mut number = 0;
    while out.len() < bytes {
        push_item(&mut out, number);
        number += 1;
    }
    out
}

/// The same with a number of resources and the configuration of a function.
pub(crate) fn function_input(resources: usize, config: &str) -> String {
    let mut out = LIST_HEAD.to_owned();
    for number in 0..resources {
        push_item(&mut out, number);
    }
    out.push_str("functionConfig:\n");
    for line in config.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {line}");
    }
    out
}

const LIST_HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";

fn push_item(out: &mut String, number: usize) {
    for line in resource(number).lines() {
        let dash = if line.starts_with("apiVersion") {
            "- "
        } else {
            "  "
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{dash}{line}");
    }
}

/// One resource; three kinds in turn.
pub(crate) fn resource(number: usize) -> String {
    let head = |api: &str, kind: &str| {
        format!(
            "apiVersion: {api}\n\
             kind: {kind}\n\
             metadata:\n  \
               name: app-{number} # kpt-set: app-${{number}}\n  \
               namespace: team-{}\n  \
               labels:\n    \
                 app.kubernetes.io/name: app-{number}\n    \
                 app.kubernetes.io/part-of: \"shop\"\n  \
               annotations:\n    \
                 example.com/owner: 'team-{}/app-{number}'\n    \
                 example.com/tier: '{}'\n",
            number % 37,
            number % 11,
            number % 5,
        )
    };
    match number % 3 {
        0 => {
            head("apps/v1", "Deployment")
                + &format!(
                    "spec:\n  \
                       replicas: {}\n  \
                       selector:\n    \
                         matchLabels: {{app: app-{number}}}\n  \
                       template:\n    \
                         spec:\n      \
                           # The main container comes first.\n      \
                           containers:\n      \
                           - name: main\n        \
                             image: registry.example.com/team/app-{number}:v1.{}.0\n        \
                             args: [\"--port\", \"8080\", --verbose]\n        \
                             env:\n        \
                             - name: LOG_LEVEL\n          \
                               value: info # or debug\n        \
                             - name: TARGET\n          \
                               value: https://app-{number}.example.com:8443/path?x=1\n        \
                             resources:\n          \
                               requests:\n            \
                                 cpu: 100m\n            \
                                 memory: 128Mi\n",
                    number % 9,
                    number % 20
                )
        }
        1 => {
            head("v1", "Service")
                + &format!(
                    "spec:\n  \
                       type: ClusterIP\n  \
                       selector:\n    \
                         app: app-{number}\n  \
                       ports:\n  \
                       - name: http\n    \
                         port: 80\n    \
                         targetPort: 8080\n  \
                       # for metrics\n  \
                       - {{name: metrics, port: 9090}}\n"
                )
        }
        _ => {
            head("v1", "ConfigMap")
                + &format!(
                    "data:\n  \
                       config.ini: |\n    \
                         [server]\n    \
                         host = app-{number}.example.com\n    \
                         # a comment of the file, not of YAML\n    \
                         threads = {}\n  \
                       flag: \"true\"\n  \
                       message: 'it''s number {number}'\n",
                    number % 64
                )
        }
    }
}
