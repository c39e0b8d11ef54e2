//! Which pattern a finding has, if any, and what is left of its advice.

use evenkeel_analysis::findings::{Finding, FindingClass, Holder, Meanwhile, Unnamed};
use evenkeel_analysis::profile::{Class, Machine, Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_analysis::slow::model::SeenInside;
use evenkeel_report::advice::{self, Pattern};

use super::findings_of;

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
