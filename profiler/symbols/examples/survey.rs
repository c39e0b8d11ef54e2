//! Counts what can be redirected in a program: `cargo run --release --example survey -- /usr/bin/PROGRAM`

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use evenkeel_symbols::{DebugSources, FunctionKind, Module};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a program or library")?;
    let begin = Instant::now();
    let module = Module::load(Path::new(&path), &DebugSources::from_environment())?;
    let loaded = begin.elapsed();
    let (mut forms, mut kinds, mut entries) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for function in module.functions() {
        *kinds.entry(format!("{:?}", function.kind)).or_insert(0) += 1;
        for site in module.call_sites(function.entry) {
            *forms.entry(format!("{:?}", site.form)).or_insert(0) += 1;
        }
        if function.kind == FunctionKind::Ordinary {
            let outcome = module.displaced(function.entry).map(|_| "can be displaced");
            *entries.entry(format!("{outcome:?}")).or_insert(0) += 1;
        }
    }
    let functions = module.functions();
    let nameless = functions
        .iter()
        .filter(|function| module.symbol(function.entry).is_none())
        .count();
    let cold: usize = functions
        .iter()
        .map(|function| function.parts.len() - 1)
        .sum();
    let debug = module.debug_file().map(|path| path.display().to_string());
    println!("debug file: {}", debug.as_deref().unwrap_or("none"));
    module
        .notes()
        .iter()
        .for_each(|note| println!("note: {note}"));
    println!(
        "functions: {} {kinds:?}, {nameless} nameless, {cold} cold parts",
        functions.len()
    );
    println!("address taken: {}", module.address_taken().len());
    println!(
        "greatest height: {}",
        module.heights().iter().max().unwrap_or(&0)
    );
    println!("call sites: {} {forms:#?}", forms.values().sum::<i32>());
    println!("entries: {entries:#?}");
    println!(
        "{:.3} s to load, {:.3} s in all",
        loaded.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}
