//! Programs whose code is not in the file to which the kernel's link leads, or not mapped from it.

use std::fs;
use std::path::PathBuf;

use evenkeel_symbols::section;
use serde_json::Value;

use super::nodes;
use super::support::build::own_program;
use super::support::run::{Place, finish_hearing, has_opened_all};
use super::working::Working;

fn program() -> PathBuf {
    own_program("moved", include_str!("moved.c"))
}

/// The loader by whose name the program is run, and the program.
fn by_its_loader() -> [PathBuf; 2] {
    let program = program();
    let mut loader = section(&program, ".interp").unwrap().expect("is dynamic");
    loader.pop();
    [String::from_utf8(loader).unwrap().into(), program]
}

fn assert_found(profile: &Value) {
    for function in ["quick", "slow"] {
        let found = nodes(&profile["tree"], function);
        assert_eq!(found.len(), 1, "{function}: {profile:#}");
        assert_eq!(found[0]["calls_mean"], 1.0, "{:#}", found[0]);
    }
}

fn assert_attached(command: PathBuf, arguments: &[&str]) {
    let working = Working::start(command, arguments);
    let options = ["--interval", "run_interval", "--json", "run.json"];
    working.attached_until(&options, has_opened_all).ended(0);
    assert_found(&working.place.json("run.json"));
    working.end().ended(0);
}

fn assert_profiled(command: &[&str]) {
    let place = Place::new();
    let options = ["--interval", "run_interval", "--json", "run.json", "--"];
    let mut session = place.evenkeel(["profile"]);
    session.args(options).args(command);
    let enough = place.file("enough");
    session.env("READY", place.file("ready"));
    session.env("UNTIL", &enough);
    finish_hearing(session.spawn().unwrap(), move |line| {
        if has_opened_all(line) {
            fs::write(&enough, "").unwrap();
        }
    })
    .ended(0);
    assert_found(&place.json("run.json"));
}

#[test]
fn a_program_run_by_its_loader() {
    let [loader, program] = by_its_loader();
    let program = program.to_str().unwrap();
    assert_profiled(&[loader.to_str().unwrap(), program]);
    assert_attached(loader, &[program]);
}

#[test]
fn a_program_that_has_moved_its_code() {
    assert_profiled(&[program().to_str().unwrap(), "code"]);
    assert_attached(program(), &["code"]);
}
