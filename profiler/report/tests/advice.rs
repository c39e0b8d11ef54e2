//! Knowledge about servers is complete, well formed, and silent where nothing is known.

use evenkeel_analysis::findings::{
    Chain, Finding, FindingClass, GivesUp, Holder, IdleInTransaction, Link, Meanwhile, Unnamed,
};
use evenkeel_analysis::profile::{Class, Machine, Node, Profile, RunDetails};
use evenkeel_analysis::sites::Kind;
use evenkeel_analysis::slow::model::SeenInside;
use evenkeel_report::advice::{self, Pattern, Server};

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

/// What most of the time is in may be a wait, though its callers go over rows.
#[test]
fn a_function_without_a_name_is_no_work_of_the_plan() {
    let update = |unnamed: &str, inside: &[&str]| Finding {
        function: "row_upd_clust_step".into(),
        kind: Kind::Call,
        share: 0.7,
        paths: vec!["statement > mysql_update > row_upd_clust_step".into()],
        unnamed: Some(Unnamed {
            function: unnamed.into(),
            of_time: 0.96,
        }),
        seen_inside: Some(SeenInside {
            functions: inside.iter().map(|name| (*name).to_owned()).collect(),
            stacks: 5,
            of_stacks: 5,
            ..SeenInside::default()
        }),
        ..Finding::default()
    };
    let is_known = |unnamed, inside| {
        of("/usr/sbin/mariadbd", update(unnamed, inside))
            .means
            .is_some()
    };
    assert!(!is_known("0xdfc9c0", &[]));
    assert!(!is_known("0xdfc9c0", &["sub_select"]), "which is beside it");
    assert!(is_known("0xdfc9c0", &["0xdfc9c0", "sub_select"]));
    assert!(is_known("(indirect)", &[]), "most plans are called so");
}

/// The statement that locked the tables was not recorded. The one that unlocked them was.
#[test]
fn a_lock_of_all_tables_is_known_by_its_end() {
    let wait = |ended_by: &str| Finding {
        function: "MDL_wait::timed_wait".into(),
        kind: Kind::Lock,
        share: 0.9,
        mean_ns: 1e6,
        calls_mean: 1.0,
        waits_for: vec![
            Holder {
                class: "thread outside of intervals".into(),
                of_time: 0.99,
                function: Some("holder idle in transaction".into()),
                ..Holder::default()
            },
            Holder {
                class: ended_by.into(),
                of_time: 0.01,
                ..Holder::default()
            },
        ],
        ..Finding::default()
    };
    let says = |ended_by| of("/usr/sbin/mariadbd", wait(ended_by)).means.unwrap();
    assert!(says("UNLOCK TABLES").contains("has locked tables"));
    assert!(says("commit").contains("whose transaction is open"));
}

/// Stacks of a wait for the client do not show its kind.
#[test]
fn a_wait_that_is_only_seen_in_stacks_has_its_advice() {
    let write = |seen_only| Finding {
        function: "secure_write".into(),
        kind: Kind::Call,
        share: 0.5,
        seen_only,
        ..Finding::default()
    };
    let means = |finding| of("/usr/sbin/postgres", finding).means;
    let says = means(write(true)).expect("it is known");
    assert!(says.contains("waits for its client"), "{says}");
    assert_eq!(means(write(false)), None, "it is timed, and no wait");
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

/// A general pattern says something only where no other pattern knows a function on the path.
#[test]
fn a_special_pattern_on_the_path_is_said_before_a_general_one() {
    let means = |path: &str| {
        let finding = Finding {
            function: "ExecAgg".into(),
            paths: vec![path.into()],
            ..Finding::default()
        };
        of("postgres", finding).means.unwrap()
    };
    let general = means("statement > PortalRun > ExecAgg");
    assert!(general.contains("more work"), "{general}");
    let special = means("statement > PortalRun > ExecCallTriggerFunc > PortalRun > ExecAgg");
    assert!(special.contains("triggers"), "{special}");
    // Going over rows takes no lock for long.
    let of_scan = |kind, inside: &str| {
        let finding = Finding {
            function: "ExecScan".into(),
            kind,
            mean_ns: 1e6,
            calls_mean: 138.0,
            seen_inside: Some(SeenInside {
                functions: vec![inside.into()],
                stacks: 18,
                of_stacks: 32,
                ..SeenInside::default()
            }),
            ..Finding::default()
        };
        of("postgres", finding).means.unwrap()
    };
    let rows = of_scan(Kind::Call, "SubTransGetTopmostTransaction");
    assert!(rows.contains("many rows"), "{rows}");
    let status = of_scan(Kind::Lock, "SubTransGetTopmostTransaction");
    assert!(status.contains("state of other transactions"), "{status}");
}

/// Work of others during a function's wait is not the function's own work.
#[test]
fn work_of_others_fits_no_pattern_of_own_work() {
    for server in advice::servers() {
        let of_work =
            |pattern: &&Pattern| !pattern.waits && !pattern.waits_only && pattern.kinds.is_empty();
        let of_state = |name: &String| name.contains(' ');
        for pattern in server.patterns.iter().filter(of_work) {
            if pattern.functions.iter().any(of_state) {
                continue; // time that is no function's doing
            }
            for profile in findings_of(pattern) {
                let own = &profile.findings[0];
                let waits = Finding {
                    waits_for: vec![Holder {
                        of_time: 0.6,
                        ..Holder::default()
                    }],
                    ..own.clone()
                };
                let event = Finding {
                    kind: Kind::Event,
                    ..own.clone()
                };
                for other in [waits, event] {
                    let fits = pattern.fits(&profile, &other);
                    assert!(!fits, "{} of {}", pattern.name, server.server);
                }
            }
        }
    }
}

/// Fewer connections are advised where more are active than there are processors. They are not where one class of
/// statements uses the CPU, nor where the number is not known.
#[test]
fn fewer_connections_where_there_are_too_many() {
    let crowded = |processors, classes: &[(u64, f64)]| {
        let class = |&(intervals, mean_ns): &(u64, f64)| Class {
            intervals,
            mean_ns,
            ..Class::default()
        };
        let mut profile = Profile {
            target: "postgres".into(),
            findings: vec![Finding {
                function: "waiting for a CPU".into(),
                kind: Kind::Preempted,
                ..Finding::default()
            }],
            intervals: 8000,
            intervals_seen: 8000,
            mean_ns: 1e6,
            ..Profile::default()
        };
        profile.details.machine = Some(Machine {
            processors,
            seconds: 1.0,
        });
        profile.classes.classes = classes.iter().map(class).collect();
        advice::add(&mut profile);
        profile.findings[0].advice[0].what.contains("connections")
    };
    assert!(crowded(2, &[(8000, 1e6)]));
    assert!(crowded(2, &[(4000, 1e6), (4000, 2e6)]));
    assert!(!crowded(2, &[(7900, 1e5), (100, 5e8)]), "one burns it");
    assert!(!crowded(8, &[(8000, 1e6)]));
    assert!(!crowded(0, &[(8000, 1e6)]), "nobody knows");
}

/// nginx' loop waits for all of its requests at once.
#[test]
fn a_wait_of_the_loop_is_a_wait_for_the_upstream_if_there_is_one() {
    let means = |ran: &str| {
        let mut profile = Profile {
            target: "/usr/sbin/nginx".into(),
            findings: vec![Finding {
                function: "waits: any of several descriptors".into(),
                kind: Kind::Event,
                ..Finding::default()
            }],
            tree: Node {
                name: ran.into(),
                ..Node::default()
            },
            ..Profile::default()
        };
        advice::add(&mut profile);
        profile.findings.remove(0).means.unwrap_or_default()
    };
    assert!(means("ngx_http_upstream_connect").starts_with("The request waits for its upstream"));
    assert!(
        means("ngx_http_log_handler").starts_with("The request's worker is not working for it")
    );
}

/// A remedy is not advised if the profile shows that it is in place.
#[test]
fn followed_advice_is_not_given_again() {
    let of = |function: &str| {
        let mut profile = Profile {
            target: "nginx: worker process".into(),
            findings: vec![Finding {
                function: "ngx_linux_sendfile".into(),
                kind: Kind::Io,
                ..Finding::default()
            }],
            tree: Node {
                name: function.into(),
                ..Node::default()
            },
            ..Profile::default()
        };
        profile.target = "/usr/sbin/nginx".into();
        advice::add(&mut profile);
        let advice = profile.findings.remove(0).advice;
        let mut remedies = advice.iter().map(|remedy| remedy.what.as_str());
        remedies.any(|what| what.contains("aio threads"))
    };
    assert!(of("ngx_read_file") && !of("ngx_linux_sendfile_thread"));
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

#[test]
fn rows_of_postgresql() {
    let finding = Finding {
        function: "XactLockTableWait".into(),
        called_by: Some("heap_update".into()),
        kind: Kind::Lock,
        meanwhile: Some(Meanwhile {
            function: "XLogFlush".into(),
            of_time: 0.9,
            ..Meanwhile::default()
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
    assert!(
        known.advice[0]
            .what
            .starts_with("Hold the row for a shorter time")
    );
    assert!(known.advice[1].what.contains("pg_advisory_xact_lock"));
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
fn unknown_causes_are_not_guessed() {
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

/// What the server was seen to have set already is not advised; an unknown setting changes nothing.
#[test]
fn advice_that_is_followed_already_is_left_out() {
    let cases = [
        (
            "postgres",
            "LWLockAcquireOrWait",
            "synchronous_commit = off",
            ("synchronous_commit", "off", "on"),
        ),
        (
            "postgres",
            "LWLockAcquireOrWait",
            "commit_delay",
            ("commit_delay", "40", "0"),
        ),
        (
            "postgres",
            "SyncRepWaitForLSN",
            "synchronous_commit = local",
            ("synchronous_commit", "local", "remote_apply"),
        ),
        (
            "postgres",
            "llvm_compile_expr",
            "jit = off",
            ("jit", "off", "on"),
        ),
        (
            "mariadbd",
            "MYSQL_BIN_LOG::queue_for_group_commit",
            "sync_binlog = 0",
            ("sync_binlog", "0", "1"),
        ),
        (
            "nginx",
            "ngx_linux_sendfile_chain",
            "aio threads",
            ("aio", "threads", "off"),
        ),
    ];
    for (target, function, advised, (setting, done, open)) in cases {
        let is_advised = |value: Option<&str>| {
            let settings = value.map(|value| (setting.to_owned(), value.to_owned()));
            let mut profile = Profile {
                target: target.into(),
                findings: vec![Finding {
                    function: function.into(),
                    kind: Kind::Call,
                    ..Finding::default()
                }],
                ..Profile::default()
            };
            profile.details.settings = settings.into_iter().collect();
            advice::add(&mut profile);
            let advice = &profile.findings[0].advice;
            advice.iter().any(|advice| advice.what.contains(advised))
        };
        assert!(is_advised(None), "{function}: {advised}");
        assert!(is_advised(Some(open)), "{function}: {advised}");
        assert!(!is_advised(Some(done)), "{function}: {advised}");
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

/// Where the search ends before the command's function, its class says which command it is.
#[test]
fn commands_are_known_by_their_class() {
    let means = |class: &str, share: f64, kind| {
        let class = FindingClass {
            name: class.into(),
            share,
            ..FindingClass::default()
        };
        let finding = Finding {
            function: "call".into(),
            kind,
            share: 0.9,
            classes: vec![class],
            ..Finding::default()
        };
        of("redis-server *:6379", finding).means
    };
    let keys = means("keys", 0.8, Kind::Call).unwrap();
    assert!(keys.contains("goes over many elements"), "{keys}");
    let deleted = means("del", 0.8, Kind::Call).unwrap();
    assert!(deleted.contains("Large values are freed"), "{deleted}");
    for (class, share) in [("keys", 0.3), ("get", 0.8)] {
        let others = means(class, share, Kind::Call).unwrap();
        assert!(others.contains("in the commands themselves"), "{others}");
    }
    assert_eq!(means("keys", 0.8, Kind::Lock), None, "a wait");
}
