//! `evenkeel simulate`, end to end: its three formats agree, one seed gives one result, plots are drawn, and wrong
//! input is refused with the next step.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::run::{Run, finish};
use support::terminal::Terminal;
use tempfile::TempDir;

/// `evenkeel simulate` with the words of `line`, in its own folder.
fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .arg("simulate")
        .args(line.split_whitespace())
        .current_dir(folder);
    command
}

fn simulate_in(folder: &Path, line: &str) -> Run {
    let mut command = command(folder, line);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(command.spawn().unwrap())
}

/// The output; standard error is empty, because progress is for terminals only.
#[track_caller]
fn simulate(line: &str) -> String {
    let run = simulate_in(folder().path(), line).ended(0);
    assert_eq!(run.stderr, "", "{line}");
    run.stdout
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

const SMALL: &str = "--sweep clients=5,20 --schedule fifo,ldsf,bldsf:f4,ldaf --transactions 500";

#[test]
fn a_sweep_prints_a_block_for_each_value_with_a_line_for_each_schedule() {
    let text = simulate(SMALL);
    let blocks: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(blocks.len(), 2, "{text}");
    for (block, title) in blocks.iter().zip(["clients = 5", "clients = 20"]) {
        let first_words: Vec<&str> = block
            .lines()
            .map(|line| line.split("  ").next().unwrap())
            .collect();
        assert_eq!(
            first_words,
            [title, "schedule", "fifo", "ldsf", "bldsf:f4", "ldaf"],
            "{text}"
        );
    }
}

#[test]
fn json_has_the_stable_fields_and_csv_the_same_numbers() {
    let lines = json_lines(&simulate(&format!("{SMALL} --json")));
    assert_eq!(lines.len(), 8);
    for line in &lines {
        for field in [
            "mean",
            "sd",
            "p50",
            "p95",
            "p99",
            "p999",
            "max",
            "throughput",
            "queue_mean",
        ] {
            assert!(
                line[field].as_f64().is_some_and(|value| value >= 0.0),
                "{field}: {line}"
            );
        }
        for field in ["deadlocks", "in_flight_max", "decisions"] {
            assert!(line[field].is_u64(), "{field}: {line}");
        }
        assert_eq!(line["count"], 500);
        assert_eq!(line["config"]["arrivals"], "closed");
    }
    assert_eq!(lines[0]["config"]["clients"], 5);
    assert_eq!(lines[7]["config"]["clients"], 20);
    assert_eq!(lines[2]["schedule"], "bldsf:f4");

    let text = simulate(&format!("{SMALL} --csv"));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!(rows.len(), 9);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    for (row, line) in rows[1..].iter().zip(&lines) {
        assert_eq!(row[column("schedule")], line["schedule"].as_str().unwrap());
        assert_eq!(
            row[column("value")].parse::<u64>().ok(),
            line["config"]["clients"].as_u64()
        );
        for field in ["mean", "throughput", "p999", "deadlocks"] {
            assert_eq!(
                row[column(field)].parse::<f64>().ok(),
                line[field].as_f64(),
                "{field}"
            );
        }
    }
}

#[test]
fn one_seed_gives_one_result_on_any_number_of_threads() {
    let line = "--clients 30 --transactions 500 --json";
    let once = simulate(&format!("{line} --threads 1"));
    assert_eq!(once, simulate(&format!("{line} --threads 3")));
    assert_ne!(once, simulate(&format!("{line} --seed 2")));
    // Every schedule, each once.
    let names: Vec<String> = json_lines(&once)
        .iter()
        .map(|line| line["schedule"].as_str().unwrap().to_owned())
        .collect();
    for name in ["fifo", "vats", "ldsf", "bldsf", "hldsf", "edsf", "ldaf"] {
        assert_eq!(
            names.iter().filter(|&known| known == name).count(),
            1,
            "{names:?}"
        );
    }
}

#[test]
fn several_seeds_give_their_mean_and_a_half_width() {
    let line = "--clients 30 --transactions 500 --schedule fifo,ldsf --json";
    let together = json_lines(&simulate(&format!(
        "{line} --seeds 3 --seed 4 --baseline ldsf"
    )));
    let means: Vec<f64> = (4..7)
        .map(|seed| {
            json_lines(&simulate(&format!("{line} --seed {seed}")))[0]["mean"]
                .as_f64()
                .unwrap()
        })
        .collect();
    let mean = means.iter().sum::<f64>() / 3.0;
    let found = together[0]["mean"].as_f64().unwrap();
    assert!((found - mean).abs() < 1e-9 * mean, "{found} {mean}");
    // Student's t for 95 % and two degrees of freedom is 4.303.
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let half_width = 4.303 * (squares / 2.0 / 3.0).sqrt();
    let found = together[0]["half_widths"]["mean"].as_f64().unwrap();
    assert!(
        (found - half_width).abs() < 1e-9 * half_width,
        "{found} {half_width}"
    );
    assert_eq!(
        (&together[0]["seeds"], &together[0]["count"]),
        (&3.into(), &1500.into())
    );
    // The baseline is 1 relative to itself and keeps all of its gain.
    let itself = &together[1]["relative"];
    assert_eq!(
        (&itself["to"], &itself["p999"]["ratio"]),
        (&"ldsf".into(), &1.0.into())
    );
    assert_eq!(itself["gain_kept"], 1.0);
    assert!(
        together[0]["relative"]["mean"]["low"].as_f64()
            < together[0]["relative"]["mean"]["high"].as_f64()
    );
    assert!(
        simulate(&line.replace("--json", "--seeds 2 --baseline ldsf")).contains("relative to ldsf")
    );
}

#[test]
fn loads_are_fractions_of_one_rate() {
    let line = "--load 0.4,0.8 --order hashed --schedule fifo --transactions 1000 --json";
    let lines = json_lines(&simulate(line));
    let [low, high] = [&lines[0], &lines[1]].map(|line| {
        let config = &line["config"];
        (
            config["load"].as_f64().unwrap(),
            config["rate"].as_f64().unwrap(),
        )
    });
    assert_eq!((low.0, high.0), (0.4, 0.8));
    assert!((high.1 / low.1 - 2.0).abs() < 1e-9, "{lines:?}");
    // At 0.8 of what it carries FIFO carries everything.
    assert_eq!(lines[1]["rejected"], 0);
    let tpcc = "--preset tpcc --warehouses 2 --load 0.5 --schedule fifo --transactions 300 --json";
    let lines = json_lines(&simulate(tpcc));
    assert_eq!(
        (&lines[0]["config"]["load"], &lines[0]["count"]),
        (&0.5.into(), &300.into())
    );
}

#[test]
fn presets_have_their_classes() {
    for (preset, classes) in [
        ("htap", &["short", "long"][..]),
        (
            "tpcc",
            &[
                "new-order",
                "payment",
                "order-status",
                "delivery",
                "stock-level",
            ],
        ),
    ] {
        let line =
            format!("--preset {preset} --clients 20 --transactions 1000 --schedule ldsf --json");
        let lines = json_lines(&simulate(&line));
        let names: Vec<&str> = lines[0]["classes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|class| class["class"].as_str().unwrap())
            .collect();
        assert_eq!(names, classes);
    }
}

#[test]
fn plots_are_drawn_as_svg_and_html() {
    let folder = folder();
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    simulate_in(folder.path(), &format!("{SMALL} --plot f.svg")).ended(0);
    let svg = file("f.svg");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    for name in [
        "fifo",
        "ldsf",
        "bldsf:f4",
        "ldaf",
        "clients",
        "99.9th percentile",
    ] {
        assert!(svg.contains(name), "{name}");
    }
    // Four panels with a curve for each of four schedules.
    assert_eq!(svg.matches("<path class=\"curve\"").count(), 16);

    let printed = simulate_in(folder.path(), &format!("{SMALL} --plot f.html"))
        .ended(0)
        .stdout;
    let html = file("f.html");
    assert!(
        html.starts_with("<!doctype html>") && html.contains("<svg"),
        "{html}"
    );
    let cells = printed.lines().flat_map(|line| line.split("  "));
    for cell in cells.map(str::trim).filter(|cell| !cell.is_empty()) {
        assert!(
            html.contains(&format!(">{cell}<")),
            "{cell} is not on the page"
        );
    }
}

#[test]
fn recorded_work_is_read_from_a_file() {
    let folder = folder();
    std::fs::write(folder.path().join("work.txt"), "1000000*3, 2000000").unwrap();
    let line = "--work work.txt --clients 1 --locks 1 --transactions 2000 --schedule fifo --json";
    let run = simulate_in(folder.path(), line).ended(0);
    // A lone client waits for nobody: its latency is the work, 1 ms three times in four and 2 ms else. The standard
    // error of the mean of 2000 is 0.01 ms.
    let mean = json_lines(&run.stdout)[0]["mean"].as_f64().unwrap();
    assert!((mean - 1.25e6).abs() < 0.05e6, "{mean}");
}

#[test]
fn wrong_input_is_refused_with_the_next_step() {
    for (line, words) in [
        (
            "--schedule fast",
            &["no schedule `fast`", "fifo, random, rs, vats"][..],
        ),
        (
            "--sweep colour=1",
            &["`colour` cannot be varied", "clients"],
        ),
        ("--sweep clients=9..1:1", &["goes up"]),
        ("--sweep clients=0.5", &["clients is a whole number"]),
        ("--clients 5 --rate 5", &["cannot be used with"]),
        ("--json --csv", &["cannot be used with"]),
        ("--clients 0", &["number of clients must be above 0"]),
        ("--rate=-1", &["the rate must be above 0"]),
        ("--theta 11", &["theta 11", "give 0 to 10"]),
        ("--work missing.txt", &["cannot read missing.txt"]),
        ("--work pareto:1ms:1", &["only above 1"]),
        ("--plot picture.png", &["picture.png", ".svg or .html"]),
        ("--bursts 4:50", &["add --rate or --load"]),
        ("--seeds 0", &["--seeds"]),
        (
            "--baseline ldsf --schedule fifo",
            &["the baseline ldsf is not simulated", "--schedule"],
        ),
        ("--preset tpcc --order hashed", &["--warehouses"]),
        ("--warehouses 5", &["--preset tpcc"]),
        ("--backoff 0", &["back-off must be at least one tick"]),
    ] {
        let run = simulate_in(folder().path(), line).ended(2).said(words);
        assert_eq!(run.stdout, "", "{line}");
    }
}

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_anything_is_simulated() {
    let line = "--clients 5 --transactions 100 --schedule fifo --plot missing/f.svg";
    let run = simulate_in(folder().path(), line)
        .ended(2)
        .said(&["cannot write missing/f.svg", "check the directory"]);
    assert_eq!(run.stdout, "");
}

/// Long enough for the line of progress to be written again and again.
#[test]
fn progress_is_shown_on_a_terminal_and_wiped_at_the_end() {
    let terminal = Terminal::open();
    let line = "--clients 100 --transactions 200000 --schedule fifo,vats --order hashed";
    let child = terminal.start(&mut command(folder().path(), line));
    let (code, screen) = terminal.watch(child);
    assert_eq!(code, Some(0), "{screen}");
    let wiped = "\r\x1b[2K";
    let progress = screen
        .rfind("simulating ")
        .unwrap_or_else(|| panic!("no progress: {screen}"));
    let results = screen.find("schedule").unwrap();
    assert!(screen[progress..results].contains(wiped), "{screen:?}");
}
