//! The result: table, JSON, page, and the settings to copy.

use std::fmt::Write;

use evenkeel_charts::axis::Axis;
use evenkeel_charts::chart::{Chart, Size};
use evenkeel_charts::grid::grid;
use evenkeel_charts::{escape, page};
use evenkeel_drive::paired;
use evenkeel_report::units;
use serde_json::{Value, json};

use crate::knobs::TargetKind;
use crate::objective::Run;
use crate::profiled::Blamed;
use crate::race::{Block, Entry, Fate, NameAndValue};
use crate::tune::Tuned;

/// Seed of the bootstrap.
const SEED: u64 = 1;

/// A ratio to the unchanged server: the median over rounds, and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ratio {
    /// Median.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A shown value of each candidate: name, heading, value.
type Shown = (&'static str, fn(&Run) -> f64);
const SHOWN: [Shown; 4] = [
    ("mean", |run| run.mean_ns),
    ("variance", |run| run.variance_ns2),
    ("p99", |run| run.p99_ns),
    ("throughput", |run| run.throughput_per_s),
];

/// The ratio of some rounds; none where a value is not above zero. The baseline of a round is the geometric mean of its two runs.
pub fn ratio(blocks: &[Block], of: impl Fn(&Run) -> f64) -> Option<Ratio> {
    let one = |block: &Block| of(&block.own) / (of(&block.baseline) * of(&block.again)).sqrt();
    of_rounds(blocks.iter().map(one).collect())
}

/// The unchanged server against itself: the effect of noise alone.
fn aa(blocks: &[Block], of: impl Fn(&Run) -> f64) -> Option<Ratio> {
    let one = |block: &Block| of(&block.again) / of(&block.baseline);
    of_rounds(blocks.iter().map(one).collect())
}

fn of_rounds(mut ratios: Vec<f64>) -> Option<Ratio> {
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    let [low, high] = paired::median_interval(&ratios, SEED)?;
    let median = paired::median(&mut ratios);
    Some(Ratio { median, low, high })
}

fn cell(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(
        || units::ABSENT.to_owned(),
        |ratio| format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.low, ratio.high),
    )
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Left(stage) => format!("left after stage {stage}"),
        Fate::Stayed => "stayed to the end".to_owned(),
        Fate::Won => "won the race".to_owned(),
        Fate::Refused(why) => format!("refused: {why}"),
        Fate::Worse(why) => format!("left: {why}"),
        Fate::Untried => "no time in the budget".to_owned(),
    }
}

/// The table's rows, its headings first.
fn rows(tuned: &Tuned) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["settings", "rounds"]
            .into_iter()
            .chain(SHOWN.map(|(name, _)| name))
            .chain(["in the race"])
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    ];
    let baselines = all_blocks(&tuned.race.entries);
    if !baselines.is_empty() {
        let mut row = vec!["as it is (again)".to_owned(), baselines.len().to_string()];
        row.extend(SHOWN.map(|(_, of)| cell(aa(&baselines, of))));
        row.push("what noise makes".to_owned());
        rows.push(row);
    }
    for entry in &tuned.race.entries {
        let mut row = vec![entry.candidate.name(), entry.blocks.len().to_string()];
        row.extend(SHOWN.map(|(_, of)| cell(ratio(&entry.blocks, of))));
        row.push(fate(&entry.fate));
        rows.push(row);
    }
    rows
}

/// A block for each round: blocks of one round have the same baselines.
fn all_blocks(entries: &[Entry]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for block in entries.iter().flat_map(|entry| &entry.blocks) {
        let same = |known: &Block| known.baseline == block.baseline && known.again == block.again;
        if !blocks.iter().any(same) {
            blocks.push(*block);
        }
    }
    blocks
}

/// The verdict in a sentence or two.
pub fn verdict(tuned: &Tuned) -> String {
    let objective = tuned.objective;
    let Some(confirmation) = &tuned.race.confirmation else {
        return if tuned.race.interrupted {
            "Stopped before a winner was confirmed: nothing can be said. Settings are as they were found.".to_owned()
        } else {
            format!(
                "Nothing helps that could be told from noise: no setting looked better than the server as it is ({objective})."
            )
        };
    };
    let winner = tuned.race.entries[confirmation.entry].candidate.name();
    let of = |run: &Run| objective.of(run);
    let (own, noise) = (
        cell(ratio(&confirmation.blocks, of)),
        cell(aa(&confirmation.blocks, of)),
    );
    let rounds = confirmation.blocks.len();
    let chance = confirmation
        .chance
        .map_or(units::ABSENT.to_owned(), |chance| format!("{chance:.3}"));
    let measured = format!(
        "in {rounds} fresh rounds its {objective} is {own} of what it was; the server as it is, measured again: {noise}. \
         Chance of such a difference without an effect: {chance}."
    );
    if confirmation.confirmed {
        format!("{winner} helps: {measured}")
    } else if let Some(worse) = &confirmation.worse {
        format!(
            "Nothing helps. Best in the race was {winner}, which does less ({worse}); {measured}"
        )
    } else {
        format!(
            "Nothing helps that could be told from noise. Best in the race was {winner}; {measured}"
        )
    }
}

/// Settings to copy, where there is a confirmed winner.
pub fn to_copy(tuned: &Tuned) -> Option<String> {
    let settings = winner(tuned)?;
    let lines = settings.iter();
    Some(match tuned.kind {
        TargetKind::Postgres => {
            let lines: String = lines
                .map(|(name, value)| format!("ALTER SYSTEM SET {name} = '{value}';\n"))
                .collect();
            format!(
                "{lines}SELECT pg_reload_conf();{}\n",
                note_restart(tuned, settings)
            )
        }
        TargetKind::MariaDb => {
            let lines: String = lines
                .map(|(name, value)| format!("{name} = {value}\n"))
                .collect();
            format!("[mysqld]\n{lines}")
        }
        TargetKind::Store => {
            let lines: Vec<String> = lines
                .map(|(name, value)| format!("--set {name}={value}"))
                .collect();
            format!("{}\n", lines.join(" "))
        }
    })
}

fn note_restart(tuned: &Tuned, settings: &[NameAndValue]) -> &'static str {
    let needs = |(name, _): &NameAndValue| {
        let mut knobs = tuned.kind.knobs().knobs.iter();
        knobs.any(|knob| knob.name == *name && knob.needs != crate::knobs::Needs::Reload)
    };
    if settings.iter().any(needs) {
        " -- and restart the server"
    } else {
        ""
    }
}

fn winner(tuned: &Tuned) -> Option<&[NameAndValue]> {
    let confirmation = tuned
        .race
        .confirmation
        .as_ref()
        .filter(|one| one.confirmed)?;
    Some(&tuned.race.entries[confirmation.entry].candidate.settings)
}

fn blamed(heading: &str, blamed: &Blamed) -> String {
    let mut text = format!(
        "{heading}: {} of {}, mean {}, sd {}\n",
        units::count(blamed.intervals),
        blamed.interval,
        units::duration(blamed.mean_ns),
        units::duration(blamed.sd_ns)
    );
    for finding in &blamed.findings {
        let _ = write!(
            text,
            "  {:>4.0} % ± {:.0}  {}, mean {}",
            100.0 * finding.share,
            100.0 * finding.se,
            finding.headline,
            units::duration(finding.mean_ns)
        );
        text += &finding
            .means
            .as_ref()
            .map_or_else(String::new, |means| format!(": {means}"));
        text.push('\n');
    }
    if !blamed.points_at.is_empty() {
        let _ = writeln!(text, "  These point at {}.", blamed.points_at.join(", "));
    }
    text
}

/// The result for a person.
pub fn table(tuned: &Tuned) -> String {
    let mut text = format!(
        "{} under {}, for {}\n\n",
        tuned.target, tuned.load, tuned.objective
    );
    if let Some(before) = &tuned.findings {
        text += &blamed("Findings before", before);
        text.push('\n');
    }
    text += &grid(&rows(tuned), true);
    text += "\nRatios to the server as it is in the same rounds: median (95 % interval). Those of the race chose the winner, and are too good\n\
             for it; below 1 is better, for the throughput above.\n\n";
    text += &verdict(tuned);
    text.push('\n');
    if let Some(confirmation) = &tuned.race.confirmation {
        text.push('\n');
        let mut rows = vec![vec!["in fresh rounds".to_owned(), "rounds".to_owned()]];
        rows[0].extend(SHOWN.map(|(name, _)| name.to_owned()));
        rows[0].push(String::new());
        let entry = &tuned.race.entries[confirmation.entry];
        for (name, noise) in [
            (entry.candidate.name(), false),
            ("as it is (again)".to_owned(), true),
        ] {
            let mut row = vec![name, confirmation.blocks.len().to_string()];
            row.extend(SHOWN.map(|(_, of)| {
                cell(if noise {
                    aa(&confirmation.blocks, of)
                } else {
                    ratio(&confirmation.blocks, of)
                })
            }));
            row.push(String::new());
            rows.push(row);
        }
        text += &grid(&rows, true);
    }
    if let Some(after) = &tuned.findings_after {
        text.push('\n');
        text += &blamed("Findings after", after);
    }
    if let Some(settings) = to_copy(tuned) {
        let _ = write!(text, "\nTo copy:\n{settings}");
        let was: Vec<String> = was(tuned)
            .iter()
            .map(|(name, value)| format!("{name} was {value}"))
            .collect();
        let _ = writeln!(text, "({})", was.join(", "));
    }
    text += if tuned.applied {
        "\nThese settings were left set (--apply).\n"
    } else {
        "\nThe server is as it was found.\n"
    };
    for one in &tuned.skipped {
        let _ = writeln!(text, "not tried: {}: {}", one.knob, one.why);
    }
    for note in tuned.notes.iter().chain(&tuned.inconsistent) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The earlier values of the winner's settings.
fn was(tuned: &Tuned) -> Vec<NameAndValue> {
    let names = winner(tuned).unwrap_or_default();
    let is_one = |(name, _): &&NameAndValue| names.iter().any(|(own, _)| own == name);
    tuned.before.iter().filter(is_one).cloned().collect()
}

/// The result as JSON on one line. Fields may be added, not renamed.
pub fn json(tuned: &Tuned) -> String {
    let effects = |blocks: &[Block]| -> Value {
        let metrics = SHOWN
            .iter()
            .map(|(name, of)| ((*name).to_owned(), json!(ratio(blocks, of))));
        let objective = (
            tuned.objective.name().to_owned(),
            json!(ratio(blocks, |run| tuned.objective.of(run))),
        );
        Value::Object(metrics.chain([objective]).collect())
    };
    let entries = tuned.race.entries.iter().map(|entry| {
        json!({
            "settings": object(&entry.candidate.settings),
            "fate": fate(&entry.fate),
            "ratio": effects(&entry.blocks),
            "rounds": entry.blocks,
        })
    });
    let confirmation = tuned.race.confirmation.as_ref().map(|one| {
        json!({
            "settings": object(&tuned.race.entries[one.entry].candidate.settings),
            "confirmed": one.confirmed,
            "chance": one.chance,
            "worse": one.worse,
            "ratio": effects(&one.blocks),
            "again": aa(&one.blocks, |run| tuned.objective.of(run)),
            "rounds": one.blocks,
        })
    });
    let object = json!({
        "target": tuned.target,
        "load": tuned.load,
        "objective": tuned.objective.name(),
        "verdict": verdict(tuned),
        "helps": winner(tuned).map(object),
        "to_copy": to_copy(tuned),
        "applied": tuned.applied,
        "interrupted": tuned.race.interrupted,
        "before": object(&tuned.before),
        "confirmation": confirmation,
        "candidates": entries.collect::<Vec<_>>(),
        "skipped": tuned.skipped,
        "findings_before": tuned.findings,
        "findings_after": tuned.findings_after,
        "consistency": if tuned.inconsistent.is_empty() { json!("ok") } else { json!(tuned.inconsistent) },
        "notes": tuned.notes,
    });
    format!("{object}\n")
}

fn object(settings: &[NameAndValue]) -> Value {
    let pairs = settings.iter();
    Value::Object(
        pairs
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect(),
    )
}

/// The result as one HTML page.
pub fn html(tuned: &Tuned) -> String {
    let title = format!("{} of {}", tuned.objective, tuned.target);
    let rows = rows(tuned);
    let mut body = format!(
        "<p>{}</p>\n{}",
        escape(&verdict(tuned)),
        confirming_chart(tuned)
    );
    body += &page::table(rows[0].clone(), &rows[1..]);
    let _ = writeln!(
        body,
        "<div class=\"scroll\"><pre class=\"mono\">{}</pre></div>",
        escape(&table(tuned))
    );
    page::document(&title, &body)
}

/// The objective in each fresh round: the winner, and the unchanged server twice.
fn confirming_chart(tuned: &Tuned) -> String {
    let Some(confirmation) = &tuned.race.confirmation else {
        return String::new();
    };
    let of = |run: &Run| tuned.objective.of(run);
    let blocks = || confirmation.blocks.iter().enumerate();
    let values = confirmation
        .blocks
        .iter()
        .flat_map(|block| [of(&block.own), of(&block.baseline), of(&block.again)]);
    let show = |value: f64| tuned.objective.show(value);
    let at = |number: usize| (number + 1) as f64;
    let name = tuned.race.entries[confirmation.entry].candidate.name();
    let rounds = confirmation.blocks.len() as f64;
    Chart::new(
        &format!("{} in each fresh round", tuned.objective),
        Size {
            width: 1120.0,
            height: 320.0,
        },
        Axis::Linear(0.5, rounds + 0.5),
        (Axis::covering(values), &show),
    )
    .ticks(&|value| format!("{value}"))
    .points(
        0,
        blocks().map(|(number, block)| (at(number), of(&block.own))),
    )
    .named(0, &name)
    .points(
        1,
        blocks().map(|(number, block)| (at(number), of(&block.baseline))),
    )
    .named(1, "as it is")
    .points(
        2,
        blocks().map(|(number, block)| (at(number), of(&block.again))),
    )
    .named(2, "as it is (again)")
    .finish("round")
}
