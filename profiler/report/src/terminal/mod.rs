//! The report on a terminal: what one reads at a glance first, the evidence below.

mod attributes;
mod classes;
mod cohorts;
mod elsewhere;
mod factors;
mod findings;
mod header;
mod notes;
pub(crate) mod paint;
pub(crate) mod plain;
mod slow;
mod slowest;
mod style;
pub mod timeline;
mod tree;
mod unseen;
mod waits;

use evenkeel_analysis::profile::Profile;

use crate::paths::Paths;
pub(crate) use notes::list;
pub(crate) use style::title;
pub use style::{Style, WIDTH_MIN};

/// The whole report, lines ending in `\n`, none wider than the style allows.
pub fn render(profile: &Profile, style: &Style) -> String {
    let profile = plain::profile(profile);
    let paths = Paths::of(&profile.tree);
    let mut sections = vec![header::render(&profile, style)];
    sections.extend(findings::render(&profile, style));
    sections.extend(slow::render(&profile, style));
    sections.extend(slowest::render(&profile, style));
    sections.push(factors::render(&profile, &paths, style));
    sections.extend(cohorts::render(&profile, &paths, style));
    sections.push(tree::render(&profile, style));
    sections.extend(elsewhere::render(&profile, style));
    sections.extend(waits::render(&profile, style));
    sections.extend(classes::render(&profile, &paths, style));
    sections.extend(attributes::render(&profile, style));
    sections.extend(notes::warnings(&profile, style));
    sections.extend(notes::unpatched(&profile, style));
    sections.extend(unseen::render(&profile, style));
    sections.extend(unseen::names(&profile, style));
    sections.join("\n")
}
