//! OpenTelemetry's profiles, whose definition is an alpha. Every weight is a separate profile over the same call paths.
//! The file is the body of a POST to a Collector at `/v1development/profiles`.

mod messages;

use std::collections::HashMap;
use std::hash::Hash;
use std::io::Write;

use evenkeel_analysis::profile::Node;
use prost::Message;

use self::messages::*;
use crate::format::{Error, Export, Format};
use crate::weights::Weight;

/// The version of OpenTelemetry's definitions that it is written by. An alpha may change between versions.
pub const PROTO_VERSION: &str = "1.11.0";

/// The format.
pub struct OtlpProfiles;

impl Format for OtlpProfiles {
    fn name(&self) -> &'static str {
        "otlp-profiles"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry's profiles (alpha: v1development of OTLP 1.11.0), for a Collector: every weight"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut tables = Tables::default();
        let leaves = export.leaves();
        let stacks: Vec<i32> = leaves
            .iter()
            .map(|leaf| tables.stack(&leaf.stack))
            .collect();
        let machine = export.profile.details.machine.as_ref();
        let profiles = Weight::ALL.map(|weight| Profile {
            sample_type: Some(ValueType {
                type_strindex: tables.text(&weight.to_string()),
                unit_strindex: tables.text(weight.unit()),
            }),
            samples: leaves
                .iter()
                .zip(&stacks)
                .map(|(leaf, &stack_index)| Sample {
                    stack_index,
                    values: vec![weight.of(leaf.node())],
                })
                .filter(|sample| sample.values != [0])
                .collect(),
            time_unix_nano: export.started.unix_ns,
            duration_nano: machine.map_or(0, |machine| (machine.seconds * 1e9) as u64),
        });
        let mut attributes = vec![
            text("service.name", export.program()),
            text("process.command_line", &export.profile.target),
            text("evenkeel.interval", &export.profile.interval),
        ];
        if !export.host.is_empty() {
            attributes.push(text("host.name", export.host));
        }
        let data = ProfilesData {
            resource_profiles: vec![ResourceProfiles {
                resource: Some(Resource { attributes }),
                scope_profiles: vec![ScopeProfiles {
                    scope: Some(Scope {
                        name: "evenkeel".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    }),
                    profiles: profiles.into(),
                }],
            }],
            dictionary: Some(tables.dictionary()),
        };
        Ok(out.write_all(&data.encode_to_vec())?)
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            string_value: Some(value.to_owned()),
        }),
    }
}

/// A table without duplicates, by place. The first place is taken by the empty item.
struct Table<K> {
    places: HashMap<K, i32>,
    keys: Vec<K>,
}

impl<K> Default for Table<K> {
    fn default() -> Table<K> {
        Table {
            places: HashMap::new(),
            keys: Vec::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Table<K> {
    fn place(&mut self, key: K) -> i32 {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        self.keys.push(key.clone());
        let place = i32::try_from(self.keys.len()).expect("a tree has fewer nodes");
        self.places.insert(key, place);
        place
    }
}

/// What profiles refer to.
#[derive(Default)]
struct Tables {
    texts: Table<String>,
    /// Name and file.
    functions: Table<(i32, i32)>,
    /// Function and line.
    locations: Table<(i32, i64)>,
    stacks: Table<Vec<i32>>,
}

impl Tables {
    fn text(&mut self, text: &str) -> i32 {
        match text {
            "" => 0,
            text => self.texts.place(text.to_owned()),
        }
    }

    /// A call path, the root first. A node knows from where it is called: the place in a function is known by the call below.
    fn stack(&mut self, path: &[&Node]) -> i32 {
        let below = path.iter().skip(1).map(Some).chain([None]);
        let mut locations: Vec<i32> = path
            .iter()
            .zip(below)
            .map(|(node, below)| {
                let file = below.and_then(|node| node.file.as_deref()).unwrap_or("");
                let line = below.and_then(|node| node.line).unwrap_or(0);
                let function = (self.text(&node.name), self.text(file));
                let function = self.functions.place(function);
                self.locations.place((function, line.into()))
            })
            .collect();
        locations.reverse();
        self.stacks.place(locations)
    }

    fn dictionary(self) -> Dictionary {
        let functions = self.functions.keys.into_iter();
        let functions = functions.map(|(name, file)| Function {
            name_strindex: name,
            system_name_strindex: name,
            filename_strindex: file,
        });
        let locations = self.locations.keys.into_iter();
        let locations = locations.map(|(function_index, line)| Location {
            lines: vec![Line {
                function_index,
                line,
            }],
        });
        let stacks = self.stacks.keys.into_iter();
        let stacks = stacks.map(|location_indices| Stack { location_indices });
        let no_span = Link {
            trace_id: vec![0; 16],
            span_id: vec![0; 8],
        };
        Dictionary {
            mapping_table: vec![Nothing {}],
            location_table: with_empty(locations),
            function_table: with_empty(functions),
            link_table: vec![no_span],
            string_table: with_empty(self.texts.keys.into_iter()),
            attribute_table: vec![Nothing {}],
            stack_table: with_empty(stacks),
        }
    }
}

fn with_empty<T: Default>(items: impl Iterator<Item = T>) -> Vec<T> {
    [T::default()].into_iter().chain(items).collect()
}
