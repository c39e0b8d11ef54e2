//! Several recordings taken together, and recordings that keep sums only.

use std::iter;

use super::Analysis;
use super::intake::Intake;
use crate::fleet::joint::{JOINT_ROUND, Joint, Scouted, ScoutedRound};
use crate::fleet::minutes::{Minute, Renamed};
use crate::rounds::common_paths::Shape;
use crate::sums::vectors::ProbeCost;

impl Analysis {
    /// What has to be known of a recording before it is taken together with others ([`crate::fleet::joint`]); nothing
    /// if it has no interval.
    pub fn scouted(&self) -> Option<Scouted> {
        let Intake {
            rounds,
            plans,
            run,
            log,
            latencies,
            ..
        } = &self.intake;
        let log = log.as_ref()?;
        let (chosen, base) = rounds.chosen(latencies)?;
        let together = rounds
            .combined(plans, (chosen, base))
            .map(|all| all.together);
        let together = together.unwrap_or_default();
        let others = together.rounds.iter().filter(|&&round| round != chosen);
        let others = others.filter_map(|&round| Some((round, rounds.sums(round)?)));
        let counting: Vec<ScoutedRound> = iter::once((chosen, base))
            .chain(others)
            .map(|(round, detail)| ScoutedRound {
                round,
                selection: log.selection(round),
                shape: Shape::of(detail).planted(plans.planted_throughout(&[round])),
            })
            .collect();
        let timed = counting.iter().map(|round| {
            let mut timed = plans.planted_throughout(&[round.round])?;
            timed.extend(round.shape.paths.all().iter().filter_map(|path| path.probe));
            Some(timed)
        });
        let timed = timed.reduce(|one, other| Some(&one? & &other?)).flatten();
        let paths = counting.iter().flat_map(|round| round.shape.paths.all());
        Some(Scouted {
            called: paths.filter_map(|path| path.probe).collect(),
            timed: timed.map(Vec::from_iter),
            probes: rounds.probes(chosen),
            classes: self.assembler.classes.names().to_vec(),
            change: together.change,
            run: *run,
            rounds: counting,
        })
    }

    /// An analysis of several recordings together. Each comes with its probes' ids in the joint numbering (those
    /// beyond the end keep theirs). [`Analysis::begin_recording`] then begins each in the same order. Calls of probes
    /// that are `untimed`, by id, are their callers' own time.
    pub fn joint(parts: &[(&Scouted, &[u32])], untimed: &[bool]) -> Analysis {
        let mut analysis = Analysis::default();
        let classes = &mut analysis.assembler.classes;
        let parts: Vec<(&Scouted, &[u32], Vec<usize>)> = parts
            .iter()
            .map(|&(scouted, probes)| {
                let ids = scouted.classes.iter().map(|name| classes.named(name));
                (scouted, probes, ids.collect())
            })
            .collect();
        let planted = parts.iter().map(|(scouted, ..)| scouted.probes).min();
        let joint = Joint::new(&parts, untimed);
        let rounds = &mut analysis.intake.rounds;
        rounds.begin_joint(planted.unwrap_or(0), joint.detail());
        analysis.intake.joint = Some(joint);
        analysis
    }

    /// What follows is of the next recording: of its intervals those of `scouted` count, with this cost for each probed
    /// call. What is known of threads is forgotten; classes and attributes stay. [`Analysis::ended`] ends it.
    pub fn begin_recording(&mut self, cost: ProbeCost, scouted: &Scouted) {
        let Analysis {
            assembler, intake, ..
        } = self;
        let before = std::mem::take(assembler);
        assembler.classes = before.classes;
        assembler.attributes = before.attributes;
        intake.cost = cost;
        intake.class_ids.clear();
        intake.attribute_numbers.clear();
        intake.slow.begin_recording();
        intake.end_recording();
        let joint = intake.joint.get_or_insert_default();
        joint.begin(intake.run.seen, scouted);
    }

    /// What came since this was last asked, as sums. `began_unix_ns`: when that was.
    pub fn minute(&mut self, began_unix_ns: u64) -> Minute {
        let Analysis {
            assembler, intake, ..
        } = self;
        let Intake {
            written,
            rounds,
            run,
            ..
        } = intake;
        let attributes = assembler.attributes.names();
        let classes = &assembler.classes;
        written.minute(rounds, run, classes, attributes, began_unix_ns)
    }

    /// Takes in a minute of a recording that keeps sums only, in the order of their making. Of recordings taken
    /// together: `probes` are the ids of its probes among those of all, `clock` the ticks of the first one's clock for
    /// one of its. Nothing where it does not follow the minutes before: the recording is damaged.
    pub fn add_minute(
        &mut self,
        minute: &Minute,
        probes: &[u32],
        clock: Option<f64>,
    ) -> Option<()> {
        let Analysis {
            assembler, intake, ..
        } = self;
        let classes = minute.classes.iter();
        let ids = classes.map(|name| assembler.classes.named(name));
        intake.class_ids.extend(ids);
        let attributes = minute.attributes.iter();
        let numbers = attributes.map(|name| assembler.attributes.number(name.as_bytes()));
        intake.attribute_numbers.extend(numbers);
        if intake.joint.is_none() {
            intake.run = minute.run;
        }
        let number = intake.count_minute();
        let names = Renamed {
            probes,
            classes: &intake.class_ids,
            attributes: &intake.attribute_numbers,
            clock,
        };
        let mut added = Vec::new();
        for part in &minute.rounds {
            let rounds = &mut intake.rounds;
            let intervals = part.kept();
            intake
                .latencies
                .add_histogram(&part.histogram, clock.unwrap_or(1.0));
            let Some(joint) = &mut intake.joint else {
                rounds.count_summed(part.round, part.probes, intervals);
                if let Some(detail) = rounds.detail_mut(part.round) {
                    part.add_to(&mut detail.paths, &mut detail.sums)?;
                    let over_time = &mut detail.sums.over_time;
                    let began = minute.began_unix_ns;
                    over_time.add_minute(number, began, &part.sums, &part.histogram);
                    if let Some(log) = &mut intake.log {
                        log.add(number, part.round);
                    }
                }
                continue;
            };
            let Some(at) = joint.selects_minute(number, part.round) else {
                continue;
            };
            rounds.count_summed(JOINT_ROUND, rounds.probes(JOINT_ROUND), intervals);
            let (paths, own) = joint.of_minutes(at);
            part.discover(paths)?;
            let detail = match own {
                Some(own) => own,
                None => rounds.detail_mut(JOINT_ROUND)?,
            };
            let renamed = part.renamed(paths, &mut detail.paths, &names);
            renamed.add(&mut detail.sums);
            added.push((at, renamed));
        }
        for (at, part) in added {
            intake.observe_minute(at, minute.began_unix_ns, part);
        }
        Some(())
    }
}
