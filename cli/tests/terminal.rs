//! The user's view: help with examples, and progress and colour on a terminal and nowhere else.

mod support;

use std::path::Path;
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
        if screen.contains(" records") && screen.contains("nothing left to expand") {
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

/// Bytes of a file that takes long enough to read for a line of progress.
const LARGE: usize = 13 << 20;

/// A recording that is large because it says again and again where a site is, which changes nothing.
fn large_recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../profiler/recording/tests/recordings/postgres-transaction.keel");
    let recording = std::fs::read(path).unwrap();
    let length = |at: usize| {
        let body = recording[at + 1..at + 5].try_into().unwrap();
        9 + u32::from_le_bytes(body) as usize
    };
    let mut at = 16;
    while recording[at] != b'S' {
        at += length(at);
    }
    let site = &recording[at..at + length(at)];
    let (before, rest) = recording.split_at(at);
    [before, &site.repeat(LARGE / site.len()), rest].concat()
}

/// A file of traces of one span each, with much that nobody wants to know.
fn large_traces() -> String {
    let much = "x".repeat(4000);
    let document = |number: usize| {
        let start = 1_700_000_000_000_000_000 + 1_000_000 * number;
        let end = start + 500_000 + number % 1000;
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{:032x}","spanId":"{:016x}","name":"get","kind":2,
               "startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":[{{"key":"body","value":{{"stringValue":"{much}"}}}}]}}]}}]}}]}}"#,
            number + 1,
            number + 1
        ).replace('\n', " ") + "\n"
    };
    (0..LARGE / much.len()).map(document).collect()
}

/// On a terminal, long reading shows how much is left.
#[test]
fn long_reading_says_how_much_is_left() {
    let place = Place::new();
    let recording = large_recording();
    for name in ["one.keel", "two.keel"] {
        std::fs::write(place.file(name), &recording).unwrap();
    }
    std::fs::write(place.file("traces.json"), large_traces()).unwrap();
    // Named, and how many bytes are read in all: of several recordings each twice, and once more to be copied.
    let mebibytes = |times: usize| {
        let bytes = (times * recording.len()) as f64 / f64::from(1 << 20);
        format!("of {bytes:.2} MiB, ")
    };
    let commands = [
        ("report one.keel", "one.keel: reading", mebibytes(1)),
        (
            "report one.keel two.keel",
            "2 recordings: reading",
            mebibytes(4),
        ),
        (
            "merge one.keel two.keel -o both.keel",
            "2 recordings: reading",
            mebibytes(6),
        ),
        (
            "export one.keel --format folded",
            "one.keel: reading",
            mebibytes(1),
        ),
        (
            "export one.keel --format parquet -o tables",
            "one.keel: reading",
            mebibytes(2),
        ),
        (
            "compare one.keel two.keel",
            "two.keel: reading",
            mebibytes(1),
        ),
        (
            "spans traces.json",
            "traces.json: reading",
            "MiB, ".to_owned(),
        ),
    ];
    for (command, named, bytes) in commands {
        let terminal = Terminal::open();
        let child = terminal.start(&mut place.evenkeel(command.split(' ')));
        let (code, screen) = terminal.watch(child);
        assert_eq!(code, Some(0), "{command}: {screen}");
        let line = screen.split('\r').find(|line| line.contains(named));
        let line = line.unwrap_or_else(|| panic!("{command}: {screen}"));
        for part in [bytes.as_str(), "━", " left"] {
            assert!(line.contains(part), "{command}: {part:?} in {line}");
        }
        // It goes away before anything else is printed.
        let after = screen.rsplit('\r').next().unwrap();
        assert!(!after.contains(" left"), "{command}: {after}");

        let piped = place.run(command.split(' ')).ended(0);
        assert!(
            !piped.stderr.contains(['\r', '\x1b', '━']),
            "{command}: {}",
            piped.stderr
        );
    }
}

/// A full disk at standard output ends the command with a message.
#[test]
fn a_full_disk() {
    let place = Place::new();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../profiler/recording/tests/recordings/postgres-rows.keel");
    std::fs::copy(recording, place.file("run.keel")).unwrap();
    for arguments in [
        "report run.keel",
        "report run.keel --json",
        "compare run.keel run.keel",
        "export run.keel --format csv",
        "doctor",
        "completions bash",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = place.evenkeel(arguments.split(' '));
        command.stdout(full.unwrap());
        finish(command.spawn().unwrap())
            .ended(2)
            .said(&["cannot write standard output", "No space left"]);
    }
}

/// Messages are lost, the results are not: the exit code, and what goes to standard output.
#[test]
fn a_full_disk_below_standard_error_ends_nothing() {
    let place = Place::new();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../profiler/recording/tests/recordings/postgres-rows.keel");
    std::fs::copy(recording, place.file("run.keel")).unwrap();
    for (arguments, code) in [
        ("report run.keel", 0),
        ("report missing.keel", 2),
        ("merge run.keel run.keel -o all.keel", 2),
        ("export run.keel --format parquet -o tables", 0),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = place.evenkeel(arguments.split(' '));
        command.stderr(full.unwrap());
        finish(command.spawn().unwrap()).ended(code);
    }
}
