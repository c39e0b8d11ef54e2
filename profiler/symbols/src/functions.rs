//! Which code belongs to which function.
//!
//! Symbols and frame descriptions bound **parts**: contiguous code. Most functions are one part. A compiler may move
//! code that it expects to be rare into a second part far away, called *cold* here. A cold part is reached by jumps,
//! its frame is that of the function, and in a stripped file it has no name. A part is recognised as cold if both
//! hold:
//!
//! 1. Its symbol ends in `.cold` or `.cold.N`, or the stack at its first instruction is not that of a function just
//!    called, or it is nameless and only reached by jumps.
//! 2. Another part jumps into its middle, or conditionally to its start. A jump to its start suffices where 1 is certain,
//!    or where only one part makes it and the start is not aligned as compilers align functions. A jump from it into
//!    the middle of another part suffices too.
//!
//! Parts connected by 2 form one function, whose entry is the one that is named, called, or has its address taken.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::flow::{Flow, Transfer, TransferKind};
use crate::frames::FrameEntry;
use crate::load::Image;
use crate::symbols::{SymbolKind, Symbols};

/// To what compilers align functions that are not optimised for size.
const FUNCTION_ALIGNMENT: u64 = 16;

/// Uses of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// An ordinary function.
    Ordinary,
    /// The resolver of an indirect function (`STT_GNU_IFUNC`): the loader calls it, before any agent runs.
    Resolver,
    /// A part of a function that could not be found: it is jumped to, not called.
    Fragment,
    /// Code of the Haskell compiler GHC: control comes by a jump and leaves by one, and no return address is on the processor's stack.
    Haskell,
}

/// A function: its entry, and the code that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of its first instruction.
    pub entry: u64,
    /// What the function can be used for.
    pub kind: FunctionKind,
    /// Its code: first the part that begins with the entry, then cold parts.
    pub parts: Vec<Range<u64>>,
}

impl Function {
    /// Whether the instruction at `address` belongs to it.
    pub fn contains(&self, address: u64) -> bool {
        self.parts.iter().any(|part| part.contains(&address))
    }

    /// Bytes of code.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }
}

/// Contiguous code between two bounds.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    name: PartName,
    begins_called: bool,
    resolver: bool,
    haskell: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartName {
    None,
    Function,
    Cold,
}

/// All functions of a module, ascending by entry, and which of them owns each part.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    pub(crate) all: Vec<Function>,
    pub(crate) parts: Vec<Part>,
    /// Index of the function of each part.
    pub(crate) owner: Vec<u32>,
}

impl Functions {
    /// Index of the function whose code holds `address`.
    pub(crate) fn index_at(&self, address: u64) -> Option<usize> {
        Some(self.owner[part_at(&self.parts, address)?] as usize)
    }

    /// Index of the function that begins at `entry`.
    pub(crate) fn index_of(&self, entry: u64) -> Option<usize> {
        self.all
            .binary_search_by_key(&entry, |function| function.entry)
            .ok()
    }
}

fn part_at(parts: &[Part], address: u64) -> Option<usize> {
    let at = parts.partition_point(|part| part.range.end <= address);
    parts
        .get(at)
        .is_some_and(|part| part.range.contains(&address))
        .then_some(at)
}

/// Whether a symbol names a cold part. The parent's name stands before it.
pub(crate) fn cold_parent(name: &str) -> Option<&str> {
    let at = name.rfind(".cold")?;
    let rest = &name[at + ".cold".len()..];
    let numbered = rest
        .strip_prefix('.')
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    (rest.is_empty() || numbered).then_some(&name[..at])
}

/// The parts of a module, ascending, disjoint.
pub(crate) fn parts(image: &Image, symbols: &Symbols, frames: &[FrameEntry]) -> Vec<Part> {
    let mut found: BTreeMap<u64, Part> = BTreeMap::new();
    let new = |address| Part {
        range: address..address,
        name: PartName::None,
        begins_called: true,
        resolver: false,
        haskell: false,
    };
    for frame in frames
        .iter()
        .filter(|frame| image.holds_functions(frame.range.start))
    {
        let part = found
            .entry(frame.range.start)
            .or_insert_with(|| new(frame.range.start));
        part.range.end = part.range.end.max(frame.range.end);
        part.begins_called = frame.begins_called;
    }
    for symbol in symbols
        .all()
        .iter()
        .filter(|symbol| symbol.kind != SymbolKind::Label)
    {
        let part = found
            .entry(symbol.address)
            .or_insert_with(|| new(symbol.address));
        part.range.end = part
            .range
            .end
            .max(symbol.address.saturating_add(symbol.size));
        part.resolver |= symbol.kind == SymbolKind::Resolver;
        part.haskell |= symbol.kind == SymbolKind::Haskell;
        let cold = cold_parent(&symbol.name).is_some();
        if part.name != PartName::Function {
            part.name = if cold {
                PartName::Cold
            } else {
                PartName::Function
            };
        }
    }
    let mut parts: Vec<Part> = found.into_values().collect();
    for index in 0..parts.len() {
        let next = parts
            .get(index + 1)
            .map_or(u64::MAX, |part| part.range.start);
        let range = &mut parts[index].range;
        let section = image
            .text_at(range.start)
            .map_or(range.start, |text| text.addresses.end);
        let limit = next.min(section);
        range.end = if range.is_empty() {
            limit
        } else {
            range.end.min(limit)
        };
    }
    parts
}

/// Joins parts to functions. `taken` are addresses that are stored or computed somewhere.
pub(crate) fn join(
    parts: Vec<Part>,
    symbols: &Symbols,
    flow: &Flow,
    taken: &HashSet<u64>,
) -> Functions {
    let called: HashSet<u64> = flow
        .transfers
        .iter()
        .filter(|transfer| transfer.kind == TransferKind::Call)
        .map(|transfer| transfer.target)
        .collect();
    let is_entry: Vec<bool> = parts
        .iter()
        .map(|part| {
            let start = part.range.start;
            let reached = called.contains(&start) || taken.contains(&start);
            part.name == PartName::Function || (part.begins_called && reached)
        })
        .collect();
    let links = links(&parts, &is_entry, flow);
    let mut owner: Vec<Option<usize>> = vec![None; parts.len()];
    for entry in (0..parts.len()).filter(|&index| is_entry[index]) {
        claim(entry, &links, &is_entry, &mut owner);
    }
    adopt_by_name(&parts, symbols, &is_entry, &links, &mut owner);
    // What is left has no known entry. A group's largest part that begins like a function is taken for it.
    let mut rest: Vec<usize> = (0..parts.len())
        .filter(|&index| owner[index].is_none())
        .collect();
    rest.sort_by_key(|&index| {
        let part = &parts[index];
        let cold = !part.begins_called || part.name == PartName::Cold;
        (
            cold,
            std::cmp::Reverse(part.range.end - part.range.start),
            part.range.start,
        )
    });
    for index in rest {
        if owner[index].is_none() {
            claim(index, &links, &is_entry, &mut owner);
        }
    }
    collect(parts, &owner, &is_entry)
}

type Links = HashMap<usize, Vec<usize>>;

/// Pairs of parts that one function consists of, in both directions.
fn links(parts: &[Part], is_entry: &[bool], flow: &Flow) -> Links {
    let jumps = jumps_between(parts, flow);
    let mut only_source: HashMap<usize, Option<usize>> = HashMap::new();
    for &(from, to, _) in &jumps {
        let source = only_source.entry(to).or_insert(Some(from));
        *source = source.filter(|&source| source == from);
    }
    let mut links = Links::new();
    for (from, to, jump) in jumps {
        let part = &parts[to];
        let at_start = jump.target == part.range.start;
        let surely_cold = !part.begins_called || part.name == PartName::Cold;
        let aligned = part.range.start.is_multiple_of(FUNCTION_ALIGNMENT);
        let likely_cold =
            jump.kind == TransferKind::ConditionalJump || (!aligned && only_source[&to].is_some());
        if !at_start || (!is_entry[to] && (surely_cold || likely_cold)) {
            links.entry(from).or_default().push(to);
            links.entry(to).or_default().push(from);
        }
    }
    links
}

/// Jumps from a part to another one.
fn jumps_between<'f>(parts: &[Part], flow: &'f Flow) -> Vec<(usize, usize, &'f Transfer)> {
    let jumps = flow
        .transfers
        .iter()
        .filter(|transfer| transfer.kind != TransferKind::Call);
    jumps
        .filter_map(|jump| {
            let from = jump.part as usize;
            let to = part_at(parts, jump.target).filter(|&to| to != from)?;
            Some((from, to, jump))
        })
        .collect()
}

/// Gives every free part that is linked to `entry`, over other such parts, to it.
fn claim(entry: usize, links: &Links, is_entry: &[bool], owner: &mut [Option<usize>]) {
    owner[entry] = Some(entry);
    let mut queue = VecDeque::from([entry]);
    while let Some(at) = queue.pop_front() {
        for &next in links.get(&at).map_or(&[][..], Vec::as_slice) {
            if !is_entry[next] && owner[next].is_none() {
                owner[next] = Some(entry);
                queue.push_back(next);
            }
        }
    }
}

/// Finds the function of a named cold part that no jump leads to (an exception's landing pad, a jump table).
fn adopt_by_name(
    parts: &[Part],
    symbols: &Symbols,
    is_entry: &[bool],
    links: &Links,
    owner: &mut [Option<usize>],
) {
    let orphans: Vec<usize> = (0..parts.len())
        .filter(|&at| owner[at].is_none() && parts[at].name == PartName::Cold)
        .collect();
    if orphans.is_empty() {
        return;
    }
    let mut by_name: HashMap<&str, Option<usize>> = HashMap::new();
    for (index, part) in parts
        .iter()
        .enumerate()
        .filter(|&(index, _)| is_entry[index])
    {
        for symbol in symbols.at(part.range.start) {
            by_name
                .entry(&symbol.name)
                .and_modify(|known| *known = None)
                .or_insert(Some(index));
        }
    }
    for orphan in orphans {
        let names = symbols.at(parts[orphan].range.start).iter();
        let mut parents = names.filter_map(|symbol| *by_name.get(cold_parent(&symbol.name)?)?);
        if let Some(parent) = parents.next() {
            claim(orphan, links, is_entry, owner);
            owner
                .iter_mut()
                .filter(|owner| **owner == Some(orphan))
                .for_each(|owner| *owner = Some(parent));
        }
    }
}

fn collect(parts: Vec<Part>, owner: &[Option<usize>], is_entry: &[bool]) -> Functions {
    // Parts ascend, so the functions made of the parts that own themselves do too.
    let mut function_of = vec![u32::MAX; parts.len()];
    let mut all = Vec::new();
    for (index, part) in parts
        .iter()
        .enumerate()
        .filter(|&(index, _)| owner[index] == Some(index))
    {
        let cold = !part.begins_called || part.name == PartName::Cold;
        let kind = match part {
            part if part.resolver => FunctionKind::Resolver,
            part if part.haskell => FunctionKind::Haskell,
            _ if cold && !is_entry[index] => FunctionKind::Fragment,
            _ => FunctionKind::Ordinary,
        };
        function_of[index] = all.len() as u32;
        all.push(Function {
            entry: part.range.start,
            kind,
            parts: vec![part.range.clone()],
        });
    }
    let mut owner_function = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let entry = owner[index].expect("every part was claimed");
        let function = function_of[entry];
        if entry != index {
            all[function as usize].parts.push(part.range.clone());
        }
        owner_function.push(function);
    }
    Functions {
        all,
        parts,
        owner: owner_function,
    }
}
