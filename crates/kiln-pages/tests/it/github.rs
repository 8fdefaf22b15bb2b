//! Workflow commands: escaping, and paths from where the workflow runs.

use kiln_pages::report::{ReportFormat, ReportModel, ReportProblem, Verdict, annotations};

use crate::sample::failed_run;

#[test]
fn problems_are_workflow_commands() {
    let expected = "::error file=my shop/app/deployment.yaml,line=7,title=limits%3Av1::\
                    Deployment shop/web spec.replicas: use at most 2 replicas%0Aset spec.replicas to 2\n";
    assert_eq!(annotations(&failed_run()), expected);
}

#[test]
fn files_that_a_check_would_change_are_annotated_at_their_first_change() {
    let model = ReportModel {
        verdict: Verdict::Differs,
        problems: Vec::new(),
        ..failed_run()
    };
    assert_eq!(
        annotations(&model),
        "::error file=my shop/app/deployment.yaml,line=7,title=kiln::rendering would change this file\n"
    );
}

#[test]
fn no_text_leaves_its_field() {
    let problem = ReportProblem {
        severity: "warning".to_owned(),
        message: "100%\r\n::error::x".to_owned(),
        file: Some("a,b:c.yaml".to_owned()),
        line: Some(3),
        column: Some(2),
        step: Some(1),
        ..ReportProblem::default()
    };
    let expected =
        "::warning file=pkg/a%2Cb%3Ac.yaml,line=3,col=2,title=t%2Cu::100%25%0D%0A::error::x";
    let mut model = failed_run();
    model.directory = "./pkg/".to_owned();
    model.steps[1].function = "t,u".to_owned();
    model.problems = vec![problem];
    assert_eq!(annotations(&model), format!("{expected}\n"));
}

#[test]
fn places_are_those_of_the_repository_if_it_is_known() {
    for (directory, place) in [
        (Some("a/shop"), "a/shop/app/deployment.yaml"),
        (Some(""), "app/deployment.yaml"),
        (None, "my shop/app/deployment.yaml"),
    ] {
        let model = ReportModel {
            repository_directory: directory.map(str::to_owned),
            ..failed_run()
        };
        let wanted = format!("::error file={place},line=7,");
        assert!(annotations(&model).starts_with(&wanted), "{directory:?}");
        let quality = ReportFormat::CodeQuality.write(&model);
        assert!(
            quality.contains(&format!("\"path\": \"{place}\"")),
            "{quality}"
        );
        let uri = format!("\"uri\": \"{}\"", place.replace(' ', "%20"));
        let sarif = ReportFormat::Sarif.write(&model);
        assert!(sarif.contains(&uri), "{sarif}");
    }
}
