//! Classes of intervals: a label in a normal form, numbered, with sums by class.

use rustc_hash::FxHashMap;

use crate::intervals::http;
use crate::intervals::sql;
use crate::intervals::trace_context::TraceContext;
use crate::sums::moments::{Factor, WeightedTicks};
use crate::sums::paths::Paths;
use crate::sums::vectors::Vector;
use evenkeel_wire::LabelValue;

/// Classes kept apart, at most; intervals of any further class are counted together.
pub const CLASSES_MAX: usize = 256;
/// Characters of a label's normal form, at most. A status or an error may follow it in a class' name.
pub const NAME_MAX: usize = 120;
/// Name of the class of intervals without a label.
pub const UNLABELLED: &str = "(no label)";
/// Ends the name of a class of intervals that an exception or `longjmp` left.
const ERROR: &str = "(error)";
/// Name of the class of intervals beyond [`CLASSES_MAX`].
pub const OTHER: &str = "other classes";
/// Labels whose class is remembered, at most.
const CACHE_MAX: usize = 1 << 12;

const UNLABELLED_ID: usize = 0;
const OTHER_ID: usize = 1;

/// What a label says of its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labelled {
    /// Its class; nothing where the label is about something else.
    pub class: Option<usize>,
    /// The span that it belongs to.
    pub trace: Option<TraceContext>,
}

/// Numbers classes by their normalised label.
#[derive(Debug)]
pub struct ClassTable {
    names: Vec<String>,
    by_name: FxHashMap<String, usize>,
    /// By the label's bytes without its numbers (see [`without_numbers`]): normalising is slow beside looking up, and
    /// labels with other literals are one class anyway.
    by_text: FxHashMap<Box<[u8]>, usize>,
    /// Buffer for such a key.
    key: Vec<u8>,
    by_integer: FxHashMap<u64, usize>,
    /// Of a class and a number that came with it.
    detailed: FxHashMap<(usize, u64), usize>,
    /// By the class of their label, that of the intervals that failed.
    failed: FxHashMap<usize, usize>,
    /// See [`ClassTable::is_of_tables`].
    is_of_tables: bool,
}

impl Default for ClassTable {
    fn default() -> ClassTable {
        ClassTable {
            names: vec![UNLABELLED.to_owned(), OTHER.to_owned()],
            by_name: FxHashMap::default(),
            by_text: FxHashMap::default(),
            key: Vec::new(),
            by_integer: FxHashMap::default(),
            detailed: FxHashMap::default(),
            failed: FxHashMap::default(),
            is_of_tables: false,
        }
    }
}

impl ClassTable {
    /// What a label says. The class is that of the label without its `traceparent`, which no two intervals share.
    pub(crate) fn read(&mut self, label: LabelValue<'_>) -> Labelled {
        let context = match label {
            LabelValue::Text(text) => TraceContext::find(text).map(|found| (text, found)),
            LabelValue::None | LabelValue::Integer(_) => None,
        };
        let Some((text, (trace, place))) = context else {
            return Labelled {
                class: Some(self.class_of(label)),
                trace: None,
            };
        };
        let rest = [&text[..place.start], &text[place.end..]].concat();
        let is_blank = rest.trim_ascii().is_empty();
        Labelled {
            class: (!is_blank).then(|| self.class_of(LabelValue::Text(&rest))),
            trace: Some(trace),
        }
    }

    /// The same of a label that an interval of class `known` gets.
    pub(crate) fn read_after(&mut self, known: usize, label: LabelValue<'_>) -> Labelled {
        match label {
            LabelValue::Integer(value) => Labelled {
                class: Some(self.detailed(known, value)),
                trace: None,
            },
            LabelValue::None | LabelValue::Text(_) => self.read(label),
        }
    }

    /// The class of a label, an index below [`CLASSES_MAX`] + 2.
    pub(crate) fn class_of(&mut self, label: LabelValue<'_>) -> usize {
        match label {
            LabelValue::None => UNLABELLED_ID,
            LabelValue::Integer(value) => match self.by_integer.get(&value) {
                Some(&class) => class,
                None => {
                    // Read as the signed number it nearly always was: -1 rather than 2^64 - 1.
                    let class = self.class_named((value as i64).to_string());
                    remember(&mut self.by_integer, value, class)
                }
            },
            LabelValue::Text(text) => {
                // Before the cache: whether a number is a part of an identifier depends on its length.
                if let Some(request) = request(text) {
                    return self.class_named(shortened(request));
                }
                without_numbers(text, &mut self.key);
                match self.by_text.get(&self.key[..]) {
                    Some(&class) => class,
                    None => {
                        let class = self.class_named(normalise(text));
                        remember(&mut self.by_text, self.key[..].into(), class)
                    }
                }
            }
        }
    }

    /// The class of an interval of `class` with a number that the target gave it later, as the status of a request. Zero is
    /// none; without a label, the number is the label.
    pub(crate) fn detailed(&mut self, class: usize, value: u64) -> usize {
        match (class, value) {
            (UNLABELLED_ID, value) => self.class_of(LabelValue::Integer(value)),
            (OTHER_ID, _) | (_, 0) => class,
            _ => match self.detailed.get(&(class, value)) {
                Some(&detailed) => detailed,
                None => {
                    let name = format!("{} {}", self.name(class), value as i64);
                    let detailed = self.class_named(name);
                    remember(&mut self.detailed, (class, value), detailed)
                }
            },
        }
    }

    /// The class of those intervals of `class` whose call an exception or `longjmp` left.
    pub(crate) fn with_error(&mut self, class: usize) -> usize {
        if let Some(&failed) = self.failed.get(&class) {
            return failed;
        }
        let failed = match class {
            OTHER_ID => OTHER_ID,
            UNLABELLED_ID => self.class_named(ERROR.to_owned()),
            _ => self.class_named(format!("{} {ERROR}", self.name(class))),
        };
        remember(&mut self.failed, class, failed)
    }

    /// The class of a name as [`ClassTable::names`] has it.
    pub(crate) fn named(&mut self, name: &str) -> usize {
        match name {
            UNLABELLED => UNLABELLED_ID,
            OTHER => OTHER_ID,
            name => self.class_named(name.to_owned()),
        }
    }

    /// The same of a name for which there is room.
    pub(crate) fn named_if_room(&mut self, name: &str) -> Option<usize> {
        Some(self.named(name)).filter(|&class| class != OTHER_ID)
    }

    /// Names of all classes, by id.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Name of a class.
    pub fn name(&self, class: usize) -> &str {
        &self.names[class]
    }

    /// Whether a class is a statement about tables: what has been seen is a database, and a session that keeps a lock is in a transaction.
    pub(crate) fn is_of_tables(&self) -> bool {
        self.is_of_tables
    }

    /// Whether a class is that of intervals without a label.
    pub(crate) fn is_unlabelled(class: usize) -> bool {
        class == UNLABELLED_ID
    }

    fn class_named(&mut self, name: String) -> usize {
        if let Some(&class) = self.by_name.get(&name) {
            return class;
        }
        if self.by_name.len() == CLASSES_MAX {
            return OTHER_ID;
        }
        let class = self.names.len();
        self.is_of_tables |= sql::is_about_tables(&name);
        self.names.push(name.clone());
        self.by_name.insert(name, class);
        class
    }
}

/// Copies a label, each number that cannot be part of a name shortened to one digit: texts that differ in nothing else
/// have the same normal form. Inside double quotes everything is a name.
fn without_numbers(text: &[u8], key: &mut Vec<u8>) {
    key.clear();
    let mut in_name = false;
    let mut quoted = false;
    let mut in_number = false;
    for &byte in text {
        let digit = byte.is_ascii_digit();
        if in_number && digit {
            continue;
        }
        in_number = digit && !in_name && !quoted;
        quoted ^= byte == b'"';
        in_name = !in_number
            && (byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii());
        key.push(if in_number { b'1' } else { byte });
    }
}

fn remember<K: std::hash::Hash + Eq>(
    cache: &mut FxHashMap<K, usize>,
    key: K,
    class: usize,
) -> usize {
    if cache.len() >= CACHE_MAX {
        cache.clear();
    }
    cache.insert(key, class);
    class
}

/// The class of a text label: a request without its identifiers, SQL without its literals. In any other text, runs of digits become
/// `?` and URLs lose their query string. At most [`NAME_MAX`] characters.
pub(crate) fn normalise(label: &[u8]) -> String {
    let text = String::from_utf8_lossy(label);
    // A label cut in the middle of a character ends in a replacement character.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).trim();
    shortened(if sql::is_sql(text) {
        sql::normalise(text)
    } else {
        normalise_plain(text)
    })
}

/// The class of a request line of HTTP.
fn request(label: &[u8]) -> Option<String> {
    // Most labels are statements, whose second word is no path.
    let second = label.iter().position(|&byte| byte == b' ')? + 1;
    let may_be = matches!(label.get(second), Some(b'/' | b'*' | b'h'));
    let text = may_be.then(|| String::from_utf8_lossy(label))?;
    http::class(text.trim_end_matches(char::REPLACEMENT_CHARACTER))
}

fn shortened(name: String) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => name[..end].to_owned(),
        None => name,
    }
}

fn normalise_plain(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| match word.find(['?', '#']) {
            Some(query) if word[..query].contains('/') => &word[..query],
            _ => word,
        });
    let mut normal = String::with_capacity(text.len());
    for word in words {
        if !normal.is_empty() {
            normal.push(' ');
        }
        for c in word.chars() {
            if !c.is_ascii_digit() {
                normal.push(c);
            } else if !normal.ends_with('?') {
                normal.push('?');
            }
        }
    }
    normal
}

/// Sums over the intervals of one class. Exclusive times: they add up to the latency over all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassSums {
    /// Intervals.
    pub intervals: u64,
    /// Sum of L.
    pub latency: i128,
    /// Sum of L^2.
    pub latency_squared: i128,
    /// By node id: sum of x and of x L; zero beyond its end.
    pub nodes: Vec<(i128, i128)>,
}

impl ClassSums {
    /// Takes out the sums of intervals that were added before.
    pub(crate) fn subtract(&mut self, other: &ClassSums) {
        self.intervals -= other.intervals;
        self.combine(other, |a, b| a - b);
    }

    fn combine(&mut self, other: &ClassSums, with: impl Fn(i128, i128) -> i128) {
        self.latency = with(self.latency, other.latency);
        self.latency_squared = with(self.latency_squared, other.latency_squared);
        if self.nodes.len() < other.nodes.len() {
            self.nodes.resize(other.nodes.len(), (0, 0));
        }
        for (mine, other) in self.nodes.iter_mut().zip(&other.nodes) {
            *mine = (with(mine.0, other.0), with(mine.1, other.1));
        }
    }

    /// Adds one interval.
    pub fn add(&mut self, vector: &Vector<'_>) {
        match vector.weight {
            1 => self.add_weighted(vector, |value| value),
            weight => self.add_weighted(vector, |value| WeightedTicks::new(weight, value)),
        }
    }

    fn add_weighted<F: Factor>(&mut self, vector: &Vector<'_>, weighted: impl Fn(i64) -> F) {
        let latency = vector.latency;
        self.intervals += vector.weight;
        self.latency += weighted(latency).sum();
        self.latency_squared += weighted(latency).times(latency);
        for entry in vector.entries {
            let exclusive = weighted(entry.exclusive);
            self.add_at(
                entry.node as usize,
                exclusive.sum(),
                exclusive.times(latency),
            );
        }
    }

    /// Adds the intervals of another; the own time of its node `n` is that of node `node(n)` of these.
    pub fn merge(&mut self, other: &ClassSums, node: impl Fn(usize) -> usize) {
        self.intervals += other.intervals;
        self.latency += other.latency;
        self.latency_squared += other.latency_squared;
        for (from, &(exclusive, with_latency)) in other.nodes.iter().enumerate() {
            self.add_at(node(from), exclusive, with_latency);
        }
    }

    /// By node: sum of X and of X L. Its inclusive time is that of all nodes from there on.
    pub fn inclusive(&self, paths: &Paths) -> Vec<(i128, i128)> {
        let mut inclusive = self.nodes.clone();
        for node in (1..inclusive.len()).rev() {
            let (ticks, with_latency) = inclusive[node];
            let above = &mut inclusive[paths.get(node as u32).parent as usize];
            above.0 += ticks;
            above.1 += with_latency;
        }
        inclusive
    }

    #[inline]
    fn add_at(&mut self, node: usize, exclusive: i128, with_latency: i128) {
        if self.nodes.len() <= node {
            self.nodes.resize(node + 1, (0, 0));
        }
        self.nodes[node].0 += exclusive;
        self.nodes[node].1 += with_latency;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_fill_the_cache() {
        let mut table = ClassTable::default();
        let class =
            |table: &mut ClassTable, text: &str| table.class_of(LabelValue::Text(text.as_bytes()));
        let first = class(&mut table, "UPDATE t1 SET a = a + 7 WHERE b = -12.5");
        for i in 0..100 {
            assert_eq!(
                class(
                    &mut table,
                    &format!("UPDATE t1 SET a = a + {i} WHERE b = -{i}.75")
                ),
                first
            );
        }
        assert_eq!(table.by_text.len(), 1);
        assert_ne!(
            class(&mut table, "UPDATE t2 SET a = a + 7 WHERE b = -12.5"),
            first
        );
        let quoted = class(&mut table, "SELECT \"col 1\" FROM t");
        assert_ne!(class(&mut table, "SELECT \"col 2\" FROM t"), quoted);
    }

    #[test]
    fn requests_have_their_status_in_their_class() {
        let mut table = ClassTable::default();
        let class =
            |table: &mut ClassTable, line: &str| table.class_of(LabelValue::Text(line.as_bytes()));
        let one = class(&mut table, "GET /a/12ab34cd?secret=7 HTTP/1.1");
        assert_eq!(class(&mut table, "GET /a/00ab34cdef?secret=8"), one);
        let found = table.detailed(one, 200);
        assert_eq!(table.name(found), "GET /a/? 200");
        assert_eq!(table.detailed(one, 200), found);
        assert_eq!(table.detailed(one, 0), one, "nothing was answered");
        let bad = table.detailed(UNLABELLED_ID, 400);
        assert_eq!(table.name(bad), "400");
        for path in 0..10_000 {
            let class = class(&mut table, &format!("GET /{}", "a".repeat(path % 1_000)));
            assert!(table.detailed(class, path as u64) < CLASSES_MAX + 2);
        }
    }

    #[test]
    fn errors_are_a_class_of_their_own() {
        let mut table = ClassTable::default();
        let select = table.class_of(LabelValue::Text(b"select 1"));
        let failed = table.with_error(select);
        assert_eq!(table.name(failed), "select ? (error)");
        assert_eq!(table.with_error(select), failed);
        let unlabelled = table.with_error(UNLABELLED_ID);
        assert_eq!(table.name(unlabelled), "(error)");
        for value in 0..1_000 {
            table.class_of(LabelValue::Integer(value));
        }
        let late = table.class_of(LabelValue::Integer(999));
        let late = table.with_error(late);
        assert_eq!(table.name(late), OTHER);
    }

    #[test]
    fn traces_are_no_part_of_a_class() {
        let mut table = ClassTable::default();
        let mut read = |text: &str| table.read(LabelValue::Text(text.as_bytes()));
        let (one, other) = (
            read(
                "SELECT 1 /*traceparent='00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'*/",
            ),
            read(
                "SELECT 2 /*traceparent='00-5bf92f3577b34da6a3ce929d0e0e4736-10f067aa0ba902b7-01'*/",
            ),
        );
        assert_eq!(
            (one.class, one.trace.unwrap().span),
            (other.class, 0x00f0_67aa_0ba9_02b7)
        );
        assert_eq!(read("SELECT 3").class, one.class);
        let alone = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!((alone.class, alone.trace), (None, one.trace));
        assert_eq!(table.name(one.class.unwrap()), "select ?");
    }

    proptest::proptest! {
        /// Labels that share a key share their normal form.
        #[test]
        fn one_key_one_normal_form(text in "[a-c0-9 '\"$.,+_x-]{0,24}", digits in "[0-9]{1,3}") {
            let mut keys = [Vec::new(), Vec::new()];
            let other: String = text.replace('7', &digits);
            without_numbers(text.as_bytes(), &mut keys[0]);
            without_numbers(other.as_bytes(), &mut keys[1]);
            if keys[0] == keys[1] {
                proptest::prop_assert_eq!(normalise(text.as_bytes()), normalise(other.as_bytes()));
            }
        }
    }

    #[test]
    fn plain_labels() {
        let cases = [
            ("/static/a.js#top", "/static/a.js"),
            ("job 17", "job ?"),
            ("new order", "new order"),
            ("what? no", "what? no"),
            ("", ""),
        ];
        for (label, class) in cases {
            assert_eq!(normalise(label.as_bytes()), class);
        }
        assert_eq!(
            normalise("é".repeat(200).as_bytes()).chars().count(),
            NAME_MAX
        );
        assert_eq!(
            normalise(&"naïf é".as_bytes()[..7]),
            "naïf",
            "cut inside a character"
        );
    }

    #[test]
    fn classes_are_numbered_and_bounded() {
        let mut table = ClassTable::default();
        let one = table.class_of(LabelValue::Text(b"select 1"));
        assert_eq!(table.class_of(LabelValue::Text(b"SELECT 2")), one);
        assert_eq!(table.name(one), "select ?");
        let minus = table.class_of(LabelValue::Integer(-1i64 as u64));
        assert_eq!(table.name(minus), "-1");
        for value in 0..10_000 {
            assert!(table.class_of(LabelValue::Integer(value)) < CLASSES_MAX + 2);
        }
        let late = table.class_of(LabelValue::Integer(9_999));
        assert_eq!(table.name(late), OTHER);
        assert_eq!(
            table.class_of(LabelValue::Integer(-1i64 as u64)),
            minus,
            "known classes stay"
        );
        let none = table.class_of(LabelValue::None);
        assert_eq!(table.name(none), UNLABELLED);
    }

    proptest::proptest! {
        /// A label is whatever memory the target's pointer led to.
        #[test]
        fn any_bytes_have_a_class(label in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..260)) {
            proptest::prop_assert!(normalise(&label).chars().count() <= NAME_MAX);
            let sql = [&b"select "[..], &label].concat();
            proptest::prop_assert!(normalise(&sql).starts_with("select"));
        }
    }
}
