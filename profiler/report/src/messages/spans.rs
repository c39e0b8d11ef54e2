//! Messages about distributed traces.

use evenkeel_analysis::findings::warnings::{SpansDefect, SpansWarning};

/// A warning about spans in words.
pub(super) fn said(warning: &SpansWarning) -> String {
    match warning {
        SpansWarning::Defects(defect, count) => format!("{count} {}", defects(*defect)),
        SpansWarning::HostClock {
            clock,
            by,
            correction_ns,
            calls,
            broken,
            is_several,
        } => {
            let several = match is_several {
                true => {
                    " Many of them break it even so: it goes by several clocks, or by one that was set meanwhile. Have each instance of it name its host \
                     (host.name, or service.instance.id, in OTEL_RESOURCE_ATTRIBUTES), by which clocks are told apart."
                }
                false => "",
            };
            format!(
                "The clock of {clock} is {} that of {by}, by {calls} calls; in {broken} the callee was not within its caller. Its times were corrected by that.{several}",
                ahead(*correction_ns)
            )
        }
        SpansWarning::ProcessClock {
            process,
            correction_ns,
            intervals,
            broken,
        } => format!(
            "The clock of {process} is {} that of its spans, by {intervals} intervals; {broken} neither contain their span nor lie within it. Its times were corrected by that.",
            ahead(*correction_ns)
        ),
        SpansWarning::NothingJoined(process) => format!(
            "nothing of {process} could be joined: none of its intervals belongs to a span on a critical path. Record it while these traces are made"
        ),
        SpansWarning::OffPath { process, intervals } => format!(
            "{intervals} intervals of {process} belong to spans that are on no critical path: nobody waited for them, or others ended later"
        ),
        SpansWarning::SpanMissing { process, intervals } => format!(
            "{intervals} intervals of {process} name spans that are missing in their traces: name the span of the service itself, or of its caller"
        ),
        SpansWarning::NumbersLeftOut {
            services,
            more,
            names_max,
        } => format!(
            "Operations of {} have more than {names_max} names, which hold what differs from request to request: numbers in any further are left out \
             (\"?\"). Have the program name its spans without them",
            some(services, *more)
        ),
        SpansWarning::OtherOperations {
            spans,
            services,
            more,
        } => format!(
            "{spans} spans of {} are of more operations than are told apart and count as their service's other operations: their names hold what \
             differs from request to request. Have the program name its spans without it",
            some(services, *more)
        ),
    }
}

fn ahead(correction_ns: i64) -> String {
    let way = match correction_ns < 0 {
        true => "ahead of",
        false => "behind",
    };
    format!("{:.3} ms {way}", correction_ns.unsigned_abs() as f64 / 1e6)
}

fn some(services: &[String], more: usize) -> String {
    let named = services.join(", ");
    match more {
        0 => named,
        more => format!("{named} and {more} more services"),
    }
}

fn defects(defect: SpansDefect) -> &'static str {
    match defect {
        SpansDefect::Damaged => {
            "documents are damaged, cut off or of no known format, and were left out: OTLP (protobuf, JSON) and Jaeger's JSON are read"
        }
        SpansDefect::Zipkin => {
            "lists of spans are in Zipkin's JSON, which is not supported, and were left out: convert them to OTLP by the Collector (zipkin receiver, otlp or file exporter)"
        }
        SpansDefect::InvalidTime => {
            "spans without a time, with an end before their start or after the year 2262 were left out: the program that wrote them is at fault"
        }
        SpansDefect::WrongIds => {
            "spans have an invalid trace id or span id, and were left out. Valid ids have 16 and 8 bytes, in JSON 32 and 16 hexadecimal digits (in Jaeger's at most these), and are not all zeros. The program that wrote them is at fault"
        }
        SpansDefect::Base64Ids => {
            "spans have their ids in base64, and were left out: protobuf's own mapping to JSON writes that, OTLP's JSON has them in hexadecimal; have them written so (opentelemetry-cpp: JsonBytesMappingKind::kHexId), or as protobuf"
        }
        SpansDefect::Duplicates => {
            "spans came more than once and count once: an exporter repeats what was not acknowledged"
        }
        SpansDefect::Late => {
            "spans came after their trace had been dealt with and were left out: a longer --grace waits for them"
        }
        SpansDefect::Rootless => {
            "traces have no root and were left out: the span that began them was not recorded (head sampling, a service that does not export)"
        }
        SpansDefect::RemoteRoots => {
            "requests were begun by a caller that is not recorded: they count from the first span that is"
        }
        SpansDefect::Orphans => {
            "spans have a missing parent: their time is their nearest known caller's own"
        }
        SpansDefect::Cycles => {
            "spans call themselves in a circle and were left out: the program that wrote them is at fault"
        }
        SpansDefect::NotJoined => {
            "requests were left out: they have no interval for an operation that --trace-id splits into functions (skipped by sampling, lost, or in another process of the service)"
        }
        SpansDefect::TooLong => "requests take longer than two hours and were left out",
    }
}
