//! Files whose functions the report shows by address or by an inferred name.

use std::collections::BTreeSet;

use evenkeel_symbols::INFERRED;

use super::Session;

/// Files named, at most.
const FILES_MAX: usize = 3;

impl Session<'_> {
    /// Where the names are that those files lack.
    pub(super) fn names_elsewhere(&mut self) -> Vec<String> {
        let is_nameless = |name: &str| name.starts_with("0x") || name.starts_with(INFERRED);
        let mut files = BTreeSet::new();
        for (planned, site) in self
            .refiner
            .plan
            .probes()
            .iter()
            .zip(&self.refiner.plan.sites.sites)
        {
            if is_nameless(&site.callee) {
                files.extend(planned.callees.iter().map(|callee| callee.module));
            }
            if is_nameless(&site.caller) {
                files.insert(planned.holder.module);
            }
        }
        let known = files.into_iter().filter_map(|index| {
            let module = self.modules.get(&self.records.arena, index).ok()?;
            module.names_elsewhere()
        });
        known.take(FILES_MAX).collect()
    }
}
