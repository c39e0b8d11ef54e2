//! What threads that serve no interval are called: the workers of one pool share a name.

use rustc_hash::FxHashMap;

use crate::intervals::classes::ClassTable;

/// Names kept apart, at most: they are numbered with the classes, which they must not crowd out.
const NAMES_MAX: usize = 64;

/// Names of threads among those of classes.
#[derive(Debug, Default)]
pub struct ThreadNames {
    /// Nothing for a name for which there was no room.
    numbers: FxHashMap<String, Option<u16>>,
}

impl ThreadNames {
    /// The number of what a thread has in common with the others of its pool; nothing where it has no name, and for
    /// names beyond [`NAMES_MAX`].
    pub fn number(&mut self, name: &str, classes: &mut ClassTable) -> Option<u16> {
        let common = common(name)?;
        if let Some(&number) = self.numbers.get(&common) {
            return number;
        }
        if self.numbers.len() == NAMES_MAX {
            return None;
        }
        let number = classes.named_if_room(&common).map(|class| class as u16);
        self.numbers.insert(common, number);
        number
    }
}

/// `polars` of `polars-3 #4711`, whose last number is the thread's own. Names without the mark are the program's, and
/// say nothing.
fn common(name: &str) -> Option<String> {
    let (own, _) = name
        .rsplit_once(" #")
        .filter(|(_, number)| is_number(number))?;
    let mut common = String::new();
    for c in own.chars() {
        match (c.is_ascii_digit(), common.ends_with('?')) {
            (true, true) => {}
            (true, false) => common.push('?'),
            (false, _) => common.push(c),
        }
    }
    let without_number = common.trim_end_matches(|c: char| "?-_#:/. [](".contains(c));
    let without_number = without_number.trim_start_matches('[');
    let common = match without_number.is_empty() {
        true => &common,
        false => without_number,
    };
    (!common.is_empty()).then(|| common.to_owned())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_a_pool_share_a_name() {
        for (name, expected) in [
            ("polars-3 #4711", Some("polars")),
            ("tokio-rt-worker #4711", Some("tokio-rt-worker")),
            ("rocksdb:low0 #4711", Some("rocksdb:low")),
            ("worker #12 #4711", Some("worker")),
            ("pool-2-thread-7 #4711", Some("pool-?-thread")),
            ("nginx: worker process #4711", Some("nginx: worker process")),
            ("libworkers.so.2 #4711", Some("libworkers.so")),
            ("[ET_AIO 1:7] #4711", Some("ET_AIO")),
            ("4711", None),
            ("server 4711", None),
            ("", None),
            ("7 #4711", Some("?")),
        ] {
            assert_eq!(common(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn names_leave_room_for_classes() {
        let mut classes = ClassTable::default();
        let mut names = ThreadNames::default();
        let first = names.number("a #1", &mut classes);
        assert_eq!(classes.name(usize::from(first.unwrap())), "a");
        assert_eq!(names.number("a #2", &mut classes), first);
        for at in 0..1_000_u32 {
            let letters: String = (0..3)
                .map(|place| char::from(b'a' + (at / 26_u32.pow(place) % 26) as u8))
                .collect();
            names.number(&format!("{letters} #{at}"), &mut classes);
        }
        assert_eq!(classes.names().len(), 2 + NAMES_MAX);
        assert_eq!(names.number("zzz #3", &mut classes), None);
        assert_eq!(names.number("a #9", &mut classes), first);
    }
}
