//! `tests/java/Planted.java` under test: started, attached to, ended, and its own measurement.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::java::compile_with;
use super::run::Place;

/// Its interval.
pub const INTERVAL: &str = "Planted.handle";

/// A place with the program, compiled.
pub fn compiled(jdk: &Path) -> Place {
    let place = Place::new();
    compile_with(&place, jdk, "Planted.java", ".");
    place
}

/// The command line of the program.
pub fn java(place: &Place, jdk: &Path, arguments: &[&str]) -> Command {
    let mut command = place.command(jdk.join("bin/java"));
    command
        .args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Planted"])
        .args(arguments)
        .env("UNTIL", place.file("enough"))
        .env("TIMES", place.file("times"))
        // The place may be in memory.
        .env(
            "FORCED",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("forced"),
        );
    command
}

/// The program's own measurement: the nanoseconds of each interval's stages, in order.
#[track_caller]
pub fn measured(place: &Place) -> Vec<[i64; 5]> {
    let text = std::fs::read_to_string(place.file("times")).expect("the program has ended");
    let stages = |line: &str| {
        let times = line.split(' ').map(|time| time.parse().expect("a number"));
        let times: Vec<i64> = times.collect();
        times.try_into().expect("five stages")
    };
    text.lines().map(stages).collect()
}

/// The node of a method directly below another.
pub fn child<'a>(node: &'a Value, method: &str) -> Option<&'a Value> {
    let name = format!("Planted.{method}");
    let children = node["children"].as_array()?;
    children.iter().find(|child| child["name"] == *name)
}

/// The program, which is ready.
pub struct Running {
    pub child: Child,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        command.stderr(Stdio::null());
        let mut child = command.spawn().expect("java starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("java prints");
        assert!(line.starts_with("ready "), "{line}");
        Running { child }
    }

    /// Its process id, as the command line takes it.
    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Lets it end, which it does only where nothing has harmed it.
    pub fn end(mut self, place: &Place) {
        std::fs::write(place.file("enough"), "").unwrap();
        assert!(self.child.wait().expect("it ends").success());
        assert!(!measured(place).is_empty());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
