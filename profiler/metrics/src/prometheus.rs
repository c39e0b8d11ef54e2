//! Metrics in Prometheus' text format, by the crate of the Prometheus project.

use std::fmt;
use std::sync::{Arc, Mutex};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as Suffix};

use crate::family::{Family, Point, Points, Unit};
use crate::totals::Totals;

/// The kind of text that it is.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug)]
struct All(Arc<Mutex<Totals>>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let families = self.0.lock().expect("nobody panicked with it").families();
        families
            .iter()
            .try_for_each(|one| encode(one, &mut encoder))
    }
}

/// What a scrape answers.
pub fn text(totals: &Arc<Mutex<Totals>>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(Arc::clone(totals))));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry).expect("a text takes everything");
    text
}

fn encode(family: &Family, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kind = match &family.points {
        Points::Counter(_) => MetricType::Counter,
        Points::Gauge(_) => MetricType::Gauge,
        Points::Histogram { .. } => MetricType::Histogram,
        Points::Info(_) => MetricType::Info,
    };
    let unit = match family.unit {
        Unit::Seconds => Some(Suffix::Seconds),
        Unit::Ratio => Some(Suffix::Other("ratio".to_owned())),
        Unit::None => None,
    };
    let about = format!("{}.", family.about);
    let mut metric = encoder.encode_descriptor(family.name, &about, unit.as_ref(), kind)?;
    match &family.points {
        Points::Counter(points) | Points::Gauge(points) => {
            for Point { label, value } in points {
                let labels: Vec<(&str, &str)> = label
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                let labels = labels.as_slice();
                let mut one = metric.encode_family(&labels)?;
                match kind {
                    MetricType::Counter => one.encode_counter::<NoLabelSet, _, f64>(value, None)?,
                    _ => one.encode_gauge(value)?,
                }
            }
            Ok(())
        }
        Points::Histogram { buckets, sum } => {
            let count = buckets.iter().map(|(_, count)| count).sum();
            metric.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
        }
        Points::Info(labels) => {
            let labels: Vec<(&str, &str)> = labels
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            metric.encode_info(&labels)
        }
    }
}
