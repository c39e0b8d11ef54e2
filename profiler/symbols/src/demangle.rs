//! Names as people write them.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name of a C++ or Rust symbol as written in its source; any other name is returned unchanged.
pub fn demangle(name: &str) -> String {
    demangle_with(name, DemangleOptions::new()).unwrap_or_else(|| name.to_owned())
}

/// The same without parameters and return type (`ns::f` for `int ns::f<int>(int)` is `ns::f<int>`).
pub(crate) fn demangle_without_parameters(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    demangle_with(name, options).unwrap_or_else(|| name.to_owned())
}

fn demangle_with(name: &str, options: DemangleOptions) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // The alternate form leaves the hash out.
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let demangled = Symbol::new(name).ok()?.demangle_with_options(&options);
    demangled.ok().map(thunk_to)
}

/// A thunk adjusts `this` and jumps to the function, so it is named after the function. `cpp_demangle` writes
/// `{virtual override thunk({offset(-16)}, ns::B::run())}`.
fn thunk_to(name: String) -> String {
    let inside = name.strip_prefix("{virtual override thunk({");
    let target = inside.and_then(|inside| inside.split_once("}, ")?.1.strip_suffix(")}"));
    target.map_or_else(|| name.clone(), |target| format!("thunk to {target}"))
}

/// The source's name of a function's specialised copy: without the endings `.constprop.0`, `.isra.0`, `.part.0` and
/// `.lto_priv.0`.
pub(crate) fn without_clone_suffix(name: &str) -> &str {
    const SUFFIXES: [&str; 4] = [".constprop.", ".isra.", ".part.", ".lto_priv."];
    let end = SUFFIXES.iter().filter_map(|suffix| name.find(suffix)).min();
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language() {
        assert_eq!(demangle("_ZN2ns1fEi"), "ns::f(int)");
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("XLogFlush"), "XLogFlush");
        assert_eq!(demangle_without_parameters("_ZN2ns1fIiEEiT_"), "ns::f<int>");
        assert_eq!(demangle("_ZThn16_N2ns1B3runEv"), "thunk to ns::B::run()");
        assert_eq!(demangle("_ZTv0_n24_N2ns1B3runEv"), "thunk to ns::B::run()");
        assert_eq!(without_clone_suffix("f.isra.0.part.3"), "f");
        assert_eq!(without_clone_suffix("f"), "f");
    }
}
