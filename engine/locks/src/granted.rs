//! The locks granted on one object: compatibility is decided here and nowhere else.

use smallvec::SmallVec;

use crate::modes::{Mode, ModeCounts, ModeSet};

/// One granted lock.
#[derive(Clone, Debug)]
pub struct Grant<T> {
    /// The holder.
    pub owner: T,
    /// In which mode.
    pub mode: Mode,
}

/// The locks granted on one object, at most one an owner.
#[derive(Clone, Debug)]
pub struct GrantedSet<T> {
    counts: ModeCounts,
    grants: SmallVec<[Grant<T>; 1]>,
}

impl<T> Default for GrantedSet<T> {
    fn default() -> Self {
        GrantedSet {
            counts: ModeCounts::default(),
            grants: SmallVec::new(),
        }
    }
}

impl<T: PartialEq> GrantedSet<T> {
    /// The set of one lock.
    pub fn sole(owner: T, mode: Mode) -> GrantedSet<T> {
        GrantedSet {
            counts: ModeCounts::one(mode),
            grants: SmallVec::from_buf([Grant { owner, mode }]),
        }
    }

    /// Whether `owner` holds the only lock.
    pub fn is_solely_of(&self, owner: &T) -> bool {
        matches!(&self.grants[..], [grant] if grant.owner == *owner)
    }

    /// Whether `mode` is compatible with every granted lock.
    pub fn admits(&self, mode: Mode) -> bool {
        mode.conflicts()
            .intersection(self.counts.present())
            .is_empty()
    }

    /// Whether a holder of `held` may hold `target` instead, given the *other* holders. Its own lock is left out of the
    /// comparison: it must never wait for itself (RocksDB #13575).
    pub fn admits_upgrade(&self, held: Mode, target: Mode) -> bool {
        let mut others = self.counts;
        others.remove(held);
        target.conflicts().intersection(others.present()).is_empty()
    }

    /// Grants `mode` to `owner`, who must hold nothing here; the set must admit it.
    pub fn insert(&mut self, owner: T, mode: Mode) {
        assert!(self.admits(mode), "conflicting grant of {mode:?}");
        debug_assert!(
            self.mode_of(&owner).is_none(),
            "an owner holds one lock an object"
        );
        self.counts.add(mode);
        self.grants.push(Grant { owner, mode });
    }

    /// Replaces the mode `owner` holds by `target`; the set must admit it.
    pub fn upgrade(&mut self, owner: &T, target: Mode) {
        let at = self
            .grants
            .iter()
            .position(|grant| grant.owner == *owner)
            .expect("only a holder upgrades");
        let held = self.grants[at].mode;
        assert!(
            self.admits_upgrade(held, target),
            "conflicting upgrade to {target:?}"
        );
        self.counts.remove(held);
        self.counts.add(target);
        self.grants[at].mode = target;
    }

    /// Takes the lock of `owner` back, and returns its mode.
    pub fn remove(&mut self, owner: &T) -> Option<Mode> {
        let at = self.grants.iter().position(|grant| grant.owner == *owner)?;
        let grant = self.grants.swap_remove(at);
        self.counts.remove(grant.mode);
        Some(grant.mode)
    }

    /// The mode `owner` holds.
    pub fn mode_of(&self, owner: &T) -> Option<Mode> {
        self.grants
            .iter()
            .find(|grant| grant.owner == *owner)
            .map(|grant| grant.mode)
    }

    /// The modes held by anybody.
    pub fn modes(&self) -> ModeSet {
        self.counts.present()
    }

    /// Every granted lock, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Grant<T>> {
        self.grants.iter()
    }

    /// The number of holders.
    pub fn len(&self) -> usize {
        self.grants.len()
    }

    /// Whether nobody holds a lock.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// The same grants with other owners.
    pub fn map<U>(self, mut owner: impl FnMut(T) -> U) -> GrantedSet<U> {
        let GrantedSet { counts, grants } = self;
        let grants = grants
            .into_iter()
            .map(|grant| Grant {
                owner: owner(grant.owner),
                mode: grant.mode,
            })
            .collect();
        GrantedSet { counts, grants }
    }
}
