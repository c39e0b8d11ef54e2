//! Two recordings side by side: what was changed on purpose is found as the change.

use serde_json::Value;

use super::expect::{number, quiet};
use crate::support::build::own_program;
use crate::support::run::Place;

/// One stage of two takes three times as long in the second build; the number of intervals is the argument.
const SOURCE: &str = "// build: gcc -O1 -g changes.c
#include <stdlib.h>
#include <x86intrin.h>
#define FUNCTION __attribute__((noinline, noipa))
static void spin(unsigned long ticks) { unsigned long begin = __rdtsc(); while (__rdtsc() - begin < ticks) {} }
FUNCTION int same(int i) { spin(i & 1 ? 60000 : 20000); return i; }
FUNCTION int changed(int i, int times) { spin(i & 2 ? 100000 * times : 20000); return i; }
volatile int sink;
FUNCTION void run_interval(int i, int times) { sink = i; sink = same(i); sink = changed(i, times); }
int main(int argc, char **argv) { for (int i = 0; argc > 2 && i < atoi(argv[1]); i++) run_interval(i, atoi(argv[2])); }
";

#[test]
fn the_changed_stage_shows_as_the_change() {
    let place = Place::new();
    let program = own_program("changes", SOURCE);
    {
        let _quiet = quiet();
        for (times, recording) in [("1", "before.keel"), ("9", "after.keel")] {
            let options = [
                "profile",
                "--interval",
                "run_interval",
                "-o",
                recording,
                "--",
            ];
            let words = options
                .into_iter()
                .chain([program.to_str().unwrap(), "2000", times]);
            place.run(words).ended(0);
        }
    }
    let compared = place
        .run(["compare", "before.keel", "after.keel", "--json"])
        .ended(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let mean = compared["latency"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["name"] == "mean")
        .unwrap();
    // 40,000 + 60,000 ticks before, 40,000 + 460,000 after, and whatever noise adds to either.
    assert!(
        number(mean, "after_ns") > 1.5 * number(mean, "before_ns"),
        "{mean}"
    );

    let same = place
        .run(["compare", "before.keel", "before.keel", "--json"])
        .ended(0);
    let same: Value = serde_json::from_str(&same.stdout).unwrap();
    for line in same["latency"].as_array().unwrap() {
        assert_eq!(number(line, "change_fraction"), 0.0, "{line}");
    }
    let text = place
        .run(["compare", "before.keel", "after.keel"])
        .ended(0)
        .stdout;
    assert!(text.contains("changed"), "{text}");
    place
        .run([
            "compare",
            "before.keel",
            "after.keel",
            "--html",
            "change.html",
        ])
        .ended(0);
    let page = std::fs::read_to_string(place.file("change.html")).unwrap();
    assert!(
        page.contains("<html") && !page.contains("src=\"http"),
        "one page, nothing from elsewhere"
    );
}
