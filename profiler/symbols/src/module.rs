//! A loaded module and its parts.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::arch::members;
use crate::arch::prologue::Entry;
use crate::arch::scan::{self, ENTRY_BYTES_MAX};
use crate::debug_files::{self, DebugFile, DebugNote, DebugSources};
use crate::flow::Flow;
use crate::frames::{FrameEntry, Frames};
use crate::functions::{self, Function, FunctionKind, Functions};
use crate::graph::Graph;
use crate::lines::Lines;
use crate::load::{Elf, Image, LoadError};
use crate::names::{Inferred, NameIndex};
use crate::relocations::{self, Relocations, Slot};
use crate::sites::{Callee, Caller};
use crate::symbols::Symbols;
use crate::unpatchable::Unpatchable;
use crate::variables::{MemberUse, VariableSize};
use crate::{callee_rules, demangle, imports, mini_debug, variables};

/// Everything that is known about an ELF file without running it. All addresses are virtual addresses of the file.
#[derive(Debug)]
pub struct Module {
    image: Image,
    pub(crate) symbols: Symbols,
    pub(crate) functions: Functions,
    frames: Vec<FrameEntry>,
    /// Targets of the linker's stubs, by the address of the stub.
    pub(crate) stubs: HashMap<u64, Callee>,
    slots: HashMap<u64, Slot>,
    /// Targets of branches within the first bytes of a part, but not at its start, ascending.
    branches_inside: Vec<u64>,
    address_taken: Vec<u64>,
    pub(crate) graph: Graph,
    pub(crate) inferred: Inferred,
    debug_file: Option<PathBuf>,
    notes: Vec<DebugNote>,
    names: OnceLock<NameIndex>,
    lines: OnceLock<Option<Lines>>,
    sources: DebugSources,
}

impl Module {
    /// Reads an executable or shared library, finds its debug file, and scans its code once.
    ///
    /// # Errors
    /// The file cannot be read, or is not a dynamically linked ELF file for this processor.
    pub fn load(path: &Path, sources: &DebugSources) -> Result<Module, LoadError> {
        let image = Image::read(path)?;
        if image.go {
            return Err(LoadError::Go {
                path: path.to_owned(),
            });
        }
        let elf = image.elf()?;
        let mut notes = Vec::new();
        let debug = debug_files::find(&image, sources, &mut notes);
        let symbols = read_symbols(&image, &elf, debug.as_ref(), &mut notes);
        let frames = Frames::of(&elf)
            .map(|frames| frames.all())
            .unwrap_or_default();
        let parts = functions::parts(&image, &symbols, &frames);
        let mut flow = Flow::default();
        for (index, part) in parts.iter().enumerate() {
            let code = image.code(&part.range);
            scan::scan(code, &part.range, index as u32, &mut flow);
        }
        let Relocations { slots, stored } = Relocations::of(&elf);
        let mut taken: HashSet<u64> = stored.into_iter().collect();
        taken.extend(&flow.computed);
        taken.extend(relocations::fixed_words(&elf));
        let functions = functions::join(parts, &symbols, &flow, &taken);

        let stubs = imports::stubs(&image, &slots, &symbols);
        let definitions = imports::definitions(&elf);
        let graph = Graph::new(&functions, &flow, |address| {
            imports::target(address, &stubs, &definitions, &functions)
        });
        let branches_inside = branches_inside(&functions, &flow);
        let address_taken = functions.all.iter().map(|function| function.entry);
        let address_taken = address_taken
            .filter(|entry| taken.contains(entry))
            .collect();
        let debug_file = debug.map(|debug| debug.path);
        Ok(Module {
            symbols,
            functions,
            frames,
            stubs,
            slots,
            branches_inside,
            address_taken,
            graph,
            inferred: Inferred::default(),
            debug_file,
            notes,
            names: OnceLock::new(),
            lines: OnceLock::new(),
            sources: sources.clone(),
            image,
        })
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.image.path
    }

    /// Address of a variable of this size, by its name as the linker knows it or as C++ writes it.
    pub fn variable(&self, name: &str, size: VariableSize) -> Option<u64> {
        variables::find(&self.image.elf().ok()?, name, size)
    }

    /// Address and bytes of an exported variable that is a number.
    pub fn number(&self, name: &str) -> Option<(u64, usize)> {
        variables::number(&self.image.elf().ok()?, name)
    }

    /// How the function at `entry` reads and writes members of the structure that its first argument points to, in the order of its
    /// code, up to its first call. Layouts of structures change with a server's version and its build; its code has the offsets.
    pub fn members_used(&self, entry: u64) -> Vec<MemberUse> {
        let code = self
            .function(entry)
            .and_then(|function| function.parts.first());
        code.map_or_else(Vec::new, |range| {
            members::used(self.code(range), range.start)
        })
    }

    /// The build id, empty if the linker left none.
    pub fn build_id(&self) -> &[u8] {
        &self.image.build_id
    }

    /// The separate debug file in use.
    pub fn debug_file(&self) -> Option<&Path> {
        self.debug_file.as_deref()
    }

    /// Problems while looking for debug files.
    pub fn notes(&self) -> &[DebugNote] {
        &self.notes
    }

    /// All functions, ascending by entry.
    pub fn functions(&self) -> &[Function] {
        &self.functions.all
    }

    /// The function whose code, cold parts included, holds `address`.
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        Some(&self.functions.all[self.functions.index_at(address)?])
    }

    /// The function that begins at `entry`.
    pub fn function(&self, entry: u64) -> Option<&Function> {
        Some(&self.functions.all[self.functions.index_of(entry)?])
    }

    /// The preferred symbol of exactly this address, as the linker knows it.
    pub fn symbol(&self, address: u64) -> Option<&str> {
        self.symbols.at(address).first().map(|symbol| &*symbol.name)
    }

    /// A name for display, demangled: of a function, of the import that a stub leads to, `name+0xOFFSET` inside a
    /// function. What has no name is `0xADDRESS`, or `~NAME` where a fingerprint fits it alone
    /// ([`infer_names`](Self::infer_names)).
    pub fn name(&self, address: u64) -> String {
        if let Some(Callee::Import(name)) = self.stubs.get(&address) {
            return demangle::demangle(name);
        }
        if let Some(name) = self.symbol(address) {
            return demangle::demangle(name);
        }
        if let Some(name) = self.inferred.name(address) {
            return name;
        }
        match self
            .function_at(address)
            .filter(|function| address > function.parts[0].start)
        {
            Some(function) if function.parts[0].contains(&address) => {
                format!(
                    "{}+{:#x}",
                    self.name(function.entry),
                    address - function.entry
                )
            }
            _ => format!("{address:#x}"),
        }
    }

    /// The name of a callee for display.
    pub fn callee_name(&self, callee: &Callee) -> String {
        match callee {
            Callee::Function(entry) => self.name(*entry),
            Callee::Import(name) => demangle::demangle(name),
            Callee::Pointer => "a pointer".to_owned(),
        }
    }

    /// Functions that call or jump directly to `target`, a function's entry or the stub of an import (see
    /// [`import_stubs`](Self::import_stubs)). Calls through pointers are not known.
    pub fn callers_of(&self, target: u64) -> Vec<Caller> {
        self.graph.callers_of(target)
    }

    /// The linker's stubs that jump to the import `name`.
    pub fn import_stubs(&self, name: &str) -> Vec<u64> {
        let leads = |callee: &Callee| matches!(callee, Callee::Import(import) if **import == *name);
        let mut stubs: Vec<u64> = self
            .stubs
            .iter()
            .filter(|(_, callee)| leads(callee))
            .map(|(&stub, _)| stub)
            .collect();
        stubs.sort_unstable();
        stubs
    }

    /// Addresses that are computed in a function's code, in its order.
    pub(crate) fn computed_in(&self, function: u64) -> Vec<u64> {
        self.function(function)
            .map(|function| self.flow_of(function).computed)
            .unwrap_or_default()
    }

    /// The flow of a single function; its parts have no index there.
    pub(crate) fn flow_of(&self, function: &Function) -> Flow {
        let mut flow = Flow::default();
        for part in &function.parts {
            scan::scan(self.code(part), part, 0, &mut flow);
        }
        flow
    }

    /// Entries of functions whose address is stored or computed somewhere, ascending: what a pointer can call.
    pub fn address_taken(&self) -> &[u64] {
        &self.address_taken
    }

    /// Height of each of [`functions`](Self::functions): the longest chain of calls below it, as in the specificity
    /// of a factor. The chain has direct calls and tail calls within the module, with recursion collapsed. A function
    /// that calls nothing has 0. Imports and pointers are callees of height 0.
    pub fn heights(&self) -> &[u32] {
        self.graph.heights()
    }

    /// Height of the function at `entry`.
    pub fn height(&self, entry: u64) -> Option<u32> {
        Some(self.graph.heights()[self.functions.index_of(entry)?])
    }

    /// The first instructions of the function at `entry`, rewritten to run elsewhere.
    ///
    /// # Errors
    /// Says why a jump cannot take their place.
    pub fn displaced(&self, entry: u64) -> Result<evenkeel_wire::Displaced, Unpatchable> {
        let function = self.function(entry).ok_or(Unpatchable::NoEntry)?;
        match function.kind {
            FunctionKind::Resolver => return Err(Unpatchable::Resolver),
            FunctionKind::Fragment => return Err(Unpatchable::Fragment),
            FunctionKind::Haskell => return Err(Unpatchable::Haskell),
            FunctionKind::Ordinary if entry == self.image.start => {
                return Err(Unpatchable::ProgramStart);
            }
            FunctionKind::Ordinary => {}
        }
        let own = &function.parts[0];
        let next = self
            .functions
            .parts
            .partition_point(|part| part.range.start <= entry);
        let next = self
            .functions
            .parts
            .get(next)
            .map_or(u64::MAX, |part| part.range.start);
        let displaced = Entry {
            address: entry,
            code: self.image.code_from(entry).unwrap_or_default(),
            bytes: (own.end - own.start) as usize,
            free_bytes: usize::try_from(next - entry).unwrap_or(usize::MAX),
        }
        .displaced()?;
        let from = self
            .branches_inside
            .partition_point(|&target| target <= entry);
        match self.branches_inside.get(from) {
            Some(&target) if target < entry + u64::from(displaced.len) => {
                Err(Unpatchable::BranchInside)
            }
            _ => Ok(displaced),
        }
    }

    /// The sixteen bytes from `address` on, zeros after the end of the code. `None` outside of code.
    pub fn bytes_at(&self, address: u64) -> Option<[u8; 16]> {
        let code = self.image.code_from(address)?;
        let mut bytes = [0; 16];
        let len = code.len().min(16);
        bytes[..len].copy_from_slice(&code[..len]);
        Some(bytes)
    }

    /// The source file and line of an instruction, if the program or its debug file says.
    pub fn line(&self, address: u64) -> Option<crate::lines::SourceLine> {
        self.lines()?.line(address)
    }

    pub(crate) fn lines(&self) -> Option<&Lines> {
        let lines = self
            .lines
            .get_or_init(|| Lines::load(&self.image, self.debug_file.as_deref(), &self.sources));
        lines.as_ref()
    }

    pub(crate) fn names(&self) -> &NameIndex {
        self.names.get_or_init(|| NameIndex::new(&self.symbols))
    }

    /// Whether what lies at `address` begins with this string.
    pub(crate) fn string_at(&self, address: u64, string: &[u8]) -> bool {
        let data = self.image.loaded_from(address).unwrap_or_default();
        data.starts_with(string)
    }

    pub(crate) fn code(&self, range: &std::ops::Range<u64>) -> &[u8] {
        self.image.code(range)
    }

    /// The function or import that begins at `target`.
    pub(crate) fn callee_at(&self, target: u64) -> Option<Callee> {
        let import = self.stubs.get(&target).cloned();
        import.or_else(|| {
            self.function(target)
                .map(|function| Callee::Function(function.entry))
        })
    }

    /// The callee of an indirect call through the word at `address`, if that is a slot that only the loader writes.
    pub(crate) fn callee_in(&self, address: u64) -> Callee {
        let slot = self.slots.get(&address);
        slot.map_or(Callee::Pointer, |slot| {
            imports::slot_callee(slot, &self.symbols)
        })
    }

    /// Why calls of `callee` must be left alone.
    pub(crate) fn callee_rule(&self, callee: &Callee) -> Option<Unpatchable> {
        match callee {
            Callee::Function(entry) => self
                .symbols
                .at(*entry)
                .iter()
                .find_map(|symbol| callee_rules::of(&symbol.name)),
            Callee::Import(name) => callee_rules::of(name),
            Callee::Pointer => None,
        }
    }

    /// Whether the stack at `address` is that at the function's entry, as far as frame descriptions say.
    pub fn stack_is_as_called(&self, address: u64) -> bool {
        let at = self
            .frames
            .partition_point(|frame| frame.range.end <= address);
        let Some(frame) = self
            .frames
            .get(at)
            .filter(|frame| frame.range.contains(&address))
        else {
            return false;
        };
        let elf = self.image.elf();
        elf.ok()
            .and_then(|elf| Frames::of(&elf))
            .is_some_and(|frames| frames.stack_is_as_called(frame, address))
    }
}

fn read_symbols(
    image: &Image,
    elf: &Elf<'_>,
    debug: Option<&DebugFile>,
    notes: &mut Vec<DebugNote>,
) -> Symbols {
    let mut symbols = Symbols::default();
    symbols.add(elf, image);
    if let Some(debug) = debug {
        match debug.elf() {
            Ok(elf) => symbols.add(&elf, image),
            Err(what) => notes.push(DebugNote::Unusable {
                path: debug.path.clone(),
                what,
            }),
        }
    } else if let Err(what) = add_mini_debug(elf, image, &mut symbols) {
        notes.push(DebugNote::UnusableSection {
            path: image.path.clone(),
            what,
        });
    }
    symbols.finish();
    symbols
}

/// As GDB: what the file carries itself counts where there is no debug file.
fn add_mini_debug(elf: &Elf<'_>, image: &Image, symbols: &mut Symbols) -> Result<(), String> {
    if let Some(file) = mini_debug::read(elf)? {
        let within = Elf::parse(&*file).map_err(|error| error.to_string())?;
        symbols.add(&within, image);
    }
    Ok(())
}

/// Targets of branches within the first bytes of a part, but not at the start of any.
fn branches_inside(functions: &Functions, flow: &Flow) -> Vec<u64> {
    let mut inside = flow.near_start.clone();
    inside.extend(
        flow.transfers
            .iter()
            .map(|transfer| transfer.target)
            .filter(|&target| {
                let before = functions
                    .parts
                    .partition_point(|part| part.range.start < target);
                before > 0 && target - functions.parts[before - 1].range.start < ENTRY_BYTES_MAX
            }),
    );
    // A target at the start of a part is not inside it; the filter above measured it from the part before.
    inside.retain(|target| {
        functions
            .parts
            .binary_search_by_key(target, |part| part.range.start)
            .is_err()
    });
    inside.sort_unstable();
    inside.dedup();
    inside
}

/// Sessions ask from several threads.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Module>();
};
