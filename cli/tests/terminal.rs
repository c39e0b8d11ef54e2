//! What a person sees: help with examples, progress and colour on a terminal and nowhere else.

mod support;

use std::process::Stdio;

use support::build::{EVENKEEL, program};
use support::run::{Place, finish};
use support::terminal::Terminal;

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::new();
    let help = place.run(["--help"]).ended(0).stdout;
    assert!(help.contains("Exit codes"), "{help}");
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&command| command != "help")
        .collect();
    assert!(
        ["profile", "report", "compare"]
            .iter()
            .all(|command| commands.contains(command)),
        "{commands:?}"
    );
    for command in commands {
        let help = place.run([command, "--help"]).ended(0).stdout;
        assert!(
            help.contains("Example") && help.contains(&format!("evenkeel {command}")),
            "{command}: {help}"
        );
    }
    place.run(["profil"]).ended(2).said(&["profile"]);
    assert!(
        place
            .run(["--version"])
            .ended(0)
            .stdout
            .starts_with("evenkeel ")
    );
}

/// Runs the stages program under `evenkeel` on a terminal; everything that appeared there.
fn on_terminal(place: &Place, variables: &[(&str, &str)]) -> String {
    let terminal = Terminal::open();
    let mut command = place.evenkeel([
        "profile",
        "--interval",
        "run_interval",
        "--",
        program("stages").to_str().unwrap(),
        "500",
    ]);
    let enough = place.file("enough");
    command.env("UNTIL", &enough);
    command.envs(variables.iter().copied());
    let child = terminal.start(&mut command);
    // Until the line of progress has moved, and something was found.
    let (code, screen) = terminal.watch_until(child, |screen| {
        if screen.contains(" records") && screen.contains("nothing left to open") {
            std::fs::write(&enough, "").unwrap();
        }
    });
    assert_eq!(code, Some(0), "{screen}");
    place.assert_nothing_left();
    screen
}

#[test]
fn progress_and_colour_on_a_terminal() {
    let screen = on_terminal(&Place::new(), &[]);
    assert!(
        screen.contains("\r\x1b[2K") && screen.contains(" records"),
        "a line that moves: {screen}"
    );
    assert!(
        screen.contains("\x1b[1m") || screen.contains("\x1b[3"),
        "colour: {screen}"
    );
}

#[test]
fn no_colour_when_asked() {
    let screen = on_terminal(&Place::new(), &[("NO_COLOR", "1")]);
    // A colour is a control sequence that ends in m; others move the cursor or clear a line.
    let colours = screen.split("\x1b[").skip(1).filter(|rest| {
        let end = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        end.starts_with('m')
    });
    assert_eq!(colours.count(), 0, "{screen:?}");
}

#[test]
fn neither_in_a_pipe() {
    let place = Place::new();
    let run = place
        .profile(
            &["--interval", "run_interval"],
            &program("stages"),
            &["1500"],
        )
        .ended(0);
    assert!(!run.stderr.contains(['\x1b', '\r']), "{:?}", run.stderr);
    assert!(
        run.stdout.starts_with("stages: 1500 intervals"),
        "the target's own output and nothing else: {}",
        run.stdout
    );
    assert_eq!(run.stdout.lines().count(), 1);
    let report = place.run(["report", "run.keel"]).ended(0);
    assert!(
        !report.stdout.contains('\x1b') && report.stderr.is_empty(),
        "{:?}",
        report
    );
}

#[test]
fn a_reader_that_goes_away() {
    let place = Place::new();
    place
        .profile(
            &["--interval", "run_interval"],
            &program("stages"),
            &["400"],
        )
        .ended(0);
    for arguments in [
        "report run.keel --json",
        "report run.keel",
        "compare run.keel run.keel --json",
    ] {
        let pipe = format!(
            "exec 3>&1; {{ {EVENKEEL} {arguments}; echo \"code $?\" >&2; }} | head -n 1 >/dev/null"
        );
        let mut shell = place.command("sh");
        shell.args(["-c", &pipe]).stdout(Stdio::null());
        let run = finish(shell.spawn().unwrap());
        let said: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| !line.starts_with("code "))
            .collect();
        assert!(said.is_empty(), "{arguments}: {}", run.stderr);
    }
}

#[test]
fn json_on_standard_output() {
    let place = Place::new();
    let program = program("stages");
    let run = place
        .run([
            "profile",
            "--interval",
            "run_interval",
            "--json",
            "-",
            "--",
            program.to_str().unwrap(),
            "400",
        ])
        .ended(0);
    let (line, json) = run.stdout.split_once('\n').unwrap();
    assert!(line.starts_with("stages: 400 intervals"), "{line}");
    let profile: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(profile["intervals_seen"], 400);
}
