//! Workloads by name and settings, as a command line has them.
//!
//! Workloads have different types, so what is made of a name is handed to a [`Visitor`], which is generic
//! over them.

mod options;
mod reader;

pub use options::{OptionHelp, options};
pub use reader::SettingsError;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use reader::{Reader, in_range};

use crate::epinions::{self, Epinions};
use crate::interface::Workload;
use crate::micro::{self, Micro};
use crate::seats::{self, Seats};
use crate::sysbench::{self, Sysbench};
use crate::tatp::Tatp;
use crate::tpcc::{Mix, Scale, Tpcc};
use crate::ycsb::{self, Core, Ycsb};

/// All names.
pub const NAMES: [&str; 13] = [
    "tpcc", "htap", "tatp", "seats", "epinions", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e",
    "ycsb-f", "sysbench", "micro",
];

/// Largest scale: ten thousand warehouses are a terabyte.
const SCALES: RangeInclusive<i64> = 1..=10_000;

/// YCSB's records, and TATP's subscribers, at scale 1.
const RECORDS: i64 = 100_000;

/// Settings that a name leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Size: warehouses for TPC-C, and so on; 1 is the smallest size that is not scaled down.
    pub scale: i64,
    /// Determines data and inputs.
    pub seed: u64,
    /// Options of the workload by name; see [`options`].
    pub options: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            scale: 1,
            seed: 1,
            options: BTreeMap::new(),
        }
    }
}

/// An operation on a workload of any type.
pub trait Visitor {
    /// The operation's result.
    type Output;

    /// Does it.
    fn visit<W: Workload>(self, workload: W) -> Self::Output;
}

/// Makes the workload called `name`, one of [`NAMES`], and hands it to `visitor`.
///
/// # Errors
/// See [`SettingsError`].
pub fn build<V: Visitor>(
    name: &str,
    settings: &Settings,
    visitor: V,
) -> Result<V::Output, SettingsError> {
    let reader = Reader {
        workload: name,
        options: settings.options.clone(),
    };
    let seed = settings.seed;
    let scale = in_range("scale", settings.scale, SCALES)?;
    if !NAMES.contains(&name) {
        return Err(SettingsError::UnknownWorkload(name.to_owned()));
    }
    Ok(match name {
        "tpcc" => visitor.visit(tpcc(reader, scale, Mix::Standard, seed)?),
        "htap" => visitor.visit(tpcc(reader, scale, Mix::Htap, seed)?),
        "tatp" => visitor.visit(tatp(reader, scale, seed)?),
        "seats" => visitor.visit(seats(reader, scale, seed)?),
        "epinions" => visitor.visit(epinions(reader, scale, seed)?),
        "sysbench" => visitor.visit(sysbench(reader, scale, seed)?),
        "micro" => visitor.visit(micro(reader, scale, seed)?),
        _ => visitor.visit(ycsb(reader, scale, core(name), seed)?),
    })
}

fn tpcc(mut reader: Reader<'_>, scale: i64, mix: Mix, seed: u64) -> Result<Tpcc, SettingsError> {
    let full = Scale::full(scale);
    let customers = reader.number("customers", full.customers, 10..=full.customers)?;
    let items = reader.number("items", full.items, 100..=full.items)?;
    reader.finish()?;
    let scale = Scale {
        warehouses: scale,
        customers,
        items,
    };
    Ok(Tpcc::new(scale, mix, seed))
}

fn tatp(mut reader: Reader<'_>, scale: i64, seed: u64) -> Result<Tatp, SettingsError> {
    let subscribers = reader.number("subscribers", RECORDS * scale, 1..=i64::from(i32::MAX))?;
    reader.finish()?;
    Ok(Tatp::new(subscribers, seed))
}

fn seats(mut reader: Reader<'_>, scale: i64, seed: u64) -> Result<Seats, SettingsError> {
    let full = seats::Sizes::at_scale(scale);
    let customers = reader.number("customers", full.customers, 100..=1_000_000_000)?;
    let days_future = reader.number("days", full.days_future, 1..=100_000)?;
    let fewer_flights = reader.number("fewer-flights", 1, 1..=1000)?;
    reader.finish()?;
    let sizes = seats::Sizes {
        customers,
        days_future,
        fewer_flights,
        ..full
    };
    Ok(Seats::new(sizes, seed))
}

fn epinions(mut reader: Reader<'_>, scale: i64, seed: u64) -> Result<Epinions, SettingsError> {
    let full = epinions::Sizes::at_scale(scale);
    let users = reader.number("users", full.users, 1..=i64::from(i32::MAX))?;
    let items = reader.number("items", full.items, 1..=i64::from(i32::MAX))?;
    reader.finish()?;
    let sizes = epinions::Sizes {
        users,
        items,
        ..full
    };
    Ok(Epinions::new(sizes, seed))
}

fn micro(mut reader: Reader<'_>, scale: i64, seed: u64) -> Result<Micro, SettingsError> {
    let standard = micro::Options::default();
    let records = i64::from(standard.records) * scale;
    let options = micro::Options {
        records: reader.number("records", records, 1..=1_000_000_000)? as u32,
        statements: reader.number("statements", standard.statements, 1..=1000)?,
        theta: reader.number("theta", standard.theta, 0.0..=10.0)?,
        exclusive: reader.number("exclusive", standard.exclusive, 0.0..=1.0)?,
        ordered: reader.number("ordered", standard.ordered, false..=true)?,
        seed,
    };
    reader.finish()?;
    Ok(Micro::new(options))
}

fn sysbench(mut reader: Reader<'_>, scale: i64, seed: u64) -> Result<Sysbench, SettingsError> {
    let standard = sysbench::Options::default();
    let records = standard.records * scale;
    let mut count = |option, default| reader.number(option, default, 0..=1000);
    let options = sysbench::Options {
        point_selects: count("point-selects", standard.point_selects)?,
        ranges: count("ranges", standard.ranges)?,
        index_updates: count("index-updates", standard.index_updates)?,
        other_updates: count("non-index-updates", standard.other_updates)?,
        replaced: count("delete-inserts", standard.replaced)?,
        records: reader.number("records", records, 1..=1_000_000_000)?,
        range_size: reader.number("range-size", standard.range_size, 1..=1_000_000)?,
        hot: reader.number("hot", standard.hot, 0.0..=1.0)?,
        seed,
    };
    reader.finish()?;
    if options.statements() == 0 {
        return Err(SettingsError::Value {
            option: "point-selects".to_owned(),
            value: "0".to_owned(),
            expected: "one statement at least, of whichever kind".to_owned(),
        });
    }
    Ok(Sysbench::new(options))
}

fn ycsb(mut reader: Reader<'_>, scale: i64, core: Core, seed: u64) -> Result<Ycsb, SettingsError> {
    let records = reader.number("records", RECORDS * scale, 1..=100_000_000_000)? as u64;
    let theta = reader.number("theta", 0.99, 0.0..=10.0)?;
    reader.finish()?;
    let options = ycsb::Options {
        records,
        theta,
        seed,
    };
    Ok(Ycsb::new(core, options))
}

fn core(name: &str) -> Core {
    match name {
        "ycsb-a" => Core::A,
        "ycsb-b" => Core::B,
        "ycsb-c" => Core::C,
        "ycsb-d" => Core::D,
        "ycsb-e" => Core::E,
        _ => Core::F,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    struct Describe;

    impl Visitor for Describe {
        type Output = (String, BTreeMap<&'static str, String>);

        fn visit<W: Workload>(self, workload: W) -> Self::Output {
            (
                workload.name().to_owned(),
                workload.options().into_iter().collect(),
            )
        }
    }

    fn with(
        name: &str,
        options: &[(&str, &str)],
    ) -> Result<BTreeMap<&'static str, String>, SettingsError> {
        let options = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        build(
            name,
            &Settings {
                scale: 2,
                options,
                ..Settings::default()
            },
            Describe,
        )
        .map(|(_, options)| options)
    }

    #[test]
    fn every_name_is_the_workload_s_own() {
        for name in NAMES {
            assert_eq!(build(name, &Settings::default(), Describe).unwrap().0, name);
            assert!(!options(name).is_empty());
        }
    }

    /// A visitor that returns the made workload's type.
    struct TypeOf;

    impl Visitor for TypeOf {
        type Output = &'static str;

        fn visit<W: Workload>(self, _: W) -> Self::Output {
            std::any::type_name::<W>()
        }
    }

    /// Files below `folder` that implement the trait.
    fn implementations(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).expect("the workloads' sources");
        let found = entries.map(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                return implementations(&path);
            }
            let text = std::fs::read_to_string(path).expect("a source");
            let begins = |line: &&str| line.starts_with("impl Workload for ");
            text.lines().filter(begins).count()
        });
        found.sum()
    }

    /// A workload that no name makes would be dead.
    #[test]
    fn no_workload_is_forgotten() {
        let made = NAMES.map(|name| build(name, &Settings::default(), TypeOf).expect(name));
        let made: BTreeSet<&str> = made.into_iter().collect();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(
            implementations(&sources),
            made.len(),
            "implementations of Workload in this crate, and those that NAMES (named/names.rs) and `build` (named/mod.rs) make: {made:?}"
        );
    }

    #[test]
    fn every_option_that_is_described_is_taken() {
        for name in NAMES {
            for option in options(name) {
                // 1000 is a value for all numbers but these.
                let value = match option.name {
                    "theta" | "exclusive" | "hot" => "0.5",
                    "ordered" => "true",
                    _ => "1000",
                };
                assert!(
                    with(name, &[(option.name, value)]).is_ok(),
                    "{name} {}",
                    option.name
                );
            }
        }
    }

    #[test]
    fn scaling_down_is_reported() {
        assert_eq!(with("tpcc", &[]).unwrap()["scaled_down"], "false");
        let small = with("tpcc", &[("customers", "30"), ("items", "1000")]).unwrap();
        assert_eq!(
            (
                &*small["scaled_down"],
                &*small["warehouses"],
                &*small["items"]
            ),
            ("true", "2", "1000")
        );
    }

    #[test]
    fn mistakes_are_explained() {
        let message = |name, options: &[(&str, &str)]| with(name, options).unwrap_err().to_string();
        assert!(
            message("tpch", &[])
                .starts_with("there is no workload tpch; there are tpcc, htap, tatp")
        );
        assert_eq!(
            message("tatp", &[("size", "1")]),
            "tatp has no option size; it has subscribers"
        );
        assert_eq!(
            message("micro", &[("theta", "x")]),
            "theta=x: expected 0 to 10"
        );
        assert_eq!(
            message("tpcc", &[("items", "200000")]),
            "items=200000: expected 100 to 100000"
        );
        let settings = Settings {
            scale: 0,
            ..Settings::default()
        };
        let refused = build("tpcc", &settings, Describe).unwrap_err();
        assert_eq!(refused.to_string(), "scale=0: expected 1 to 10000");
    }
}
