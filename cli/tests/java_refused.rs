//! Java programs that cannot be profiled as asked are refused with what to do, and JVMs that forbid agents can start with this one.

mod support;

use std::path::Path;

use support::build::agent;
use support::java::{jdks, version};
use support::planted_java::{INTERVAL, Running, child, compiled, java};
use support::run::finish;

#[test]
fn unprofilable_methods_are_refused_with_a_remedy() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.pid();
        let refused = |interval: &str, more: &[&str], said: &[&str]| {
            let words = ["attach", &pid, "--for", "2s", "--interval", interval];
            let run = place.evenkeel(words.iter().chain(more)).spawn().unwrap();
            finish(run).ended(2).said(said);
        };
        refused(
            "Planted.handel",
            &[],
            &["no code in a method handel", "handle", "throughLambdas"],
        );
        refused(
            "Planted.handle,label=text:1",
            &[],
            &["no argument for label=text:1", "(Ljava/util/Random;)[J"],
        );
        refused(
            INTERVAL,
            &["--manual"],
            &["--manual is for native functions"],
        );
        refused("java.lang.Runnable.run", &[], &["may be abstract"]);
        running.end(&place);
    }
}

/// Whatever the session was at when the JVM ended.
#[test]
fn a_command_that_ends_at_once_is_told_by_its_exit_code() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        for (argument, code) in [("-version", 0), ("NoSuchClass", 1)] {
            let mut command = place.evenkeel(["profile", "--interval", INTERVAL, "--"]);
            command.arg(jdk.join("bin/java")).arg(argument);
            let said = format!("the command ended with exit code {code} before");
            finish(command.spawn().unwrap()).ended(2).said(&[&said]);
        }
    }
}

/// Options with which a JVM takes no agents while it runs.
const FORBIDDING: [&str; 2] = [
    "-XX:+DisableAttachMechanism",
    "-XX:-EnableDynamicAgentLoading",
];

#[test]
fn a_command_that_forbids_agents_to_come_later_starts_with_this_one() {
    for (jdk, option) in jdks()
        .iter()
        .flat_map(|jdk| FORBIDDING.map(|option| (jdk, option)))
    {
        let place = compiled(jdk);
        let words = ["profile", "--for", "3s", "--interval", INTERVAL];
        let words = words.into_iter().chain(["--json", "run.json", "--"]);
        let mut command = place.evenkeel(words);
        command
            .arg(jdk.join("bin/java"))
            .args([option, "-Xmx64m", "-cp", ".", "Planted"])
            .env("UNTIL", place.file("enough"))
            .env("TIMES", place.file("times"));
        let run = finish(command.spawn().unwrap()).ended(0);
        let tree = &place.json("run.json")["tree"];
        assert!(child(tree, "locked").is_some(), "{option}: {run:?}");
    }
}

#[test]
fn a_jvm_that_was_started_with_the_agent_need_not_permit_others() {
    for (jdk, option) in jdks()
        .iter()
        .flat_map(|jdk| FORBIDDING.map(|option| (jdk, option)))
    {
        let place = compiled(jdk);
        let with = |options: &[&str]| {
            let mut command = java(&place, jdk, &[]);
            command.env("JDK_JAVA_OPTIONS", options.join(" "));
            Running::start(command)
        };
        let attach = |running: &Running| {
            let pid = running.pid();
            let words = ["attach", &pid, "--for", "2s", "--interval", INTERVAL];
            finish(place.evenkeel(words).spawn().unwrap())
        };
        // What is refused says how it is permitted.
        let running = with(&[option]);
        let refused = attach(&running).ended(2);
        refused.said(&[option, "-agentpath:", "libevenkeel_agent.so"]);
        running.end(&place);
        std::fs::remove_file(place.file("enough")).unwrap();
        let running = with(&[option, &format!("-agentpath:{}", agent().display())]);
        attach(&running).ended(0);
        attach(&running).ended(0);
        let socket = format!("/tmp/.evenkeel_java_pid{}", running.child.id());
        assert!(Path::new(&socket).exists());
        running.end(&place);
        assert!(!Path::new(&socket).exists());
    }
}

#[test]
fn intervals_on_virtual_threads_are_refused_by_name() {
    for jdk in jdks() {
        // Virtual threads exist from version 21 on.
        let has_them = jdk.join("lib/modules").exists() && version(&jdk) >= Some(21);
        if !has_them {
            continue;
        }
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &["virtual"]));
        let pid = running.pid();
        let words = ["attach", &pid, "--for", "3s", "--interval", INTERVAL];
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(2);
        run.said(&["on virtual threads", "platform threads"]);
        running.end(&place);
    }
}
