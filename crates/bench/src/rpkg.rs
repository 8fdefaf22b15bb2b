//! `bench rpkg`: operations on package revisions, compared with the same operations by git and `kiln fn render`.
//!
//! Both are scripts, so that both include the start of a shell.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::child::{Usage, measure};
use crate::packages::Shape;
use crate::render::{best, geometric_mean};

const PIPELINE: &str = "  - image: set-namespace:v0.4.1\n    configMap: {namespace: prod}\n";
const PACKAGE: Shape = Shape::Flat {
    resources: 200,
    per_file: 1,
};
const REVISIONS: usize = 2_000;
const PACKAGES: usize = 100;
const ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for repositories")?;
    let repositories = MeasuredRepositories {
        root: directory.path(),
        kiln: fs::canonicalize(&args.kiln).context("cannot find kiln")?,
    };
    repositories.make_blueprint()?;
    repositories.make_many()?;
    writeln!(
        out,
        "package of {} resources; best of {ROUNDS}",
        PACKAGE.resources()
    )?;
    let columns = ("step", "how", "wall s", "CPU s", "ratio");
    let (step, how, wall, cpu, ratio) = columns;
    writeln!(out, "{step:28} {how:8} {wall:>9} {cpu:>9} {ratio:>8}")?;
    let mut ratios = Vec::new();
    for step in [
        repositories.clone_step(),
        repositories.get_step(),
        repositories.approve_step(),
    ] {
        ratios.push(repositories.compare(&step, out)?);
    }
    let ratio = geometric_mean(&ratios).context("nothing was measured")?;
    writeln!(out, "ratio={ratio:.2}")?;
    Ok(())
}

/// The measured repositories, below one directory.
struct MeasuredRepositories<'a> {
    root: &'a Path,
    kiln: PathBuf,
}

/// An operation done in two ways.
struct RpkgStep {
    name: String,
    /// Runs before each round of either way, with a different `$ROUND` each time.
    before: String,
    ours: String,
    by_hand: String,
}

impl MeasuredRepositories<'_> {
    /// The beginning of all scripts: it ignores the user's git configuration.
    fn header(&self, round: usize) -> String {
        let root = self.root.display();
        let kiln = self.kiln.display();
        format!(
            "set -euo pipefail; cd '{root}'; export HOME='{root}' ROUND={round} \
             KILN_REPOSITORIES='{root}/repositories.yaml' GIT_CONFIG_NOSYSTEM=1 \
             GIT_AUTHOR_NAME=bench GIT_AUTHOR_EMAIL=bench@example.com \
             GIT_COMMITTER_NAME=bench GIT_COMMITTER_EMAIL=bench@example.com; \
             kiln() {{ '{kiln}' \"$@\"; }}\n"
        )
    }

    fn script(&self, round: usize, steps: &str) -> [OsString; 3] {
        let script = format!("{}{steps}", self.header(round));
        ["bash".into(), "-c".into(), script.into()]
    }

    fn perform(&self, round: usize, steps: &str) -> anyhow::Result<()> {
        let [shell, flag, script] = self.script(round, steps);
        let done = Command::new(shell).arg(flag).arg(script).output();
        let done = done.context("cannot start bash")?;
        if !done.status.success() {
            bail!("{}", String::from_utf8_lossy(&done.stderr).trim_end());
        }
        Ok(())
    }

    /// Two repositories, one of them with a published package.
    fn make_blueprint(&self) -> anyhow::Result<()> {
        self.perform(
            0,
            "git init -q --bare -b main blueprints.git; git init -q --bare -b main deploy.git
             kiln repo register blueprints.git --create-branch
             kiln repo register deploy.git --create-branch
             kiln rpkg init web --repository blueprints --workspace v1
             kiln rpkg pull blueprints.web.v1 web",
        )?;
        let files = self.root.join("files/web");
        fs::create_dir_all(&files).and_then(|()| PACKAGE.write(&files, PIPELINE))?;
        self.perform(
            0,
            "cp -r files/web/. web/
             kiln rpkg push blueprints.web.v1 web; kiln rpkg propose blueprints.web.v1
             kiln rpkg approve blueprints.web.v1
             git clone -q deploy.git hand",
        )
    }

    /// A repository with many published revisions of several packages.
    fn make_many(&self) -> anyhow::Result<()> {
        let mut import = String::new();
        for number in 0..REVISIONS {
            let (package, revision) = (number % PACKAGES, number / PACKAGES + 1);
            let kptfile = format!(
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p{package}\ninfo:\n  description: {revision}\n"
            );
            let message = format!(
                "Approve p{package}/w{revision}\n\nkpt:{{\"package\":\"p{package}\",\"workspaceName\":\"w{revision}\",\"revision\":\"{revision}\"}}\n"
            );
            import.push_str(&format!(
                "commit refs/heads/main\nmark :{}\ncommitter bench <bench@example.com> {} +0000\ndata {}\n{message}\n",
                number + 1,
                1_700_000_000 + number,
                message.len()
            ));
            import.push_str(&format!(
                "M 644 inline p{package}/Kptfile\ndata {}\n{kptfile}\nreset refs/tags/p{package}/v{revision}\nfrom :{}\n\n",
                kptfile.len(),
                number + 1
            ));
        }
        fs::write(self.root.join("import"), import)?;
        // All revisions, and one for each package on the branch.
        let listed = REVISIONS + PACKAGES;
        self.perform(
            0,
            &format!(
                "git init -q --bare -b main many.git; git -C many.git fast-import --quiet <import
                 git -C many.git pack-refs --all; kiln repo register many.git
                 [[ $(kiln rpkg get --repo many --no-headers | wc -l) == {listed} ]]"
            ),
        )
    }

    fn clone_step(&self) -> RpkgStep {
        RpkgStep {
            name: "clone, render, commit".to_owned(),
            before: String::new(),
            ours: "kiln rpkg clone blueprints.web.v1 ours$ROUND --repository deploy --workspace v1"
                .to_owned(),
            by_hand: "git clone -q --depth 1 -b web/v1 -c advice.detachedHead=false \
                 file://$PWD/blueprints.git got$ROUND
                 cd hand; git checkout -q -b drafts/hand$ROUND/v1 origin/main
                 cp -r ../got$ROUND/web hand$ROUND; kiln fn render hand$ROUND
                 git add hand$ROUND; git commit -q -m clone; git push -q origin drafts/hand$ROUND/v1"
                .to_owned(),
        }
    }

    fn get_step(&self) -> RpkgStep {
        RpkgStep {
            name: format!("get of {REVISIONS} revisions"),
            before: String::new(),
            ours: "kiln rpkg get --repo many".to_owned(),
            by_hand: "git -C many.git for-each-ref \
                 --format='%(refname) %(objectname) %(contents)' refs/heads refs/tags"
                .to_owned(),
        }
    }

    fn approve_step(&self) -> RpkgStep {
        RpkgStep {
            name: "approve".to_owned(),
            before: "kiln rpkg clone blueprints.web.v1 a$ROUND --repository deploy --workspace v1
                 kiln rpkg propose deploy.a$ROUND.v1"
                .to_owned(),
            ours: "kiln rpkg approve deploy.a$ROUND.v1".to_owned(),
            by_hand: "cd hand; git fetch -q origin; git checkout -q -B main origin/main
                 git checkout -q origin/proposed/a$ROUND/v1 -- a$ROUND; git commit -q -m approve
                 git tag a$ROUND/v1
                 git push -q --atomic origin main a$ROUND/v1 :proposed/a$ROUND/v1"
                .to_owned(),
        }
    }

    /// kiln's time divided by the time by hand.
    fn compare(&self, step: &RpkgStep, out: &mut dyn Write) -> anyhow::Result<f64> {
        let mut round = 0;
        let mut measured = |steps: &str| -> anyhow::Result<Usage> {
            best(ROUNDS, || {
                round += 1;
                self.perform(round, &step.before)?;
                measure(&self.script(round, steps))
            })
        };
        let by_hand = measured(&step.by_hand)?;
        let ours = measured(&step.ours)?;
        let ratio = ours.wall / by_hand.wall;
        for (how, usage, ratio) in [
            ("by hand", by_hand, String::new()),
            ("kiln", ours, format!("{ratio:.2}")),
        ] {
            writeln!(
                out,
                "{:28} {how:8} {:9.4} {:9.4} {ratio:>8}",
                step.name, usage.wall, usage.cpu
            )?;
        }
        Ok(ratio)
    }
}
