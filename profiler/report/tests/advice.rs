//! What is known of servers: complete, well formed, and silent where nothing is known.

use evenkeel_analysis::findings::{Finding, GivesUp, Meanwhile};
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::Kind;
use evenkeel_report::advice::{self, Server};

fn server(name: &str) -> &'static Server {
    let found = advice::servers()
        .iter()
        .find(|server| server.server == name);
    found.unwrap_or_else(|| panic!("nothing is known of {name}"))
}

fn of(target: &str, finding: Finding) -> Finding {
    let mut profile = Profile {
        target: target.into(),
        findings: vec![finding],
        ..Profile::default()
    };
    advice::add(&mut profile);
    profile.findings.remove(0)
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
                !pattern.functions.is_empty() && !pattern.advice.is_empty(),
                "{at}"
            );
            assert!(
                !pattern.means.is_empty() && !pattern.means.ends_with('.'),
                "{at}"
            );
            for function in pattern.functions.iter().chain(&pattern.called_by) {
                assert_eq!(
                    evenkeel_analysis::findings::plumbing::base(function),
                    function,
                    "{at}"
                );
            }
            for advice in &pattern.advice {
                assert!(advice.what.ends_with('.'), "{at}: {}", advice.what);
                assert!(
                    !advice.costs.is_empty() && !advice.costs.ends_with('.'),
                    "{at}"
                );
                assert!(!advice.source.is_empty(), "{at}");
            }
        }
    }
}

/// A finding fits the first pattern that has its function: a later one for the same function and kinds would never be said.
#[test]
fn no_pattern_hides_another() {
    for server in advice::servers() {
        for pattern in &server.patterns {
            let kinds = if pattern.kinds.is_empty() {
                vec![Kind::Call]
            } else {
                pattern.kinds.clone()
            };
            let callers = if pattern.called_by.is_empty() {
                vec![None]
            } else {
                pattern.called_by.iter().cloned().map(Some).collect()
            };
            for function in &pattern.functions {
                for (&kind, called_by) in kinds.iter().zip(callers.iter().cycle()) {
                    let finding = Finding {
                        function: function.clone(),
                        called_by: called_by.clone(),
                        kind,
                        ..Finding::default()
                    };
                    let first = server.pattern(&finding).unwrap();
                    assert_eq!(first.name, pattern.name, "{function} of {}", server.server);
                }
            }
        }
    }
}

/// Whatever weakens a commit or an isolation level is marked, and never comes first.
#[test]
fn what_gives_up_a_guarantee_is_marked() {
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

#[test]
fn rows_of_postgresql() {
    let finding = Finding {
        function: "XactLockTableWait".into(),
        called_by: Some("heap_update".into()),
        kind: Kind::Lock,
        meanwhile: Some(Meanwhile {
            function: "XLogFlush".into(),
            of_time: 0.9,
        }),
        ..Finding::default()
    };
    let known = of(
        "sudo -u postgres /usr/lib/postgresql/15/bin/postgres -D data",
        finding,
    );
    assert_eq!(
        known.means.as_deref(),
        Some(
            "Statements wait for the row's owner, until its transaction ends; the owner meanwhile waits for its commit to reach the log's disk (XLogFlush)"
        )
    );
    assert!(known.advice[0].what.contains("pg_advisory_xact_lock"));
    assert_eq!(known.advice[0].gives_up, None);
}

#[test]
fn names_are_known_without_parameters_and_marks() {
    let commit = Finding {
        function: "MYSQL_BIN_LOG::queue_for_group_commit(MYSQL_BIN_LOG::group_commit_entry*)"
            .into(),
        ..Finding::default()
    };
    assert!(
        of("/usr/sbin/mariadbd --no-defaults", commit)
            .means
            .is_some()
    );
    let inferred = Finding {
        function: "~XLogWrite".into(),
        ..Finding::default()
    };
    assert!(of("postgres", inferred).means.is_some());
}

/// No pattern, no advice; and what is known of one server is not said of another.
#[test]
fn what_is_not_known_is_not_guessed() {
    let function = |name: &str| Finding {
        function: name.into(),
        ..Finding::default()
    };
    for (target, name) in [
        ("postgres", "frobnicate"),
        ("postgres", "0x4751e0"),
        ("postgres", "XLogFlush2"),
        ("postgres", "lock_wait"),
        ("./server", "XLogFlush"),
        ("mariadbd", "XLogFlush"),
        ("", "waiting for a CPU"),
    ] {
        let finding = of(target, function(name));
        assert!(
            finding.advice.is_empty() && finding.means.is_none(),
            "{target}: {name}"
        );
    }
}
