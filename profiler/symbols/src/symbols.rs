//! Symbol tables: the program's own and that of its debug file.

use object::{LittleEndian, Object, ObjectSymbol, elf};

use crate::load::{Elf, Image};

/// A symbol's name without its version: `qsort` of `qsort@GLIBC_2.2.5`.
pub fn unversioned(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Whether this symbol is code of GHC's own, in a module that GHC compiled in part. Labels of such code have known
/// endings, and parts of the runtime in the language Cmm have known prefixes (ghc/compiler/GHC/Cmm/CLabel.hs).
fn is_haskell(name: &str) -> bool {
    const ENDS: [&str; 5] = ["_info", "_entry", "_fast", "_slow", "_ret"];
    name.starts_with("stg_") || ENDS.iter().any(|end| name.ends_with(end))
}

/// A name of an address inside the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    /// 0 where it is not known.
    pub(crate) size: u64,
    /// As in the table, without a version.
    pub(crate) name: Box<str>,
    /// The source file of a local symbol, as an index into [`Symbols::files`].
    file: Option<u32>,
    pub(crate) kind: SymbolKind,
    binding: Binding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    /// A function that chooses another one at load time.
    Resolver,
    /// Code of the Haskell compiler.
    Haskell,
    /// A place in assembly code: names an address, but does not say that a function begins there.
    Label,
}

/// In the order of preference for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Global,
    Weak,
    Local,
}

/// The symbols of a module, ascending by address, the preferred name of an address first.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    all: Vec<Symbol>,
    files: Vec<Box<str>>,
}

impl Symbols {
    /// Adds the symbols of `elf` that lie in the code of `image`.
    pub(crate) fn add(&mut self, elf: &Elf<'_>, image: &Image) {
        let mut file = None;
        for symbol in elf.symbols() {
            let raw = symbol.elf_symbol();
            if raw.st_type() == elf::STT_FILE {
                self.files.push(symbol.name().unwrap_or_default().into());
                file = Some(self.files.len() as u32 - 1);
                continue;
            }
            self.add_one(&symbol, file, image);
        }
        for symbol in elf.dynamic_symbols() {
            self.add_one(&symbol, None, image);
        }
    }

    fn add_one(
        &mut self,
        symbol: &object::read::elf::ElfSymbol64<'_, '_, LittleEndian>,
        file: Option<u32>,
        image: &Image,
    ) {
        let raw = symbol.elf_symbol();
        let kind = match raw.st_type() {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_GNU_IFUNC => SymbolKind::Resolver,
            elf::STT_NOTYPE => SymbolKind::Label,
            _ => return,
        };
        if symbol.is_undefined() || !image.holds_functions(symbol.address()) {
            return;
        }
        let binding = match raw.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let name = unversioned(symbol.name().unwrap_or_default());
        if name.is_empty() {
            return;
        }
        let kind = match kind {
            SymbolKind::Function if image.haskell && is_haskell(name) => SymbolKind::Haskell,
            kind => kind,
        };
        let file = file.filter(|_| binding == Binding::Local);
        let (address, size) = (symbol.address(), symbol.size());
        self.all.push(Symbol {
            address,
            size,
            name: name.into(),
            file,
            kind,
            binding,
        });
    }

    /// Sorts what was added and drops what both tables contain.
    pub(crate) fn finish(&mut self) {
        let rank = |symbol: &Symbol| {
            let underscores = symbol.name.bytes().take_while(|&byte| byte == b'_').count();
            (
                symbol.address,
                symbol.kind == SymbolKind::Label,
                symbol.binding,
                underscores,
            )
        };
        self.all.sort_by(|a, b| {
            rank(a)
                .cmp(&rank(b))
                .then_with(|| a.name.cmp(&b.name))
                .then(b.file.is_some().cmp(&a.file.is_some()))
        });
        self.all
            .dedup_by(|later, first| later.address == first.address && later.name == first.name);
        self.all.shrink_to_fit();
    }

    pub(crate) fn all(&self) -> &[Symbol] {
        &self.all
    }

    /// The symbols of exactly this address, the preferred one first.
    pub(crate) fn at(&self, address: u64) -> &[Symbol] {
        let from = self.all.partition_point(|symbol| symbol.address < address);
        let count = self.all[from..]
            .iter()
            .take_while(|symbol| symbol.address == address)
            .count();
        &self.all[from..from + count]
    }

    /// The source file of a local symbol, as the compiler was given it.
    pub(crate) fn file(&self, symbol: &Symbol) -> Option<&str> {
        symbol.file.map(|file| &*self.files[file as usize])
    }
}
