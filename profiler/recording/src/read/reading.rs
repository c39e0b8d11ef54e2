//! Takes the chunks of one recording into the analysis.

use evenkeel_analysis::Analysis;
use evenkeel_analysis::fleet::minutes::{Between, Minute};
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_wire::Record;

use super::{Keeps, Replayed, json};
use crate::translation::Translation;
use crate::{Meta, SiteEntry, bodies, put_site};

/// One recording of a file, as far as its chunks have been taken.
pub(super) struct Reading<'t> {
    keeps: Keeps,
    translation: &'t Translation,
    /// Others were taken into the analysis before.
    is_joint: bool,
    meta: Meta,
    sites: SiteTable,
    analysis: Option<Analysis>,
    /// Those that have begun and that the analysis does not know yet.
    rounds: Vec<PlanChange>,
    /// What the next round is beside its numbers.
    beside: PlanChange,
    /// When the next minute began.
    minute_began: Option<u64>,
    /// Which minutes count, where not all do.
    between: Option<Between>,
    /// Then: intervals that were not recorded in the minute whose sums come next, each with the largest latency so far.
    unrecorded: Vec<(Vec<(usize, u64)>, u64)>,
    /// Then: how many were in the minutes that count.
    sampled_out: u64,
    records: Vec<Record>,
}

impl<'t> Reading<'t> {
    pub(super) fn new(
        keeps: Keeps,
        translation: &'t Translation,
        joint: Option<Analysis>,
    ) -> Reading<'t> {
        Reading {
            keeps,
            translation,
            is_joint: joint.is_some(),
            meta: Meta::default(),
            sites: SiteTable::default(),
            analysis: joint,
            rounds: Vec::new(),
            beside: PlanChange::default(),
            minute_began: None,
            between: keeps
                .between
                .map(|[since, until]| Between::new(since..until)),
            unrecorded: Vec::new(),
            sampled_out: 0,
            records: Vec::new(),
        }
    }

    /// Takes a chunk; what is wrong with it otherwise.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), String> {
        match tag {
            b'M' => self.meta = json(body)?,
            b'S' => put_site(&mut self.sites, json::<SiteEntry>(body)?),
            b'R' => self.take_round(body).ok_or("a round of odd length")?,
            b'C' => self.beside = bodies::change(body).ok_or("a change of odd length")?,
            b'O' => {
                let toggled = bodies::numbers(body).ok_or("probes of odd length")?;
                self.beside.toggled = Some(toggled);
            }
            b'D' => self.take_records(body).ok_or("records of odd length")?,
            b'L' => self
                .take_unrecorded(body)
                .ok_or("latencies that are none")?,
            b'W' => self
                .take_slow_stack(body)
                .ok_or("a stack of no functions")?,
            b'E' => self.take_end(body).ok_or("a thread of odd length")?,
            b'T' => {
                let began = body.try_into().map_err(|_| "a time of odd length")?;
                self.minute_began = Some(u64::from_le_bytes(began));
            }
            b'U' => self.take_minute(body).ok_or("sums that are none")?,
            b'P' => self.begun().pass_ended(),
            b'K' => self.take_spans(body).ok_or("spans of odd length")?,
            b'N' => self.take_name(body).ok_or("a name without its thread")?,
            _ => {}
        }
        Ok(())
    }

    fn take_round(&mut self, body: &[u8]) -> Option<()> {
        let [generation, probes] = bodies::words(body)?;
        let change = PlanChange {
            generation,
            probes,
            ..std::mem::take(&mut self.beside)
        };
        // What is taken together has one round.
        if !self.is_joint {
            self.rounds.push(change);
        }
        Some(())
    }

    fn take_records(&mut self, body: &[u8]) -> Option<()> {
        // They are no sums of a minute.
        if self.between.is_some() {
            return Some(());
        }
        let mut records = std::mem::take(&mut self.records);
        let thread = self
            .translation
            .thread(bodies::records(body, &mut records)?);
        self.translation.records(&mut records);
        self.begun().push(thread, &records);
        self.records = records;
        Some(())
    }

    fn take_unrecorded(&mut self, body: &[u8]) -> Option<()> {
        let (max_ticks, mut by_class) = bodies::unrecorded(body)?;
        let max_ticks = self.translation.latencies(max_ticks, &mut by_class);
        if self.between.is_some() {
            self.unrecorded.push((by_class, max_ticks));
            return Some(());
        }
        self.begun().count_unrecorded(&by_class, max_ticks);
        Some(())
    }

    fn take_slow_stack(&mut self, body: &[u8]) -> Option<()> {
        let stack = bodies::slow_stack(body)?;
        if self.between.is_some() {
            return Some(());
        }
        let ratio = self.translation.ratio.unwrap_or(1.0);
        self.begun().slow_stack(&stack, ratio);
        Some(())
    }

    fn take_end(&mut self, body: &[u8]) -> Option<()> {
        let [low, high] = bodies::words(body)?;
        let thread = self
            .translation
            .thread(u64::from(high) << 32 | u64::from(low));
        self.begun().thread_ended(thread);
        Some(())
    }

    fn take_minute(&mut self, body: &[u8]) -> Option<()> {
        let mut minute = Minute::read(body, self.minute_began.take()?)?;
        if let Some(between) = &mut self.between {
            let unrecorded = std::mem::take(&mut self.unrecorded);
            if between.cut(&mut minute) {
                for (by_class, max_ticks) in unrecorded {
                    self.sampled_out += by_class.iter().map(|(_, count)| count).sum::<u64>();
                    self.begun().count_unrecorded(&by_class, max_ticks);
                }
            }
        }
        let Translation { probes, ratio, .. } = self.translation;
        self.begun().add_minute(&minute, probes, *ratio)
    }

    fn take_spans(&mut self, body: &[u8]) -> Option<()> {
        let (thread, mut spans) = bodies::spans(body)?;
        let (thread, spans) = (
            self.translation.thread(thread),
            self.translation.spans(&mut spans),
        );
        self.begun().switched_out(thread, spans);
        Some(())
    }

    fn take_name(&mut self, body: &[u8]) -> Option<()> {
        let (thread, name) = body.split_first_chunk()?;
        let thread = self.translation.thread(u64::from_le_bytes(*thread));
        let name = String::from_utf8_lossy(name).into_owned();
        self.begun().name_thread(thread, name);
        Some(())
    }

    /// The analysis, with the rounds that have begun. It is made for the first record, not for the first round: that may begin
    /// before the cost of a probe is calibrated.
    pub(super) fn begun(&mut self) -> &mut Analysis {
        let (meta, keeps) = (&self.meta, self.keeps);
        let analysis = self.analysis.get_or_insert_with(|| {
            let mut analysis = Analysis::new(meta.cost());
            if meta.waits && !keeps.without_waits {
                analysis.follow_waits();
            }
            analysis.keep_slowest(keeps.whole.slowest);
            if let Some(id) = keeps.whole.id {
                analysis.keep_interval(id);
            }
            if keeps.pieces {
                analysis.observe_pieces();
            } else if keeps.all {
                analysis.observe();
            }
            analysis.log_rounds();
            analysis
        });
        for change in self.rounds.drain(..) {
            analysis.plan_changed(change);
        }
        analysis
    }

    pub(super) fn finished(mut self, cut: bool) -> Replayed {
        self.sites.root.clone_from(&self.meta.root);
        self.sites.root_height = self.meta.root_height;
        let covered = self.between.as_ref().and_then(Between::covered);
        if self.between.is_some() {
            self.meta.facts.sampled_out = self.sampled_out;
            if let (Some(machine), Some(covered)) = (&mut self.meta.facts.details.machine, &covered)
            {
                machine.seconds = (covered.end - covered.start) as f64 / 1e9;
            }
        }
        Replayed {
            cut: cut || !self.meta.complete,
            covered,
            analysis: self.analysis.expect("begun at the end at the latest"),
            meta: self.meta,
            sites: self.sites,
        }
    }
}
