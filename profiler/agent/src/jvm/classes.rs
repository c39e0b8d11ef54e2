//! The classes that the session asked about, by number; and those that were rewritten, until they are as they were.

use crate::jvm::vm::{Jni, Jvmti, Object};

/// A class that has a number: its place in the list.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// A reference that keeps it.
    class: Object,
    /// It has probes, or had them last.
    is_rewritten: bool,
}

/// Classes by number.
#[derive(Debug, Default)]
pub struct Classes(Vec<Known>);

// SAFETY: the references are valid on all threads.
unsafe impl Send for Classes {}

impl Classes {
    /// An empty list.
    pub const fn new() -> Classes {
        Classes(Vec::new())
    }

    /// The number of a class, given if it has none.
    pub fn number(&mut self, jni: Jni, class: Object) -> u32 {
        let known = self.0.iter();
        let mut known = known.map(|known| known.class);
        let found = known.position(|known| jni.is_same(known, class));
        let at = found.unwrap_or_else(|| {
            self.0.push(Known {
                class: jni.keep(class),
                is_rewritten: false,
            });
            self.0.len() - 1
        });
        at as u32
    }

    /// The class of a number.
    pub fn get(&self, number: u32) -> Option<Object> {
        self.0.get(number as usize).map(|known| known.class)
    }

    /// The number of a class that has one.
    pub fn find(&self, jni: Jni, class: Object) -> Option<u32> {
        let at = self
            .0
            .iter()
            .position(|known| jni.is_same(known.class, class));
        at.map(|at| at as u32)
    }

    /// Notes whether a class has probes now.
    pub fn set_rewritten(&mut self, number: u32, is_rewritten: bool) {
        if let Some(known) = self.0.get_mut(number as usize) {
            known.is_rewritten = is_rewritten;
        }
    }

    /// Another session begins: only classes that are not as they were keep a number.
    pub fn begin_session(&mut self, jni: Jni) -> usize {
        self.0.retain(|known| {
            if !known.is_rewritten {
                jni.release(known.class);
            }
            known.is_rewritten
        });
        self.0.len()
    }

    /// The loaded classes that have one of these signatures, each with its number, the place of its name, and whether it may be rewritten.
    pub fn loaded(
        &mut self,
        jni: Jni,
        jvmti: Jvmti,
        signatures: &[Vec<u8>],
    ) -> Vec<(u32, usize, bool)> {
        let mut found = Vec::new();
        for class in jvmti.loaded_classes() {
            let Some(signature) = jvmti.class_signature(class) else {
                continue;
            };
            if let Some(name) = signatures.iter().position(|wanted| *wanted == signature) {
                let number = self.number(jni, class);
                found.push((number, name, jvmti.is_modifiable(class)));
            }
        }
        found
    }
}
