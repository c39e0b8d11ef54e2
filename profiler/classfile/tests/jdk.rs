//! Rewritten programs behave as before, on every JDK of this machine; skipped without a JDK.

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use evenkeel_classfile::{Class, Plan, Reason};
use support::{Jdk, everything, jdks, rewrite, source};

/// Directories for one test on one JDK: the probes' class, and the program's classes.
struct Place {
    _directory: tempfile::TempDir,
    helper: PathBuf,
    classes: PathBuf,
}

impl Place {
    /// Compiles a program, together with the probes' class.
    fn new(jdk: &Jdk, program: &Path, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("there is room");
        let (helper, classes) = (
            directory.path().join("helper"),
            directory.path().join("classes"),
        );
        std::fs::create_dir(&helper).expect("a new directory");
        std::fs::create_dir(&classes).expect("a new directory");
        jdk.compile(&[program, &source("Probe.java")], &classes, options);
        std::fs::rename(classes.join("evenkeel"), helper.join("evenkeel")).expect("javac wrote it");
        Self {
            _directory: directory,
            helper,
            classes,
        }
    }

    fn run(&self, jdk: &Jdk, options: &[&str], main: &[&str]) -> String {
        jdk.run(&self.helper, &self.classes, options, main)
            .unwrap_or_else(|error| panic!("{}: {error}", jdk.name()))
    }

    /// The probes' report: the first line, and how often each was entered.
    fn report(&self) -> (String, Vec<(u32, u64)>) {
        let report =
            std::fs::read_to_string(self.helper.join("report")).expect("the probes were used");
        let mut lines = report.lines();
        let first = lines.next().expect("a line").to_owned();
        let counted = lines.filter_map(|line| {
            let (probe, count) = line.split_once(' ')?;
            Some((probe.parse().ok()?, count.parse().ok()?))
        });
        (first, counted.collect())
    }
}

/// Numbers of the bodies whose calls are counted.
fn counted(class: &str, method: &str) -> u32 {
    match (class, method) {
        ("Planted", "fibonacci") => 1,
        ("Planted", "through") => 2,
        ("Planted", "middle") => 3,
        ("Planted", "thrower") => 4,
        ("Planted$Derived", "<init>") => 5,
        ("Planted$Refusing", "<init>") => 6,
        _ => 50_000,
    }
}

#[test]
fn a_rewritten_program_does_the_same_and_its_calls_are_counted() {
    for jdk in jdks() {
        let place = Place::new(&jdk, &source("Planted.java"), &[]);
        let plain = place.run(&jdk, &[], &["Planted", "shallow"]);
        for rewritten in rewrite(&place.classes, |class| everything(class, counted)) {
            assert_eq!(rewritten.refused, []);
        }
        for mode in ["-Xint", "-XX:TieredStopAtLevel=1", "-Xcomp"] {
            let options = [
                mode,
                "-XX:CompileCommand=quiet",
                "-XX:CompileCommand=compileonly,Planted*.*",
            ];
            assert_eq!(
                place.run(&jdk, &options, &["Planted", "shallow"]),
                plain,
                "{} {mode}",
                jdk.name()
            );
            // fibonacci(15), and 30 times fibonacci(3); Derived once for six numbers, twice for none; six times Refusing
            let expected = [
                (1, 1973 + 30 * 5),
                (2, 331),
                (3, 331),
                (4, 412),
                (5, 8),
                (6, 6),
            ];
            let (first, counts) = place.report();
            assert_eq!(counts, expected, "{} {mode}", jdk.name());
            // Two constructors throw before `super()`: their caller ends them.
            assert!(
                first.ends_with(", 2 not left by their own exit"),
                "{} {mode}: {first}",
                jdk.name()
            );
        }
    }
}

#[test]
fn a_lock_is_released_at_the_end_of_the_stack() {
    for jdk in jdks() {
        let place = Place::new(&jdk, &source("Planted.java"), &[]);
        rewrite(&place.classes, |class| everything(class, counted));
        for mode in ["-Xint", "-XX:+TieredCompilation"] {
            let output = place.run(&jdk, &[mode], &["Planted"]);
            assert!(
                output.ends_with("end of stack true\n"),
                "{} {mode}: {output}",
                jdk.name()
            );
        }
    }
}

#[test]
fn classes_without_frames_are_rewritten_as_well() {
    for jdk in jdks() {
        let place = Place::new(
            &jdk,
            &source("Old.java"),
            &["--release", "8", "-Xlint:-options"],
        );
        let plain = place.run(&jdk, &[], &["Old"]);
        let written = class_files(&place.classes);
        for major in [48, 49, 50] {
            for (path, bytes) in &written {
                let mut bytes = bytes.clone();
                bytes[7] = major;
                std::fs::write(path, bytes).expect("it can be written");
            }
            for rewritten in rewrite(&place.classes, |class| everything(class, counted)) {
                assert_eq!(rewritten.refused, []);
            }
            assert_eq!(
                place.run(&jdk, &[], &["Old"]),
                plain,
                "{}, version {major}",
                jdk.name()
            );
        }
    }
}

fn class_files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths
        .map(|path| (path.clone(), std::fs::read(path).expect("it can be read")))
        .collect()
}

/// A method of 30,000 bytes whose branches lead over nearly all of it, and a few ways out between.
fn far_source() -> String {
    let mut source = "public class Far {\n static int step(int n) { return n ^ 5; }\n static int far(int n) {\n int s = 1;\n".to_owned();
    source += "  for (int i = 0; i < n; i++) {\n   if (i % 2 == 0) {\n    do {\n";
    for k in 0..2_600 {
        writeln!(source, "     s = s * 31 + step(i);").unwrap();
        if k % 300 == 0 {
            writeln!(source, "     if (s == {k}) return -{k};").unwrap();
        }
    }
    source += "    } while (s % 3 == 0);\n   } else { s = s + 7; }\n  }\n  return s;\n }\n";
    source += " public static void main(String[] a) { System.out.println(far(9)); }\n}\n";
    source
}

#[test]
fn branches_that_lead_too_far_go_by_islands() {
    for jdk in jdks() {
        let directory = tempfile::tempdir().expect("there is room");
        let program = directory.path().join("Far.java");
        std::fs::write(&program, far_source()).expect("it can be written");
        let place = Place::new(&jdk, &program, &[]);
        let plain = place.run(&jdk, &[], &["Far"]);
        // Of all calls the method would be longer than 65,535 bytes.
        let every_other = |class: &Class<'_>| {
            let Plan { mut methods } = everything(class, counted);
            for probes in methods.values_mut() {
                let mut nth = 0;
                probes.calls.retain(|_, _| {
                    nth += 1;
                    nth % 2 == 0
                });
            }
            Plan { methods }
        };
        let rewritten = rewrite(&place.classes, every_other);
        let far = rewritten[0]
            .methods
            .iter()
            .find(|grown| grown.bytes_before > 25_000)
            .expect("far");
        assert!(far.bytes_after > 40_000, "{far:?}");
        assert_eq!(rewritten[0].refused, []);
        assert_eq!(place.run(&jdk, &[], &["Far"]), plain, "{}", jdk.name());

        let again = std::fs::read(place.classes.join("Far.class")).expect("it is there");
        let class = Class::read(&again).expect("it was rewritten");
        let refused = class
            .instrument(
                &everything(&class, counted),
                &support::HELPER,
                &Default::default(),
            )
            .refused;
        assert!(
            matches!(refused[0].reason, Reason::TooLong { .. }),
            "{refused:?}"
        );
        assert_eq!(refused[0].line, Some(4), "{}", refused[0]);
    }
}

#[test]
fn sites_have_lines_kinds_and_targets() {
    let Some(jdk) = jdks().pop() else { return };
    let place = Place::new(&jdk, &source("Planted.java"), &[]);
    let bytes =
        std::fs::read(Path::new(&place.classes).join("Planted.class")).expect("it is there");
    let class = Class::read(&bytes).expect("javac wrote it");
    let method = class
        .methods()
        .find(|method| method.name().unwrap() == "endOfStack")
        .expect("it is there");
    let sites = method.call_sites().expect("javac wrote it");
    let source = include_str!("java/Planted.java");
    let line_of = |text: &str| {
        source
            .lines()
            .position(|line| line.contains(text))
            .map(|nth| nth as u16 + 1)
    };
    let told: Vec<String> = sites
        .iter()
        .map(|site| {
            format!(
                "{:?} {}.{}{}",
                site.kind,
                site.class.as_deref().unwrap_or("-"),
                site.method,
                site.descriptor
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "Special java/lang/Object.<init>()V",
            "Static Planted.deep(Ljava/lang/Object;I)I",
            "Static java/lang/Thread.holdsLock(Ljava/lang/Object;)Z"
        ]
    );
    assert_eq!(sites[1].line, line_of("deep(lock, 0)"));
    assert_eq!(sites[2].line, line_of("!Thread.holdsLock(lock)"));
}

/// Annotations within code, by `javap`: the kind of place, and its instruction.
fn annotated_places(jdk: &Jdk, classes: &Path) -> Vec<String> {
    let listing = jdk.list(classes, "Annotated");
    let method = listing
        .split("static java.lang.Object places")
        .nth(1)
        .expect("the method");
    let method = method
        .split("public static void main")
        .next()
        .expect("what is before the next");
    let instruction_at = |pc: &str| {
        let line = method
            .lines()
            .find_map(|line| line.trim().strip_prefix(&format!("{pc}: ")));
        line.and_then(|line| line.split_whitespace().next())
            .unwrap_or("none")
            .to_owned()
    };
    let places = method.lines().filter_map(|line| {
        let (_, place) = line.trim().split_once("): ")?;
        let kind = place.split(',').next()?.to_owned();
        let pc = place
            .split("offset=")
            .nth(1)
            .or_else(|| place.split("start_pc=").nth(1))?;
        Some(format!("{kind} {}", instruction_at(pc.split(',').next()?)))
    });
    places.collect()
}

#[test]
fn annotations_of_types_stay_with_their_instructions() {
    for jdk in jdks() {
        let place = Place::new(&jdk, &source("Annotated.java"), &[]);
        let plain = place.run(&jdk, &[], &["Annotated"]);
        let before = annotated_places(&jdk, &place.classes);
        assert!(before.contains(&"NEW new".to_owned()), "{before:?}");
        assert!(
            before.contains(&"INSTANCEOF instanceof".to_owned()),
            "{before:?}"
        );
        rewrite(&place.classes, |class| everything(class, counted));
        let after = annotated_places(&jdk, &place.classes);
        let offsets = |places: &[String]| -> Vec<String> {
            // A variable's first instruction may be one that was inserted before it.
            places
                .iter()
                .filter(|place| !place.contains("VARIABLE"))
                .cloned()
                .collect()
        };
        assert_eq!(offsets(&after), offsets(&before), "{}", jdk.name());
        assert_eq!(after.len(), before.len());
        assert_eq!(place.run(&jdk, &[], &["Annotated"]), plain);
    }
}
