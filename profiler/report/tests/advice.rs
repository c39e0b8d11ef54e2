//! Knowledge about servers is complete and well formed.

#[path = "advice/fitting.rs"]
mod fitting;

use evenkeel_analysis::findings::{Chain, Finding, GivesUp, Holder, IdleInTransaction, Link};
use evenkeel_analysis::profile::{Machine, Node, Profile, RunDetails};
use evenkeel_analysis::sites::Kind;
use evenkeel_report::advice::{self, Pattern, Server};

fn server(name: &str) -> &'static Server {
    let found = advice::servers()
        .iter()
        .find(|server| server.server == name);
    found.unwrap_or_else(|| panic!("nothing is known of {name}"))
}

#[test]
fn every_server_has_its_patterns() {
    for (name, least) in [
        ("PostgreSQL", 12),
        ("MariaDB", 12),
        ("Apache", 4),
        ("nginx", 4),
        ("Redis", 4),
        ("memcached", 4),
    ] {
        assert!(server(name).patterns.len() >= least, "{name}");
    }
}

#[test]
fn every_field_says_something() {
    for server in advice::servers() {
        assert!(!server.programs.is_empty());
        for activity in &server.activities {
            assert!(!activity.functions.is_empty() && !activity.says.ends_with('.'));
        }
        for pattern in &server.patterns {
            let at = format!("{}, {}", server.server, pattern.name);
            assert!(
                !(pattern.functions.is_empty() && pattern.within.is_empty()),
                "{at}"
            );
            assert!(!pattern.advice.is_empty(), "{at}");
            assert!(
                !pattern.means.is_empty() && !pattern.means.ends_with('.'),
                "{at}"
            );
            let names = [&pattern.functions, &pattern.called_by, &pattern.within];
            for function in names.into_iter().flatten() {
                assert_eq!(
                    evenkeel_analysis::findings::plumbing::base(function),
                    function,
                    "{at}"
                );
            }
            assert!(pattern.check.ends_with('.'), "{at}: {}", pattern.check);
            for advice in &pattern.advice {
                assert!(advice.what.ends_with('.'), "{at}: {}", advice.what);
                assert!(
                    !advice.costs.is_empty() && !advice.costs.ends_with('.'),
                    "{at}"
                );
                assert!(!advice.source.is_empty(), "{at}");
                let is_version = advice.since.starts_with(|c: char| c.is_ascii_digit());
                assert!(is_version || advice.since.starts_with("any"), "{at}");
            }
        }
    }
}

/// A finding for each of a pattern's functions, that meets all of its conditions and no more, in a profile that does.
fn findings_of(pattern: &Pattern) -> Vec<Profile> {
    let wait = if pattern.waits || pattern.waits_only {
        Kind::Lock
    } else {
        Kind::Call
    };
    let kinds = match pattern.kinds.is_empty() {
        true => vec![wait],
        false => pattern.kinds.clone(),
    };
    let callers: Vec<Option<String>> = match pattern.called_by.is_empty() {
        true => vec![None],
        false => pattern.called_by.iter().cloned().map(Some).collect(),
    };
    let holder = Holder {
        class: pattern.held_by.first().cloned().unwrap_or_default(),
        of_time: 0.9,
        function: pattern.while_in.first().cloned(),
        ..Holder::default()
    };
    let waits = !pattern.held_by.is_empty() || !pattern.while_in.is_empty();
    let after = || {
        let last = pattern.after.first()?.clone();
        let head = Link {
            idle: Some(IdleInTransaction {
                last: Some(last),
                ..IdleInTransaction::default()
            }),
            ..Link::default()
        };
        Some(Chain {
            links: vec![head],
            ..Chain::default()
        })
    };
    let within = |function: &String| {
        let outer = pattern.within.first();
        let path = outer.map(|outer| format!("statement > {outer} > {function}"));
        path.into_iter().map(Into::into).collect()
    };
    let mut found = Vec::new();
    let functions = match pattern.functions.is_empty() {
        true => &pattern.within,
        false => &pattern.functions,
    };
    for function in functions {
        for (&kind, called_by) in kinds.iter().zip(callers.iter().cycle()) {
            let finding = Finding {
                function: function.clone(),
                called_by: called_by.clone(),
                kind,
                mean_ns: if kind == Kind::Call { 1e3 } else { 1e6 },
                calls_mean: 1.0,
                waits_for: waits.then(|| holder.clone()).into_iter().collect(),
                paths: within(function),
                chain: after(),
                ..Finding::default()
            };
            found.push(Profile {
                findings: vec![finding],
                details: RunDetails {
                    machine: Some(Machine {
                        processors: if pattern.crowded { 2 } else { 64 },
                        seconds: 1.0,
                    }),
                    ..RunDetails::default()
                },
                intervals_seen: 8000,
                mean_ns: 1e6,
                tree: Node {
                    name: pattern.seen.first().cloned().unwrap_or_default(),
                    ..Node::default()
                },
                ..Profile::default()
            });
        }
    }
    found
}

/// A finding fits the first pattern that has its function: a later one for the same function and kinds would never be said.
#[test]
fn no_pattern_hides_another() {
    for server in advice::servers() {
        for pattern in &server.patterns {
            for profile in findings_of(pattern) {
                let finding = &profile.findings[0];
                let first = server.pattern(&profile, finding);
                let first = first.map(|first| first.name.as_str());
                assert_eq!(
                    first,
                    Some(pattern.name.as_str()),
                    "{} of {}",
                    finding.function,
                    server.server
                );
            }
        }
    }
}

/// Whatever weakens a commit or an isolation level is marked, and never comes first.
#[test]
fn advice_that_gives_up_a_guarantee_is_marked() {
    for advice_of in advice::servers().iter().flat_map(|server| &server.patterns) {
        for (at, advice) in advice_of.advice.iter().enumerate() {
            let weakens = [
                "synchronous_commit = ",
                "innodb_flush_log_at_trx_commit",
                "sync_binlog",
                "innodb_doublewrite",
                "appendfsync",
            ];
            if weakens.iter().any(|setting| advice.what.contains(setting)) {
                assert_eq!(
                    advice.gives_up,
                    Some(GivesUp::Durability),
                    "{}",
                    advice.what
                );
            }
            if advice.what.contains("READ COMMITTED") || advice.what.contains("REPEATABLE READ") {
                assert_eq!(advice.gives_up, Some(GivesUp::Isolation), "{}", advice.what);
            }
            assert!(!advice.what.contains("full_page_writes"), "never");
            assert!(
                advice.gives_up.is_none() || at > 0 || advice_of.advice.len() == 1,
                "{}",
                advice.what
            );
        }
    }
}

/// Conditions name settings that a preset sees, with values that it gives them.
#[test]
fn conditions_are_of_settings_that_are_seen() {
    let presets = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../intervals/src/presets");
    for (server, file) in [
        ("PostgreSQL", "postgres.toml"),
        ("MariaDB", "mariadb.toml"),
        ("nginx", "nginx.toml"),
    ] {
        let text = std::fs::read_to_string(presets.join(file)).unwrap();
        let known: toml::Table = text.parse().unwrap();
        let settings = known["setting"].as_array().unwrap();
        let patterns = advice::servers()
            .iter()
            .filter(|known| known.server == server);
        let advice = patterns
            .flat_map(|server| &server.patterns)
            .flat_map(|pattern| &pattern.advice);
        let conditions: Vec<&String> = advice.flat_map(|advice| &advice.done_with).collect();
        assert!(!conditions.is_empty(), "{server}");
        for condition in conditions {
            let (name, value) = condition.split_once('=').unwrap();
            let name = name.trim_end_matches('!').trim();
            let setting = settings
                .iter()
                .find(|setting| setting["name"].as_str() == Some(name));
            let setting = setting.unwrap_or_else(|| panic!("nobody sees {name}"));
            let is_value = match setting.get("values").and_then(toml::Value::as_array) {
                Some(values) => values
                    .iter()
                    .any(|known| known.as_str() == Some(value.trim())),
                None => value.trim().parse::<u64>().is_ok(),
            };
            assert!(is_value, "{condition}");
        }
    }
}
