//! Counts of spans and requests, and of unusable ones.

use evenkeel_analysis::findings::warnings::{SpansDefect, SpansWarning};

/// Counts over everything that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Documents or messages read.
    pub documents: u64,
    /// Files that are damaged, cut or of no known format. Earlier content of the same file is used.
    pub damaged: u64,
    /// Lists of Zipkin's spans, whose format is not read.
    pub zipkin: u64,
    /// Spans read.
    pub spans: u64,
    /// Spans without a time, whose end is before their start, or later than clocks go.
    pub invalid: u64,
    /// Spans whose trace's, own or parent's number is not as their format writes it, or 0 where it may not be.
    pub wrong_ids: u64,
    /// Spans of OTLP's JSON whose numbers are in base64.
    pub base64_ids: u64,
    /// Spans that were there before.
    pub duplicates: u64,
    /// Spans that came when their trace was dealt with.
    pub late: u64,
    /// Traces.
    pub traces: u64,
    /// Traces without a root: the span that began it is missing.
    pub rootless: u64,
    /// Requests whose caller was outside of the recorded spans.
    pub remote_roots: u64,
    /// Spans below one that is missing: their time is their nearest known caller's own.
    pub orphans: u64,
    /// Spans that are their own callers' callers.
    pub cycles: u64,
    /// Spans that their parent did not wait for: left out of the critical path.
    pub asynchronous: u64,
    /// Spans that reach beyond their parent: cut to it.
    pub cut: u64,
    /// Spans that failed.
    pub failed: u64,
    /// Requests.
    pub requests: u64,
    /// Requests through an operation that a recording splits into functions, but without an interval in the
    /// recording.
    pub not_joined: u64,
    /// Requests that take longer than a record can hold (two hours).
    pub too_long: u64,
}

impl Counts {
    /// Spans that say nothing by what is wrong in them, whatever comes with them.
    pub fn unusable(&self) -> u64 {
        self.invalid + self.wrong_ids + self.base64_ids
    }

    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<SpansWarning> {
        let all = [
            (self.damaged, SpansDefect::Damaged),
            (self.zipkin, SpansDefect::Zipkin),
            (self.invalid, SpansDefect::InvalidTime),
            (self.wrong_ids, SpansDefect::WrongIds),
            (self.base64_ids, SpansDefect::Base64Ids),
            (self.duplicates, SpansDefect::Duplicates),
            (self.late, SpansDefect::Late),
            (self.rootless, SpansDefect::Rootless),
            (self.remote_roots, SpansDefect::RemoteRoots),
            (self.orphans, SpansDefect::Orphans),
            (self.cycles, SpansDefect::Cycles),
            (self.not_joined, SpansDefect::NotJoined),
            (self.too_long, SpansDefect::TooLong),
        ];
        let counted = all.into_iter().filter(|(count, _)| *count > 0);
        counted
            .map(|(count, defect)| SpansWarning::Defects(defect, count))
            .collect()
    }
}
