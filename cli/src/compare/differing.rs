//! Differences between the recordings of both sides, other than their intervals.

use evenkeel_recording::Meta;
use evenkeel_report::compare::Difference;

/// Differences between all recordings of each side.
pub fn of(metas: &[Vec<Meta>; 2]) -> Vec<Difference> {
    type Value = fn(&Meta) -> String;
    let with = |meta: &Meta| if meta.waits { "with" } else { "without" }.to_owned();
    let values: [(&'static str, Value); 8] = [
        ("interval", |meta| meta.interval.clone()),
        ("program", |meta| meta.program().to_owned()),
        ("build", |meta| meta.build.clone()),
        ("server", |meta| meta.server.clone()),
        ("command", command),
        ("host", |meta| meta.host.clone()),
        ("waits", with),
        ("options", |meta| meta.options.clone()),
    ];
    let both = values.map(|(what, value)| {
        let of_side = |side: usize| {
            let mut all: Vec<String> = metas[side].iter().map(value).collect();
            all.sort();
            all.dedup();
            all.join("; ")
        };
        Difference {
            what,
            before: of_side(0),
            after: of_side(1),
        }
    });
    let differs = |one: &Difference| one.before != one.after;
    both.into_iter().filter(differs).collect()
}

/// The command line without the number of the process that was attached to.
fn command(meta: &Meta) -> String {
    let target = &meta.target;
    let command = target.rsplit_once(" (process ").map(|(command, _)| command);
    command.unwrap_or(target).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_listed() {
        let meta = |build: &str, waits| Meta {
            build: build.to_owned(),
            waits,
            ..Meta::default()
        };
        let metas = [
            vec![meta("aa", false), meta("aa", false)],
            vec![meta("bb", false), meta("aa", true)],
        ];
        let found = of(&metas);
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|one| (one.what, one.before.as_str(), one.after.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("build", "aa", "aa; bb"),
                ("waits", "without", "with; without")
            ]
        );
    }
}
