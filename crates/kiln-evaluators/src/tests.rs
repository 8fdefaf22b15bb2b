//! Which evaluator of a chain runs a function.

use std::path::PathBuf;

use kiln_runtime::{FindError, Found, FunctionSpec, Target};

use super::*;

/// Finds every image.
struct Everything;

impl Evaluator for Everything {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match function.target {
            Target::Image(_) => NativeOptions::default()
                .evaluator()
                .find(&FunctionSpec::image("set-labels:latest")),
            _ => Err(FindError::not_found(function)),
        }
    }
}

/// Maps one image to a program and one to a built-in function.
struct TwoImages;

impl FunctionConfigs for TwoImages {
    fn program(&self, image: &str) -> Option<PathBuf> {
        (image == "example.com/fns/program:v1").then(|| "/bin/cat".into())
    }

    fn builtin(&self, image: &str) -> Option<String> {
        (image == "example.com/fns/builtin:v1").then(|| "set-labels:v0.2.0".to_owned())
    }
}

fn exec() -> Option<ExecOptions> {
    Some(ExecOptions {
        programs: ExecEvaluator::new("/bin"),
        table: None,
    })
}

#[track_caller]
fn check(chain: &EvaluatorChain, function: &FunctionSpec, expected: &str) {
    let found = chain.search(function);
    let evaluator = found.map_or("none", |(search, _)| search.evaluator());
    assert_eq!(evaluator, expected, "{}", function.name());
}

#[test]
fn the_order_is_that_of_the_table() {
    let everything = || -> Option<Arc<dyn Evaluator>> { Some(Arc::new(Everything)) };
    let options = ChainOptions {
        own: vec![("builtin", Arc::new(Everything))],
        exec: exec(),
        native: Some(NativeOptions::default()),
        remote: everything(),
        container: everything(),
        pods: everything(),
        ..ChainOptions::default()
    };
    let names: Vec<&str> = options.chain().names().collect();
    assert_eq!(names, ["builtin", EXEC, NATIVE, REMOTE, CONTAINER, POD]);
    assert_eq!(ChainOptions::default().chain().names().count(), 0);
}

#[test]
fn functions_go_to_the_first_evaluator_that_knows_them() {
    let chain = ChainOptions {
        exec: exec(),
        native: Some(NativeOptions::default()),
        container: Some(Arc::new(Everything)),
        ..ChainOptions::default()
    };
    let chain = chain.chain();
    check(&chain, &FunctionSpec::exec("cat -n"), EXEC);
    let catalog = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0";
    check(&chain, &FunctionSpec::image(catalog), NATIVE);
    check(
        &chain,
        &FunctionSpec::image("example.com/other:v1"),
        CONTAINER,
    );
}

#[test]
fn function_configs_map_images_to_programs_and_built_in_functions() {
    let chain = |function_configs: Option<Arc<dyn FunctionConfigs>>| {
        let options = ChainOptions {
            exec: exec(),
            native: Some(NativeOptions::default()),
            image_prefix: Some("example.com/fns".to_owned()),
            function_configs,
            ..ChainOptions::default()
        };
        options.chain()
    };
    let configured = chain(Some(Arc::new(TwoImages)));
    check(&configured, &FunctionSpec::image("program:v1"), EXEC);
    check(&configured, &FunctionSpec::image("builtin:v1"), NATIVE);
    check(&configured, &FunctionSpec::image("other:v1"), "none");
    let plain = chain(None);
    check(&plain, &FunctionSpec::image("program:v1"), "none");
    check(&plain, &FunctionSpec::image("builtin:v1"), "none");
}
