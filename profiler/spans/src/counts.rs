//! Counts of spans and requests, and of unusable ones.

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

    /// Warnings for the user, each with its number and what to do.
    pub fn warnings(&self) -> Vec<String> {
        let all = [
            (
                self.damaged,
                "documents are damaged, cut off or of no known format, and were left out: OTLP (protobuf, JSON) and Jaeger's JSON are read",
            ),
            (
                self.zipkin,
                "lists of spans are in Zipkin's JSON, which is not supported, and were left out: convert them to OTLP by the Collector (zipkin receiver, otlp or file exporter)",
            ),
            (
                self.invalid,
                "spans without a time, with an end before their start or after the year 2262 were left out: the program that wrote them is at fault",
            ),
            (
                self.wrong_ids,
                "spans have an invalid trace id or span id, and were left out. Valid ids have 16 and 8 bytes, in JSON 32 and 16 hexadecimal digits (in Jaeger's at most these), and are not all zeros. The program that wrote them is at fault",
            ),
            (
                self.base64_ids,
                "spans have their ids in base64, and were left out: protobuf's own mapping to JSON writes that, OTLP's JSON has them in hexadecimal; have them written so (opentelemetry-cpp: JsonBytesMappingKind::kHexId), or as protobuf",
            ),
            (
                self.duplicates,
                "spans came more than once and count once: an exporter repeats what was not acknowledged",
            ),
            (
                self.late,
                "spans came after their trace had been dealt with and were left out: a longer --grace waits for them",
            ),
            (
                self.rootless,
                "traces have no root and were left out: the span that began them was not recorded (head sampling, a service that does not export)",
            ),
            (
                self.remote_roots,
                "requests were begun by a caller that is not recorded: they count from the first span that is",
            ),
            (
                self.orphans,
                "spans have a missing parent: their time is their nearest known caller's own",
            ),
            (
                self.cycles,
                "spans call themselves in a circle and were left out: the program that wrote them is at fault",
            ),
            (
                self.not_joined,
                "requests were left out: they have no interval for an operation that --trace-id splits into functions (skipped by sampling, lost, or in another process of the service)",
            ),
            (
                self.too_long,
                "requests take longer than two hours and were left out",
            ),
        ];
        let counted = all.iter().filter(|(count, _)| *count > 0);
        counted
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}
