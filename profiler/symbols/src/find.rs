//! Finding what a user typed.

use thiserror::Error;

use crate::functions::FunctionKind;
use crate::module::Module;
use crate::names::INFERRED;

/// A function among several of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its entry.
    pub address: u64,
    /// Its name, demangled.
    pub name: String,
    /// Its source file, where known.
    pub file: Option<String>,
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x} {}", self.address, self.name)?;
        self.file
            .iter()
            .try_for_each(|file| write!(f, " in {file}"))
    }
}

/// Why a function or call site was not found. Each text says what to type instead.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FindError {
    /// No function has this name.
    #[error("no function is named {name}{}", suggestion(closest))]
    NoSuchFunction {
        /// The requested name.
        name: String,
        /// Names that are spelt alike, the closest first.
        closest: Vec<String>,
    },
    /// Several functions have this name.
    #[error(
        "{name} is ambiguous; name one by its address or as file:function:{}",
        listed(candidates)
    )]
    Ambiguous {
        /// The requested name.
        name: String,
        /// All of them.
        candidates: Vec<Candidate>,
    },
    /// A function was named with its file, but which files there are is not known.
    #[error(
        "{name} names a source file, but there is no debug information; install the program's debug symbols, or name the function alone or by its address"
    )]
    NoDebugInfo {
        /// The requested name.
        name: String,
    },
    /// Not a hexadecimal number.
    #[error("{text} is not an address; write 0x and hexadecimal digits")]
    BadAddress {
        /// The requested text.
        text: String,
    },
    /// The address is not in a function.
    #[error(
        "no function lies at {address:#x}; addresses are those of the file, as objdump and readelf show them"
    )]
    NotInFunction {
        /// The address.
        address: u64,
    },
    /// The address is inside a function.
    #[error("{address:#x} is inside {name}, which begins at {entry:#x}; use that address")]
    NotAnEntry {
        /// The address.
        address: u64,
        /// Entry of the function.
        entry: u64,
        /// Its name for display.
        name: String,
    },
    /// The name is that of a function chosen at load time.
    #[error(
        "which function {name} is, is chosen at load time (it is an indirect function); name its callers instead"
    )]
    Indirect {
        /// The requested name.
        name: String,
    },
    /// The function is GHC's.
    #[error(
        "{name} is code of GHC (Haskell), which is entered and left by jumps, so its calls have no end. Name a function of C that the work goes through, also in a library: LIBRARY!FUNCTION. Or profile it with GHC's own profiler"
    )]
    Haskell {
        /// The requested name.
        name: String,
    },
    /// The caller does not call the callee.
    #[error("{caller} does not call {callee}{}", calls(called))]
    NoSuchCall {
        /// The caller.
        caller: String,
        /// The callee.
        callee: String,
        /// The actual callees of the caller, for display, each once.
        called: Vec<String>,
    },
    /// The caller calls the callee, but not at the given offset.
    #[error("{caller} does not call {callee} at {offset}; it does at {}", offsets.join(", "))]
    NoSuchOffset {
        /// The caller.
        caller: String,
        /// The callee.
        callee: String,
        /// The offset asked for.
        offset: String,
        /// Offsets at which it does.
        offsets: Vec<String>,
    },
}

fn suggestion(closest: &[String]) -> String {
    match closest {
        [] => "; a function without a name is found by its address (0x...)".to_owned(),
        closest => format!("; did you mean {}?", closest.join(", ")),
    }
}

/// Functions that an error lists.
const LISTED_MAX: usize = 30;

fn listed(candidates: &[Candidate]) -> String {
    let first = candidates.iter().take(LISTED_MAX);
    let mut listed: String = first.map(|one| format!("\n  {one}")).collect();
    if candidates.len() > LISTED_MAX {
        listed += &format!("\n  and {} more", candidates.len() - LISTED_MAX);
    }
    listed
}

fn calls(called: &[String]) -> String {
    match called.split_at_checked(LISTED_MAX) {
        Some((listed, rest)) if !rest.is_empty() => {
            format!("; it calls {} and {} more", listed.join(", "), rest.len())
        }
        _ if called.is_empty() => "; it calls nothing".to_owned(),
        _ => format!("; it calls {}", called.join(", ")),
    }
}

impl Module {
    /// The entry of the function that a user means by
    ///
    /// - a symbol, or a C++ or Rust name with or without parameters, or the end of one (`Table::read` for
    ///   `<store::table::Table<K>>::read`);
    /// - `~NAME`, as inferred names are shown;
    /// - `0xADDRESS`, a virtual address of the file;
    /// - `FILE:FUNCTION`, the file being the end of a source path (`main.c`, `tcop/postgres.c`).
    ///
    /// # Errors
    /// No function, or no single one, is meant.
    pub fn find(&self, text: &str) -> Result<u64, FindError> {
        if let Some(digits) = text.strip_prefix("0x") {
            return self.find_address(text, digits);
        }
        let inferred = text.strip_prefix(INFERRED);
        if let Some(entry) = inferred.and_then(|name| self.inferred.entry(name)) {
            return Ok(entry);
        }
        let meant = self.names().meant(text);
        if let Some((file, name)) = split_file(text).filter(|_| meant.is_empty()) {
            return self.find_in_file(text, file, name);
        }
        self.only(text, meant)
    }

    /// The name of the function that a user means by the end of it.
    pub fn whole_name(&self, end: &str) -> Option<String> {
        let is_whole = !self.names().get(end).is_empty();
        match *self.names().meant(end) {
            [entry] if !is_whole => Some(self.name(entry)),
            _ => None,
        }
    }

    fn find_address(&self, text: &str, digits: &str) -> Result<u64, FindError> {
        let address = u64::from_str_radix(digits, 16).map_err(|_| FindError::BadAddress {
            text: text.to_owned(),
        })?;
        match self.function_at(address) {
            Some(function) if function.entry == address => self.ordinary(text, address),
            Some(function) => {
                let (entry, name) = (function.entry, self.name(function.entry));
                Err(FindError::NotAnEntry {
                    address,
                    entry,
                    name,
                })
            }
            None => Err(FindError::NotInFunction { address }),
        }
    }

    fn find_in_file(&self, text: &str, file: &str, name: &str) -> Result<u64, FindError> {
        let addresses = self.names().meant(name);
        if addresses.is_empty() {
            return self.only(name, Vec::new());
        }
        let files: Vec<_> = addresses
            .iter()
            .map(|&address| self.source_file(address))
            .collect();
        if files.iter().all(Option::is_none) {
            return Err(FindError::NoDebugInfo {
                name: text.to_owned(),
            });
        }
        let fits = |found: &Option<String>| {
            found
                .as_deref()
                .is_some_and(|found| ends_with_path(found, file))
        };
        let fitting = addresses
            .iter()
            .zip(&files)
            .filter(|(_, found)| fits(found));
        let fitting: Vec<u64> = fitting.map(|(&address, _)| address).collect();
        if !fitting.is_empty() {
            return self.only(text, fitting);
        }
        let elsewhere = addresses
            .iter()
            .zip(files)
            .filter_map(|(_, found)| Some(format!("{}:{name}", found?)));
        Err(FindError::NoSuchFunction {
            name: text.to_owned(),
            closest: elsewhere.collect(),
        })
    }

    /// The single ordinary function among `addresses`.
    fn only(&self, name: &str, addresses: Vec<u64>) -> Result<u64, FindError> {
        match *addresses {
            [] => {
                let closest = match self.inferred.entry(name) {
                    Some(_) => vec![format!("{INFERRED}{name}")],
                    None => self.names().closest(name),
                };
                Err(FindError::NoSuchFunction {
                    name: name.to_owned(),
                    closest,
                })
            }
            [address] => self.ordinary(name, address),
            _ => {
                let candidates = addresses.iter().map(|&address| Candidate {
                    address,
                    name: self.name(address),
                    file: self.source_file(address),
                });
                Err(FindError::Ambiguous {
                    name: name.to_owned(),
                    candidates: candidates.collect(),
                })
            }
        }
    }

    /// The function at `entry`, if calls of it begin and end there.
    fn ordinary(&self, name: &str, entry: u64) -> Result<u64, FindError> {
        let name = name.to_owned();
        match self.function(entry).map(|function| function.kind) {
            Some(FunctionKind::Resolver) | None => Err(FindError::Indirect { name }),
            Some(FunctionKind::Haskell) => Err(FindError::Haskell { name }),
            Some(FunctionKind::Ordinary | FunctionKind::Fragment) => Ok(entry),
        }
    }

    /// The source file of a function: from line tables, or, for a local symbol, from the symbol table.
    fn source_file(&self, entry: u64) -> Option<String> {
        let from_symbols = || {
            self.symbols
                .at(entry)
                .iter()
                .find_map(|symbol| self.symbols.file(symbol))
        };
        let from_lines = self.lines().and_then(|lines| lines.function_file(entry));
        from_lines.or_else(|| from_symbols().map(str::to_owned))
    }

    /// All functions of exactly this name.
    pub(crate) fn addresses_of(&self, name: &str) -> &[u64] {
        self.names().get(name)
    }
}

/// `FILE` and `FUNCTION` of `FILE:FUNCTION`: split at the first colon that is not one of a pair.
fn split_file(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let single = |&at: &usize| {
        bytes[at] == b':' && bytes.get(at + 1) != Some(&b':') && (at == 0 || bytes[at - 1] != b':')
    };
    let at = (0..bytes.len()).find(single)?;
    let (file, name) = (&text[..at], &text[at + 1..]);
    (!file.is_empty() && !name.is_empty()).then_some((file, name))
}

/// Whether `path` ends in the components of `end`.
fn ends_with_path(path: &str, end: &str) -> bool {
    std::path::Path::new(path).ends_with(end)
}
