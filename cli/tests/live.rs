//! The live view in a real terminal: tmux keeps the screen, the test types and reads it.

mod support;

use std::process::Command;

use support::build::{EVENKEEL, agent, program};
use support::run::{Place, eventually, signal};

/// A terminal in which a command runs.
struct Tmux {
    place: Place,
    socket: String,
}

impl Tmux {
    /// Runs `evenkeel` with the stages program under it, on 80 columns and 24 lines. Its exit code is printed at the end.
    fn start(options: &str, variables: &str) -> Tmux {
        let place = Place::new();
        let socket = place.file("tmux").display().to_string();
        let stages = program("stages");
        let script = format!(
            "{variables} {EVENKEEL} profile --live --interval run_interval {options} -- {} 1000000000; echo \"ended with $?\"; read -r _",
            stages.display()
        );
        let tmux = Tmux { place, socket };
        tmux.run(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            &script,
        ]);
        tmux
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(arguments);
        command
            .env("EVENKEEL_AGENT", agent())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("NO_COLOR")
            .current_dir(self.place.file(""));
        let output = command.output().expect("tmux is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    fn resize(&self, width: &str, height: &str) {
        self.run(&["resize-window", "-x", width, "-y", height]);
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// The screen, once it shows all of `texts`.
    #[track_caller]
    fn shows(&self, texts: &[&str]) -> String {
        let mut screen = String::new();
        let shown = eventually(|| {
            screen = self.screen();
            texts.iter().all(|text| screen.contains(text))
        });
        assert!(shown, "{texts:?} is not all in:\n{screen}");
        screen
    }

    /// The report, after q.
    #[track_caller]
    fn quit(&self) -> String {
        self.press("q");
        self.shows(&["ended with "]);
        self.run(&["capture-pane", "-p", "-S", "-"])
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn panes_sizes_and_the_report() {
    let tmux = Tmux::start("--max-overhead 100%", "");
    tmux.shows(&[
        "1 Findings",
        "run_interval  in ",
        "mean ",
        " intervals",
        "q report",
    ]);
    tmux.press("2");
    tmux.shows(&["run_interval", "stage_a", "100.0 %"]);
    tmux.press("3");
    tmux.shows(&["p99 of what ended", "█"]);
    tmux.press("4");
    tmux.shows(&["waits are not followed: run with --waits"]);
    tmux.press("5");
    tmux.shows(&["profiling (the first process was ready"]);
    tmux.resize("30", "5");
    tmux.shows(&["40 x 8 needed"]);
    tmux.resize("140", "44");
    tmux.shows(&[" Findings ", " Tree ", " Latency ", "stage_a"]);
    tmux.resize("80", "24");
    let report = tmux.quit();
    for text in ["ended with 0", "VARIANCE TREE", "closure", "stage_a"] {
        assert!(report.contains(text), "{text} is not in:\n{report}");
    }
    assert!(
        !report.contains("q report"),
        "the screen was given back:\n{report}"
    );
}

#[test]
fn functions_are_opened_and_closed_by_hand() {
    let tmux = Tmux::start("--manual --max-overhead 100%", "");
    tmux.shows(&["1 Findings", "mean "]);
    tmux.press("2");
    let screen = tmux.shows(&["o expand  c close", "+ "]);
    let rows = |screen: &str| -> Vec<String> {
        let rows = screen.lines().filter(|line| line.contains(" %"));
        rows.skip(1).map(str::to_owned).collect()
    };
    let before = rows(&screen);
    let offered = before.iter().position(|row| row.contains("+ ")).unwrap();
    for _ in 0..offered {
        tmux.press("Down");
    }
    tmux.press("o");
    // What is open is offered no longer.
    let name = before[offered]
        .split("+ ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let mut screen = String::new();
    let opened = eventually(|| {
        screen = tmux.screen();
        let row = rows(&screen).into_iter().find(|row| row.contains(name));
        row.is_some_and(|row| !row.contains("+ "))
    });
    assert!(opened, "{name} is still offered:\n{screen}");
    assert!(tmux.quit().contains("ended with 0"));
}

#[test]
fn no_colour_when_asked() {
    for (variables, coloured) in [("", true), ("NO_COLOR=1", false)] {
        let tmux = Tmux::start("", variables);
        tmux.shows(&["1 Findings", "mean "]);
        tmux.press("2");
        tmux.shows(&["100.0 %"]);
        let screen = tmux.run(&["capture-pane", "-p", "-e"]);
        // One of eight colours, or one of a palette, as the terminal's description says.
        let eight = (30..38).any(|colour| screen.contains(&format!("\x1b[{colour}m")));
        let has = eight || screen.contains("\x1b[38;5;");
        assert_eq!(has, coloured, "{screen:?}");
        tmux.quit();
    }
}

/// Ctrl-C is a key on such a screen, and ends the run like q.
#[test]
fn ctrl_c_ends_with_the_report() {
    let tmux = Tmux::start("", "");
    tmux.shows(&["1 Findings", "mean "]);
    tmux.press("C-c");
    let screen = tmux.shows(&["ended with 0"]);
    assert!(!screen.contains("q report"), "{screen}");
}

/// As a shell stops it, takes the terminal for itself and writes on it, before `fg`.
#[test]
fn a_view_that_was_stopped_is_whole_again() {
    let tmux = Tmux::start("", "");
    tmux.shows(&["1 Findings", "mean "]);
    let pane = tmux.run(&["display-message", "-p", "#{pane_pid} #{pane_tty}"]);
    let (pane, tty) = pane.trim().split_once(' ').unwrap();
    let name = |pid: &String| std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let mut ours = descendants(pane).into_iter();
    let profiler = ours.find(|pid| name(pid).is_ok_and(|name| name.trim_end() == "evenkeel"));
    let profiler = profiler.unwrap().parse().unwrap();
    signal(profiler, libc::SIGSTOP);
    let script = format!("stty -F {tty} sane; printf '\\033[Hrubbish' > {tty}");
    let shell = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(shell.success());
    tmux.shows(&["rubbish"]);
    signal(profiler, libc::SIGCONT);
    let gone = || !tmux.screen().contains("rubbish");
    assert!(eventually(gone), "{}", tmux.screen());
    // One key, without Enter.
    let report = tmux.quit();
    assert!(report.contains("VARIANCE TREE"), "{report}");
}

/// Both end: the profiler, and the program that nobody could end any more, even if it ignores the hang-up.
#[test]
fn a_terminal_that_is_gone_ends_the_run() {
    for shell in ["", "trap '' HUP;"] {
        let tmux = Tmux::start("", shell);
        tmux.shows(&["1 Findings", "mean "]);
        let pane = tmux.run(&["display-message", "-p", "#{pane_pid}"]);
        let ours = descendants(pane.trim());
        assert!(ours.len() >= 2, "{ours:?}");
        tmux.run(&["kill-server"]);
        let ended = eventually(|| ours.iter().all(|pid| !lives(pid)));
        assert!(ended, "{shell} {ours:?}");
    }
}

/// The process with this number and all below it.
fn descendants(pid: &str) -> Vec<String> {
    let mut all = vec![pid.to_owned()];
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        all.extend(descendants(child));
    }
    all
}

fn lives(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn live_is_refused_without_a_terminal() {
    let place = Place::new();
    let stages = program("stages");
    place
        .run([
            "profile",
            "--live",
            "--interval",
            "run_interval",
            "--",
            stages.to_str().unwrap(),
            "10",
        ])
        .ended(2)
        .said(&["--live needs a terminal"]);
}
