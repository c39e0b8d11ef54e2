//! pprof's format: every weight is a separate sample type (`go tool pprof -sample_index=p99`); negative weights stay
//! negative.
//!
//! pprof takes a file without compression as well, and whoever wants it smaller has gzip.

mod messages;

use std::collections::HashMap;
use std::io::Write;

use evenkeel_analysis::profile::Node;
use prost::Message;

use self::messages::{Function, Line, Location, Profile, Sample, ValueType};
use crate::format::{Error, Export, Format};
use crate::weights::Weight;

/// The format.
pub struct Pprof;

impl Format for Pprof {
    fn name(&self) -> &'static str {
        "pprof"
    }

    fn about(&self) -> &'static str {
        "for `go tool pprof` and what reads its files: every weight"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut tables = Tables::default();
        tables.text("");
        let sample_type = Weight::ALL.map(|weight| ValueType {
            r#type: tables.text(&weight.to_string()),
            unit: tables.text(weight.unit()),
        });
        let sample = export.leaves().into_iter().map(|leaf| Sample {
            location_id: tables.locations(&leaf.stack),
            value: Weight::ALL.map(|weight| weight.of(leaf.node())).to_vec(),
        });
        let sample = sample.collect();
        let comment = tables.text(&export.title());
        let time_nanos = export.started.unix_ns;
        let profile = Profile {
            default_sample_type: tables.text(&Weight::Variance.to_string()),
            sample_type: sample_type.to_vec(),
            sample,
            location: tables.locations,
            function: tables.functions,
            string_table: tables.texts,
            time_nanos: i64::try_from(time_nanos).unwrap_or(i64::MAX),
            comment: vec![comment],
        };
        Ok(out.write_all(&profile.encode_to_vec())?)
    }
}

/// Tables that samples refer to, each entry once.
#[derive(Default)]
struct Tables {
    texts: Vec<String>,
    text_numbers: HashMap<String, i64>,
    functions: Vec<Function>,
    function_ids: HashMap<(i64, i64), u64>,
    locations: Vec<Location>,
    location_ids: HashMap<(u64, i64), u64>,
}

impl Tables {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.text_numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.text_numbers.insert(text.to_owned(), number);
        number
    }

    /// Locations of a call path, the leaf first. A node knows from where it is called: the place in a function is
    /// known by the call below.
    fn locations(&mut self, stack: &[&Node]) -> Vec<u64> {
        let below = stack.iter().skip(1).map(Some).chain([None]);
        let places = stack.iter().zip(below);
        let ids: Vec<u64> = places
            .map(|(node, below)| {
                let file = below.and_then(|node| node.file.as_deref());
                let line = below.and_then(|node| node.line).unwrap_or(0);
                self.location(&node.name, file.unwrap_or(""), line.into())
            })
            .collect();
        ids.into_iter().rev().collect()
    }

    fn location(&mut self, name: &str, file: &str, line: i64) -> u64 {
        let function_id = self.function(name, file);
        let Tables {
            locations,
            location_ids,
            ..
        } = self;
        *location_ids.entry((function_id, line)).or_insert_with(|| {
            let id = locations.len() as u64 + 1;
            let line = vec![Line { function_id, line }];
            locations.push(Location { id, line });
            id
        })
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let (name, filename) = (self.text(name), self.text(file));
        let Tables {
            functions,
            function_ids,
            ..
        } = self;
        *function_ids.entry((name, filename)).or_insert_with(|| {
            let id = functions.len() as u64 + 1;
            functions.push(Function {
                id,
                name,
                system_name: name,
                filename,
            });
            id
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Started;
    use crate::weights::tests::export;

    /// f is called in root.c:7, so that is root's line; the line inside of f is unknown.
    #[test]
    fn a_line_is_where_the_call_below_is_made() {
        let profile = export();
        let mut bytes = Vec::new();
        let export = Export {
            profile: &profile,
            weight: Weight::Variance,
            started: Started::default(),
            host: "",
        };
        Pprof.write(&export, &mut bytes).unwrap();
        let read = Profile::decode(&bytes[..]).unwrap();
        let text = |number: i64| read.string_table[number as usize].as_str();
        let place = |id: &u64| {
            let location = &read.location[*id as usize - 1];
            let function = &read.function[location.line[0].function_id as usize - 1];
            (
                text(function.name),
                text(function.filename),
                location.line[0].line,
            )
        };
        let stacks: Vec<Vec<_>> = read
            .sample
            .iter()
            .map(|sample| sample.location_id.iter().map(place).collect())
            .collect();
        assert_eq!(stacks[0], [("f", "", 0), ("root", "root.c", 7)]);
        assert_eq!(read.sample[1].value[..2], [-250_000, 40]);
        assert_eq!(text(read.default_sample_type), "variance");
    }
}
