//! Workflow commands: escaping, and paths from where the workflow runs.

use kiln_pages::report::{ReportModel, ReportProblem, Verdict, annotation, annotations};

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
        ..ReportProblem::default()
    };
    let expected =
        "::warning file=pkg/a%2Cb%3Ac.yaml,line=3,col=2,title=t%2Cu::100%25%0D%0A::error::x";
    assert_eq!(annotation(&problem, "t,u", "./pkg/"), expected);
}
