//! Changes every text of a report. Secrets are masked and characters escaped in all of them at once, so that no field is forgotten.

use super::model::{
    FileReport, LockReport, ReportModel, ReportProblem, ResourceReport, ResultReport, ReviewNote,
    StepReport,
};

impl ReportModel {
    /// Changes every text but the words of kiln itself. A field that is missing here does not compile.
    pub(super) fn change_texts(&mut self, change: &mut dyn FnMut(&mut String)) {
        let ReportModel {
            version: _,
            tool: _,
            platform: _,
            command,
            action: _,
            package,
            directory,
            repository_directory,
            is_written_elsewhere: _,
            started: _,
            duration_us: _,
            verdict: _,
            problems,
            steps,
            phases: _,
            files,
            resources,
            review,
            notes: _,
            lock,
        } = self;
        command.iter_mut().for_each(&mut *change);
        let paths = [package, directory].into_iter();
        paths.chain(repository_directory).for_each(&mut *change);
        for problem in problems {
            of_problem(problem, change);
        }
        for step in steps {
            of_step(step, change);
        }
        for file in files {
            let FileReport {
                path,
                change: _,
                lines: _,
                diff,
            } = file;
            [path, diff].into_iter().for_each(&mut *change);
        }
        for resource in resources {
            of_resource(resource, change);
        }
        for note in review {
            of_review(note, change);
        }
        if let Some(lock) = lock {
            let LockReport {
                file,
                sha256: _,
                state: _,
            } = lock;
            change(file);
        }
    }
}

fn of_problem(problem: &mut ReportProblem, change: &mut dyn FnMut(&mut String)) {
    let ReportProblem {
        severity: _,
        message,
        resource,
        field,
        file,
        line: _,
        column: _,
        hint,
        step: _,
    } = problem;
    let texts = [message, resource, field].into_iter();
    texts.chain(file).chain(hint).for_each(change);
}

fn of_step(step: &mut StepReport, change: &mut dyn FnMut(&mut String)) {
    let StepReport {
        package,
        directory,
        function,
        name,
        kind: _,
        position: _,
        config_path,
        config,
        selectors,
        exclude,
        command,
        identity,
        status: _,
        is_cached: _,
        start_us: _,
        duration_us: _,
        resources_in: _,
        resources_out: _,
        touched: _,
        exit_code: _,
        stderr,
        results,
    } = step;
    [
        package,
        directory,
        function,
        name,
        config_path,
        config,
        command,
        stderr,
    ]
    .into_iter()
    .chain(selectors)
    .chain(exclude)
    .chain(identity)
    .for_each(&mut *change);
    for result in results {
        let ResultReport {
            severity: _,
            message,
            resource,
            file,
            line: _,
            field,
            current_value,
            proposed_value,
        } = result;
        [
            message,
            resource,
            file,
            field,
            current_value,
            proposed_value,
        ]
        .into_iter()
        .for_each(&mut *change);
    }
}

fn of_resource(resource: &mut ResourceReport, change: &mut dyn FnMut(&mut String)) {
    let ResourceReport {
        api_version,
        kind,
        namespace,
        name,
        file,
        change: _,
        steps: _,
    } = resource;
    [api_version, kind, namespace, name, file]
        .into_iter()
        .for_each(change);
}

fn of_review(note: &mut ReviewNote, change: &mut dyn FnMut(&mut String)) {
    let ReviewNote {
        topic: _,
        resource,
        file,
        field,
        before,
        after,
    } = note;
    [resource, file, field, before, after]
        .into_iter()
        .for_each(change);
}
