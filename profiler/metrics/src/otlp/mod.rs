//! Metrics as OpenTelemetry's messages.
//!
//! OpenTelemetry's SDK records single values and makes histograms of them; it takes no histogram that is there already. So the messages are
//! written as traces and profiles are, by the numbers of their definitions.

mod messages;
mod send;

use prost::Message;

use self::messages::*;
use crate::family::{Family, Point, Points, Unit};
use crate::totals::Totals;
pub use send::{Endpoint, Sender};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

/// A request with everything, of a session on this machine.
pub fn request(totals: &Totals, host: &str) -> Vec<u8> {
    let families = totals.families();
    let mut attributes = vec![text("service.name", "evenkeel")];
    if !host.is_empty() {
        attributes.push(text("host.name", host));
    }
    let session = families.iter().find_map(|family| match &family.points {
        Points::Info(labels) => Some(labels),
        _ => None,
    });
    for (name, value) in session.into_iter().flatten() {
        attributes.push(text(&format!("evenkeel.{name}"), value));
    }
    let times = (totals.session.began_unix_ns, totals.ended_unix_ns);
    let metrics = families.iter().filter_map(|family| metric(family, times));
    let scope = Scope {
        name: "evenkeel".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource { attributes }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: metrics.collect(),
            }],
        }],
    };
    request.encode_to_vec()
}

/// Converts a family. Attributes of the session are not included: they are sent once, for all metrics.
fn metric(family: &Family, (begin, end): (u64, u64)) -> Option<Metric> {
    let number = |Point { label, value }: &Point| NumberPoint {
        start_time_unix_nano: begin,
        time_unix_nano: end,
        as_double: Some(*value),
        attributes: label
            .iter()
            .map(|(name, value)| text(name, value))
            .collect(),
    };
    let data = match &family.points {
        Points::Counter(points) => Data::Sum(Sum {
            data_points: points.iter().map(number).collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Points::Gauge(points) => Data::Gauge(Gauge {
            data_points: points.iter().map(number).collect(),
        }),
        Points::Histogram { buckets, sum } => Data::Histogram(Histogram {
            data_points: vec![HistogramPoint {
                start_time_unix_nano: begin,
                time_unix_nano: end,
                count: buckets.iter().map(|(_, count)| count).sum(),
                sum: Some(*sum),
                bucket_counts: buckets.iter().map(|(_, count)| *count).collect(),
                explicit_bounds: buckets
                    .iter()
                    .map(|(bound, _)| *bound)
                    .filter(|bound| bound.is_finite())
                    .collect(),
            }],
            aggregation_temporality: CUMULATIVE,
        }),
        Points::Info(_) => return None,
    };
    let unit = match family.unit {
        Unit::Seconds => "s",
        Unit::Ratio => "1",
        Unit::None => "",
    };
    Some(Metric {
        name: family.name.replacen('_', ".", 1),
        description: format!("{}.", family.about),
        unit: unit.to_owned(),
        data: Some(data),
    })
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Any::Text(value.to_owned())),
        }),
    }
}
