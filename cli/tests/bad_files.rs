//! Files that cannot be written, and files that are no recordings: a clear message with the next step, exit code 2.

mod support;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use support::build::{EVENKEEL, program};
use support::run::{Place, Run, as_nobody, finish, lacks_root};

/// Profiles 400 intervals of a program, with these options for the results.
fn profile(place: &Place, options: &[&str]) -> Run {
    let program = program("stages");
    let command = ["--", program.to_str().unwrap(), "400"];
    let profile = ["profile", "--interval", "run_interval"];
    place.run([&profile, options, &command].concat())
}

#[test]
fn results_that_cannot_be_written() {
    for option in ["-o", "--json", "--html"] {
        let place = Place::new();
        let file = "/no/such/directory/file";
        let run = profile(&place, &[option, file]).ended(2).said(&[file]);
        // Found out before the run, not after it: the program did not print its line.
        assert_eq!(run.stdout, "", "{option}: {}", run.stderr);
    }
}

/// Where there is no room for one result there may be for the other.
#[test]
fn one_result_that_cannot_be_written() {
    let place = Place::new();
    let run = profile(&place, &["--json", "/dev/full", "--html", "run.html"]);
    run.ended(2).said(&["/dev/full"]);
    let page = std::fs::read_to_string(place.file("run.html")).unwrap();
    assert!(page.contains("</html>"), "{page}");
}

#[test]
fn a_full_disk_does_not_end_the_run() {
    // /dev/full takes a file's opening and no byte.
    let place = Place::new();
    let run = profile(&place, &["-o", "/dev/full"]);
    assert!(
        run.stdout.starts_with("stages: 400 intervals"),
        "{}",
        run.stderr
    );
    run.said(&["/dev/full"]);
}

#[test]
fn recordings_that_are_none() {
    let place = Place::new();
    place
        .run(["report", "missing.keel"])
        .ended(2)
        .said(&["missing.keel", "No such file"]);
    place
        .run(["report", "/dev/null"])
        .ended(2)
        .said(&["not a recording", "evenkeel profile -o"]);
    std::fs::write(
        place.file("foreign.keel"),
        "PGDMP and so on, for long enough",
    )
    .unwrap();
    place
        .run(["report", "foreign.keel"])
        .ended(2)
        .said(&["not a recording"]);
    place
        .run(["compare", "foreign.keel", "missing.keel"])
        .ended(2)
        .said(&["not a recording"]);
}

#[test]
fn recordings_that_are_damaged_cut_or_newer() {
    let place = Place::new();
    place
        .profile(
            &["--interval", "run_interval"],
            &program("stages"),
            &["400"],
        )
        .ended(0);
    let whole = std::fs::read(place.file("run.keel")).unwrap();
    let write = |bytes: &[u8]| {
        std::fs::File::create(place.file("bad.keel"))
            .unwrap()
            .write_all(bytes)
            .unwrap()
    };

    let mut other = whole.clone();
    other[8] = 200;
    write(&other);
    place
        .run(["report", "bad.keel"])
        .ended(2)
        .said(&["recording format 200", "record again"]);

    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    write(&damaged);
    // In the length of a chunk, damage reads as a cut.
    let run = place.run(["report", "bad.keel"]);
    match run.code {
        Some(2) => drop(run.said(&["damaged at byte"])),
        _ => assert!(
            run.stdout.contains("ends early"),
            "{}{}",
            run.stdout,
            run.stderr
        ),
    }

    // Cut in the middle: what is there is shown, with a warning.
    write(&whole[..whole.len() - 5]);
    let run = place.run(["report", "bad.keel"]).ended(0);
    assert!(run.stdout.contains("ends early"), "{}", run.stdout);
    // Cut before the first record: nothing to show.
    write(&whole[..16]);
    place
        .run(["report", "bad.keel"])
        .ended(2)
        .said(&["no complete interval", "record for longer"]);
}

#[test]
fn a_recording_of_another_user() {
    if lacks_root("act as somebody else") {
        return;
    }
    let place = Place::new();
    std::fs::set_permissions(place.file(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(place.file("secret.keel"), "secret").unwrap();
    std::fs::set_permissions(
        place.file("secret.keel"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    // A copy, since nobody may not reach the directory of the build.
    let copy = place.file("evenkeel");
    std::fs::copy(EVENKEEL, &copy).unwrap();
    let run = finish(
        as_nobody(place.command(&copy).args(["report", "secret.keel"]))
            .spawn()
            .unwrap(),
    );
    run.ended(2).said(&["secret.keel", "permission denied"]);
}

/// One experiment does not take the place of those in a document whose results are not here.
#[test]
fn a_document_of_other_experiments() {
    let place = Place::new();
    let document = || std::fs::read_to_string(place.file("RESULTS.md")).unwrap();
    for earlier in ["", "# Results\n", "# Results\n\n## Figure 99\n"] {
        std::fs::write(place.file("RESULTS.md"), earlier).unwrap();
        for _ in 0..2 {
            let run = place.run(["experiments", "theorem-4.2"]).ended(0);
            if earlier.contains("## ") {
                run.said(&["RESULTS.md is not changed", "--document"]);
                assert_eq!(document(), earlier);
            } else {
                assert!(document().contains("Theorem 4.2"), "{}", document());
            }
        }
    }
}
