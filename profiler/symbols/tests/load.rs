//! Files that cannot be profiled, and what the errors say.

mod fixture;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use evenkeel_symbols::{DebugSources, LaunchError, LoadError, Module, launchable};
use fixture::{Workshop, load};

fn error(path: &Path) -> LoadError {
    Module::load(path, &DebugSources::none()).unwrap_err()
}

fn write_executable(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn each_kind_of_wrong_file_is_named() {
    let workshop = Workshop::new();
    let program = workshop.build("program", &["empty_main.c"], &[]);
    assert!(matches!(
        error(&workshop.path("missing")),
        LoadError::Unreadable { .. }
    ));
    assert!(matches!(
        error(workshop.path("program").parent().unwrap()),
        LoadError::Unreadable { .. }
    ));

    let bytes = std::fs::read(&program).unwrap();
    let changed = |at: usize, values: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + values.len()].copy_from_slice(values);
        let path = workshop.path("changed");
        std::fs::write(&path, bytes).unwrap();
        error(&path)
    };
    assert!(matches!(changed(0, b"text"), LoadError::NotElf { .. }));
    // e_machine is at 18: 183 is aarch64, 3 is the 32-bit x86. The class is at 4.
    let wrong = changed(18, &[183, 0]);
    assert!(
        wrong.to_string().contains("64-bit ARM (aarch64)"),
        "{wrong}"
    );
    assert!(matches!(changed(18, &[3, 0]), LoadError::Not64Bit { .. }));
    assert!(matches!(changed(4, &[1]), LoadError::Not64Bit { .. }));
    // e_shoff is at 40.
    assert!(matches!(changed(40, &[0xff; 8]), LoadError::Corrupt { .. }));
    // No table of sections, and no entries of it from 58 on.
    assert!(matches!(changed(40, &[0; 8]), LoadError::NoSections { .. }));

    let path = workshop.path("cut");
    for len in [4, 19, 63, bytes.len() / 2] {
        std::fs::write(&path, &bytes[..len]).unwrap();
        assert!(
            matches!(error(&path), LoadError::Corrupt { .. }),
            "{len} bytes"
        );
    }
}

#[test]
fn static_programs_are_refused_and_libraries_are_not() {
    let workshop = Workshop::new();
    for options in [&["-static"][..], &["-static-pie", "-fPIE"]] {
        let program = workshop.build("static", &["empty_main.c"], options);
        let error = error(&program);
        assert!(matches!(error, LoadError::Static { .. }), "{error}");
        assert!(error.to_string().contains("link it dynamically"));
    }
    let library = workshop.build("library.so", &["two.c", "one.c"], &["-shared", "-fPIC"]);
    assert!(load(&library).find("two").is_ok());
    let fixed = workshop.build("fixed", &["graph.c"], &["-no-pie", "-O1"]);
    assert!(load(&fixed).find("top").is_ok());
    // Its address is a constant in the code, without any relocation.
    let module = load(&workshop.strip(&fixed));
    let top = load(&fixed).find("top").unwrap();
    assert!(module.address_taken().contains(&top));
}

#[test]
fn scripts_lead_to_their_interpreter() {
    let workshop = Workshop::new();
    let program = workshop.build("program", &["empty_main.c"], &[]);
    assert_eq!(launchable(&program).unwrap(), program);
    let (script, outer) = (workshop.path("script"), workshop.path("outer"));
    write_executable(&script, format!("#! {} -x\n", program.display()).as_bytes());
    write_executable(&outer, format!("#!{}\n", script.display()).as_bytes());
    assert_eq!(launchable(&outer).unwrap(), program);
    write_executable(&script, format!("#!{}\n", outer.display()).as_bytes());
    assert!(matches!(
        launchable(&outer),
        Err(LaunchError::EndlessScript { .. })
    ));
    write_executable(&script, b"just text");
    assert!(matches!(
        launchable(&script),
        Err(LaunchError::Load(LoadError::NotElf { .. }))
    ));
}

#[test]
fn programs_with_other_rights_are_refused() {
    let workshop = Workshop::new();
    let program = workshop.build("program", &["empty_main.c"], &[]);
    let mode =
        |mode| std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert!(matches!(
        launchable(&program),
        Err(LaunchError::NotExecutable { .. })
    ));
    // Setuid to oneself changes no rights.
    mode(0o4755);
    assert_eq!(launchable(&program).unwrap(), program);
    // Only the superuser can give a file away.
    if std::os::unix::fs::chown(&program, Some(65534), Some(65534)).is_ok() {
        for (bits, how) in [(0o4755, "setuid"), (0o2755, "setgid")] {
            mode(bits);
            let error = launchable(&program).unwrap_err();
            assert!(
                matches!(error, LaunchError::Privileged { how: found, .. } if found == how),
                "{error}"
            );
        }
    }
}
