//! What an interval is called in reports.

use std::process::Command;

use evenkeel_intervals::interval::resolve;
use evenkeel_intervals::spec::IntervalSpec;
use evenkeel_symbols::{DebugSources, Module};

const PROGRAM: &str = "
namespace shop {
struct Table { int rows; int read(int row) const; };
__attribute__((noipa)) int Table::read(int row) const { return rows - row; }
}
int main(int count, char **) { return shop::Table{count}.read(1); }
";

/// Only the end of the function's name is typed. The report says which function that was.
#[test]
fn an_interval_has_the_whole_name_of_its_function() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (
        folder.path().join("program.cc"),
        folder.path().join("program"),
    );
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("g++");
    compiler.arg(&source).arg("-o").arg(&program);
    assert!(compiler.status().unwrap().success());
    let module = Module::load(&program, &DebugSources::none()).unwrap();
    let name = |text: &str| {
        let spec: IntervalSpec = text.parse().unwrap();
        resolve(&spec, &module).unwrap().name
    };
    let whole = "shop::Table::read(int) const";
    assert_eq!(name("Table::read"), whole);
    assert_eq!(name("read,label=integer:1"), whole);
    assert_eq!(name("Table::read,name=lookup"), "lookup");
    assert_eq!(
        name("shop::Table::read,label=integer:1"),
        "shop::Table::read"
    );
}
