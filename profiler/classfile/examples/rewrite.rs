//! Rewrites all class files below a directory, in place, with probes around every call and in every method's body.
//!
//! usage: rewrite DIRECTORY HELPER [COMPILED_BYTES]
//!
//! HELPER is the class of the probes, as `evenkeel/Probe`. The counts go to the standard output, refusals to the standard error.
//! Fails where a class file is not written as it was read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evenkeel_classfile::{Class, Error, Helper, Limits, MethodProbes, Plan, Reason, Rewritten};

#[derive(Default)]
struct Counts {
    classes: usize,
    damaged: usize,
    methods: usize,
    calls: usize,
    refused: BTreeMap<&'static str, usize>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, helper, compiled_bytes) = match &arguments[..] {
        [directory, helper] => (directory, helper, Ok(Limits::default().compiled_bytes)),
        [directory, helper, bytes] => (directory, helper, bytes.parse()),
        _ => (&String::new(), &String::new(), "".parse()),
    };
    let Ok(compiled_bytes) = compiled_bytes else {
        eprintln!("usage: rewrite DIRECTORY HELPER [COMPILED_BYTES]");
        return ExitCode::from(2);
    };
    let (helper, limits) = (Helper { class: helper }, Limits { compiled_bytes });
    let mut counts = Counts::default();
    for path in class_files(Path::new(directory)) {
        let bytes = std::fs::read(&path).expect("the file can be read");
        match rewrite(&bytes, &helper, &limits, &mut counts) {
            Ok(Some(class)) => std::fs::write(&path, class).expect("the file can be written"),
            Ok(None) => {}
            Err(error) => {
                counts.damaged += 1;
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    let Counts {
        classes,
        damaged,
        methods,
        calls,
        refused,
    } = counts;
    println!(
        "{classes} classes, {methods} methods with {calls} calls rewritten, {damaged} files damaged, refused: {refused:?}"
    );
    ExitCode::SUCCESS
}

fn class_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).expect("the directory can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "class")
            {
                found.push(path);
            }
        }
    }
    found
}

fn rewrite(
    bytes: &[u8],
    helper: &Helper<'_>,
    limits: &Limits,
    counts: &mut Counts,
) -> Result<Option<Vec<u8>>, Error> {
    let class = Class::read(bytes)?;
    assert!(
        class.write() == bytes,
        "{}: not written as it was read",
        class.name()
    );
    let plan = everything(&class, counts)?;
    let Rewritten {
        class: rewritten,
        methods,
        refused,
    } = class.instrument(&plan, helper, limits);
    counts.classes += 1;
    counts.methods += methods.len();
    counts.calls += methods
        .iter()
        .map(|grown| plan.methods[&grown.index].calls.len())
        .sum::<usize>();
    for refusal in &refused {
        *counts.refused.entry(kind(&refusal.reason)).or_default() += 1;
        eprintln!("{refusal}");
    }
    if let Some(rewritten) = &rewritten {
        let again = Class::read(rewritten).expect("a rewritten class can be read");
        for method in again.methods() {
            method.call_sites().expect("and its code, too");
        }
    }
    Ok(rewritten)
}

/// A plan with every probe there can be. Numbers go beyond what `sipush` can push.
fn everything(class: &Class<'_>, counts: &Counts) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    for method in class.methods().filter(|method| method.has_code()) {
        let id = u32::try_from(32_700 + counts.methods + method.index()).expect("a few millions");
        let calls = method
            .call_sites()?
            .into_iter()
            .map(|site| (site.pc, id + u32::from(site.pc)))
            .collect();
        plan.methods.insert(
            method.index(),
            MethodProbes {
                body: Some(id),
                calls,
                label: method.argument(0)?,
            },
        );
    }
    Ok(plan)
}

fn kind(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotCompiled { .. } => "not compiled",
        Reason::TooLong { .. } => "too long",
        Reason::FramesTooLarge { .. } => "frames too large",
        Reason::PoolFull => "pool full",
        Reason::NoRoom => "no room",
        Reason::UnknownAttribute(_) => "unknown attribute",
        Reason::Subroutine { .. } => "subroutine",
        Reason::FarBranch { .. } => "far branch",
        Reason::NoCode => "no code",
        Reason::NoCall { .. } => "no call",
        Reason::Damaged(_) => "damaged",
    }
}
