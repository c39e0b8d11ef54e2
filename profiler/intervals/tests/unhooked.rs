//! Points with call sites that cannot be hooked.

use std::path::Path;
use std::process::Command;

use evenkeel_intervals::interval::{Unhooked, resolve, resolve_named};
use evenkeel_intervals::spec::{IntervalSpec, NamedCall, Role};
use evenkeel_symbols::{DebugSources, Module, Unpatchable};

/// `caller` calls `callee` and continues in it by a conditional jump, which has no room for another target.
const PROGRAM: &str = "
    .globl main, caller, callee
    .type main, @function
    .type caller, @function
    .type callee, @function
callee: .cfi_startproc
    ret
    .cfi_endproc
    .size callee, .-callee
caller: .cfi_startproc
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call callee
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    testl %eax, %eax
    jne callee
    ret
    .cfi_endproc
    .size caller, .-caller
main: .cfi_startproc
    call caller
    ret
    .cfi_endproc
    .size main, .-main
    .section .note.GNU-stack
";

fn build(folder: &Path) -> Module {
    let (source, program) = (folder.join("program.s"), folder.join("program"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.arg(&source).arg("-o").arg(&program);
    assert!(compiler.status().unwrap().success());
    Module::load(&program, &DebugSources::none()).unwrap()
}

#[test]
fn a_call_site_that_cannot_be_hooked_is_reported_beside_one_that_can() {
    let folder = tempfile::tempdir().unwrap();
    let module = build(folder.path());
    let is_reported = |unhooked: &[Unhooked]| {
        let [point] = unhooked else {
            panic!("{unhooked:?}")
        };
        let [(site, reason)] = &point.refused[..] else {
            panic!("{point:?}")
        };
        assert_eq!((point.point.as_str(), point.hooked), ("caller>callee", 1));
        assert_eq!(*reason, Unpatchable::ConditionalTailJump);
        assert!(site.starts_with("caller+0x"), "{site}");
    };
    let spec: IntervalSpec = "caller>callee".parse().unwrap();
    let interval = resolve(&spec, &module).unwrap();
    assert_eq!(interval.boundaries.len(), 1);
    is_reported(&interval.unhooked);
    let named = NamedCall::parse(Role::Acquire, "caller>callee").unwrap();
    is_reported(&resolve_named(&named, &module).unwrap().unhooked);
}
