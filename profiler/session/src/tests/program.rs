//! A program whose code is announced in an arena, as an agent or an attaching session does.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use evenkeel_symbols::Module;

use crate::arena::Arena;
use crate::attached;
use crate::location::Location;
use crate::modules::Modules;

/// `caller` calls `callee`, and `main` waits for its input.
const SOURCE: &str = "
    #include <stdio.h>
    __attribute__((noinline)) int callee(int value) { return value * 3 + getchar(); }
    __attribute__((noinline)) int caller(int value) { return callee(value) + 1; }
    int main(int argc, char **argv) { (void)argv; return caller(argc); }
";

/// A running program; it ends with this.
pub(crate) struct Announced {
    child: Child,
    pub(crate) arena: Arena,
    pub(crate) modules: Modules,
    /// Index of its executable.
    pub(crate) index: usize,
    pub(crate) module: Rc<Module>,
    _folder: tempfile::TempDir,
}

impl Announced {
    pub(crate) fn new() -> Announced {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path());
        let mut command = Command::new(program);
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut arena = Arena::create().unwrap();
        let announced = attached::announce(&mut arena, child.id() as i32);
        let index = announced.unwrap().unwrap();
        let mut modules = Modules::default();
        let module = modules.get(&arena, index).unwrap();
        Announced {
            child,
            arena,
            modules,
            index,
            module,
            _folder: folder,
        }
    }

    /// A function by its name.
    pub(crate) fn function(&self, name: &str) -> Location {
        Location::new(self.index, self.module.find(name).unwrap())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compile(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g", "-fno-optimize-sibling-calls"]);
    compiler.arg(&source).arg("-o").arg(&program);
    assert!(compiler.status().unwrap().success());
    program
}
