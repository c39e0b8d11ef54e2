//! The schedules by name.

use super::bldsf::Bldsf;
use super::decision::Schedule;
use super::delay::DelayFactor;
use super::edsf::Edsf;
use super::fifo::Fifo;
use super::heuristics::{Ddf, Mblf, Mlf, Random, Svats};
use super::hldsf::Hldsf;
use super::ldaf::{AgePower, Hldaf, Ldaf};
use super::ldsf::Ldsf;
use super::rs::Rs;
use super::vats::Vats;

/// The schedules, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScheduleKind {
    /// First in, first out.
    Fifo,
    /// A random waiter.
    Random,
    /// The queue in a random order, to the first conflict.
    Rs,
    /// Oldest transaction first.
    Vats,
    /// Most locks first.
    Mlf,
    /// Most blocking locks first.
    Mblf,
    /// Deepest dependency first.
    Ddf,
    /// Largest dependency set first.
    Ldsf,
    /// LDSF that splits shared locks into batches.
    Bldsf(DelayFactor),
    /// LDSF that divides by the expected remaining time.
    Hldsf,
    /// Oldest transaction first, with all it can be shared with.
    Svats,
    /// Oldest dependency set first.
    Edsf,
    /// Largest dependency-set age first.
    Ldaf(AgePower),
    /// LDAF that divides by the expected remaining time.
    Hldaf,
}

/// See the methods of [`ScheduleKind`] by these names.
struct Properties {
    sizes: bool,
    remaining_times: bool,
    ages: bool,
}

impl ScheduleKind {
    /// Every schedule; bLDSF with the papers' default delay factor, LDAF with squared ages. The papers' come first.
    pub const ALL: [ScheduleKind; 14] = [
        ScheduleKind::Fifo,
        ScheduleKind::Random,
        ScheduleKind::Rs,
        ScheduleKind::Vats,
        ScheduleKind::Mlf,
        ScheduleKind::Mblf,
        ScheduleKind::Ddf,
        ScheduleKind::Ldsf,
        ScheduleKind::Bldsf(DelayFactor::Log),
        ScheduleKind::Hldsf,
        ScheduleKind::Svats,
        ScheduleKind::Edsf,
        ScheduleKind::Ldaf(AgePower::Square),
        ScheduleKind::Hldaf,
    ];

    /// The names that [`from_name`](ScheduleKind::from_name) knows, for help and for errors.
    pub const NAMES: &str = "fifo, random, rs, vats, mlf, mblf, ddf, ldsf, bldsf (or bldsf:f1 to bldsf:f6), hldsf, svats, edsf, \
                             ldaf (or ldaf:1, ldaf:2), hldaf";

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            ScheduleKind::Fifo => "fifo",
            ScheduleKind::Random => "random",
            ScheduleKind::Rs => "rs",
            ScheduleKind::Vats => "vats",
            ScheduleKind::Mlf => "mlf",
            ScheduleKind::Mblf => "mblf",
            ScheduleKind::Ddf => "ddf",
            ScheduleKind::Ldsf => "ldsf",
            ScheduleKind::Bldsf(_) => "bldsf",
            ScheduleKind::Hldsf => "hldsf",
            ScheduleKind::Svats => "svats",
            ScheduleKind::Edsf => "edsf",
            ScheduleKind::Ldaf(_) => "ldaf",
            ScheduleKind::Hldaf => "hldaf",
        }
    }

    /// The schedule of this name. `bldsf` has the default delay factor, and `bldsf:f4` that of section 4.6.7. `ldaf`
    /// squares ages, `ldaf:1` does not.
    pub fn from_name(name: &str) -> Option<ScheduleKind> {
        if let Some(factor) = name.strip_prefix("bldsf:") {
            return DelayFactor::from_name(factor).map(ScheduleKind::Bldsf);
        }
        if let Some(power) = name.strip_prefix("ldaf:") {
            return AgePower::from_name(power).map(ScheduleKind::Ldaf);
        }
        ScheduleKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Whether it compares dependency-set sizes.
    pub fn needs_sizes(self) -> bool {
        self.properties().sizes
    }

    /// Whether it compares expected remaining times.
    pub fn needs_remaining_times(self) -> bool {
        self.properties().remaining_times
    }

    /// Whether waiting alone brings a waiter to the front, so that it needs no policy against starvation.
    pub fn ages(self) -> bool {
        self.properties().ages
    }

    /// The properties of each schedule; all are named, so that none is forgotten.
    fn properties(self) -> Properties {
        let of = |sizes, remaining_times, ages| Properties {
            sizes,
            remaining_times,
            ages,
        };
        match self {
            ScheduleKind::Random | ScheduleKind::Rs => of(false, false, false),
            ScheduleKind::Mlf | ScheduleKind::Mblf | ScheduleKind::Ddf => of(false, false, false),
            ScheduleKind::Ldsf | ScheduleKind::Bldsf(_) => of(true, false, false),
            ScheduleKind::Hldsf => of(true, true, false),
            ScheduleKind::Fifo | ScheduleKind::Vats | ScheduleKind::Svats => of(false, false, true),
            ScheduleKind::Edsf | ScheduleKind::Ldaf(_) => of(false, false, true),
            ScheduleKind::Hldaf => of(false, true, true),
        }
    }

    /// The schedule itself.
    pub fn build(self) -> Box<dyn Schedule> {
        match self {
            ScheduleKind::Fifo => Box::new(Fifo),
            ScheduleKind::Random => Box::new(Random),
            ScheduleKind::Rs => Box::new(Rs::default()),
            ScheduleKind::Vats => Box::new(Vats::default()),
            ScheduleKind::Mlf => Box::new(Mlf),
            ScheduleKind::Mblf => Box::new(Mblf),
            ScheduleKind::Ddf => Box::new(Ddf),
            ScheduleKind::Ldsf => Box::new(Ldsf),
            ScheduleKind::Bldsf(factor) => Box::new(Bldsf::new(factor)),
            ScheduleKind::Hldsf => Box::new(Hldsf),
            ScheduleKind::Svats => Box::new(Svats),
            ScheduleKind::Edsf => Box::new(Edsf),
            ScheduleKind::Ldaf(power) => Box::new(Ldaf::new(power)),
            ScheduleKind::Hldaf => Box::new(Hldaf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_all_there_are() {
        let words = ScheduleKind::NAMES.split([' ', ',', '(', ')']);
        let names: Vec<&str> = words
            .filter(|word| !["", "or", "to"].contains(word))
            .collect();
        assert!(
            names
                .iter()
                .all(|name| ScheduleKind::from_name(name).is_some())
        );
        let plain = names.into_iter().filter(|name| !name.contains(':'));
        assert!(plain.eq(ScheduleKind::ALL.map(ScheduleKind::name)));
    }

    /// A schedule that was written and not listed is offered nowhere.
    #[test]
    fn every_schedule_is_listed() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schedule");
        let files = std::fs::read_dir(here).unwrap();
        let written = files.map(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let lines = text.lines();
            lines
                .filter(|line| line.starts_with("impl Schedule for "))
                .count()
        });
        assert_eq!(
            written.sum::<usize>(),
            ScheduleKind::ALL.len(),
            "implementations of Schedule in this directory, and variants in ALL of kind.rs"
        );
    }
}
