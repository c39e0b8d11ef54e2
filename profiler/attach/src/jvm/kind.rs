//! Which Java virtual machine a process runs, and whether it lets itself be attached to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

use memmap2::Mmap;
use object::{Object as _, ObjectSection as _};

use super::files::Directory;
use crate::error::Refused;
use crate::permission;
use crate::process::{self, file_name};

/// Versions before this one have another form of the protocol's answers, and refuse root.
const OLDEST: u32 = 11;

/// Options that keep agents out, and those that let them in.
const FLAGS: [(&str, &str); 2] = [
    ("-XX:+DisableAttachMechanism", "-XX:-DisableAttachMechanism"),
    (
        "-XX:-EnableDynamicAgentLoading",
        "-XX:+EnableDynamicAgentLoading",
    ),
];

/// A kind of Java virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JvmKind {
    /// OpenJDK's own, of many vendors.
    HotSpot {
        /// Major version (8, 17), where the JVM's directory tells.
        version: Option<u32>,
    },
    /// Eclipse OpenJ9, IBM Semeru.
    OpenJ9,
    /// A program that GraalVM compiled ahead of time.
    NativeImage,
}

/// The JVM of a process; none where it runs no Java.
///
/// # Errors
/// The process may not be looked at.
pub fn recognise(pid: i32) -> Result<Option<JvmKind>, Refused> {
    let mappings = process::mappings(pid).map_err(|_| permission::not_permitted(pid))?;
    let paths = mappings.iter().map(|mapping| mapping.path.as_str());
    Ok(match of_libraries(paths) {
        Some((JvmKind::HotSpot { .. }, library)) => Some(JvmKind::HotSpot {
            version: version(pid, library),
        }),
        Some((kind, _)) => Some(kind),
        None => is_native_image(pid).then_some(JvmKind::NativeImage),
    })
}

/// The JVM by the library that is mapped, and its path.
fn of_libraries<'a>(mut paths: impl Iterator<Item = &'a str>) -> Option<(JvmKind, &'a str)> {
    paths.find_map(|path| match file_name(path) {
        // OpenJ9 has a libjvm.so, too, next to the library with its code.
        "libjvm.so" if path.contains("/j9vm/") || path.contains("/default/") => {
            Some((JvmKind::OpenJ9, path))
        }
        "libjvm.so" => Some((JvmKind::HotSpot { version: None }, path)),
        name if name.starts_with("libj9vm") => Some((JvmKind::OpenJ9, path)),
        _ => None,
    })
}

/// The version that the `release` file of the JVM's directory tells.
fn version(pid: i32, library: &str) -> Option<u32> {
    // HOME/lib/server/libjvm.so; HOME/jre/lib/amd64/server/libjvm.so until version 8
    let home = library.split("/lib/").next()?;
    let homes = [home, home.strip_suffix("/jre").unwrap_or(home)];
    homes.iter().find_map(|home| {
        let release = process::readable(pid, &format!("{home}/release"));
        release_version(&fs::read_to_string(release).ok()?)
    })
}

/// The major version of `JAVA_VERSION="17.0.15"` or `"1.8.0_402"`.
fn release_version(release: &str) -> Option<u32> {
    let version = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    let version = version.strip_prefix("1.").unwrap_or(version);
    version
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// GraalVM's programs keep their prebuilt heap in a separate section.
fn is_native_image(pid: i32) -> bool {
    let Ok(program) = fs::File::open(process::program(pid)) else {
        return false;
    };
    // SAFETY: a program that is run cannot be written (ETXTBSY).
    let Ok(bytes) = (unsafe { Mmap::map(&program) }) else {
        return false;
    };
    let Ok(program) = object::File::parse(&*bytes) else {
        return false;
    };
    program
        .sections()
        .any(|section| section.name() == Ok(".svm_heap"))
}

/// Refuses what cannot be attached to, by its name. `library`: the agent's.
pub(crate) fn check(pid: i32, kind: &JvmKind, library: &Path) -> Result<(), Refused> {
    let why = match kind {
        JvmKind::OpenJ9 => {
            "it runs OpenJ9, whose way of attaching is another; run the program on a HotSpot JVM, or profile its native code"
                .to_owned()
        }
        JvmKind::NativeImage => {
            "it is a native image of GraalVM, which has no classes left to rewrite; profile it as a native program: its functions are symbols"
                .to_owned()
        }
        JvmKind::HotSpot { version: Some(version) } if *version < OLDEST => {
            format!("it runs Java {version}, and {OLDEST} is the oldest version that is supported; use a newer JVM")
        }
        JvmKind::HotSpot { .. } => return check_options(pid, library),
    };
    Err(Refused::Unfit { pid, why })
}

/// Refuses a JVM that takes no agents now, and was not started with this one.
fn check_options(pid: i32, library: &Path) -> Result<(), Refused> {
    let options = options(pid);
    let Some((forbids, permits)) = forbidding_option(&options) else {
        return Ok(());
    };
    if UnixStream::connect(Directory::of(pid)?.agents_socket()).is_ok() {
        return Ok(());
    }
    if has_agent(&options, library) {
        return Err(Refused::Failed {
            pid,
            why: "the agent that it was started with does not answer. It may be just starting: try again".into(),
        });
    }
    let why = format!(
        "its option {forbids} forbids it; start it without, or with _JAVA_OPTIONS={permits} in its environment, which overrides it, \
         or with the agent: -agentpath:{}",
        library.display()
    );
    Err(Refused::Unfit { pid, why })
}

/// Whether an option starts the JVM with a library of the agent's name.
fn has_agent(options: &[String], library: &Path) -> bool {
    let mut paths = options
        .iter()
        .filter_map(|option| option.strip_prefix("-agentpath:"));
    paths.any(|path| Path::new(path).file_name() == library.file_name())
}

/// Whether a word of a command, or a variable of its environment, has an option that forbids agents to come later.
#[must_use]
pub fn forbids_agents(text: &OsStr) -> bool {
    let text = text.to_string_lossy();
    FLAGS.iter().any(|(forbids, _)| text.contains(forbids))
}

/// The options of the JVM: those of its command line, and of the variables that it reads.
fn options(pid: i32) -> Vec<String> {
    let split = |name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let words = bytes.split(|&byte| byte == 0);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect::<Vec<_>>()
    };
    let environment = split("environ");
    let variable = |name: &str| {
        let of_name = environment
            .iter()
            .find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='));
        of_name
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    // In the order in which they count: the last of a kind decides.
    [
        variable("JAVA_TOOL_OPTIONS"),
        variable("JDK_JAVA_OPTIONS"),
        split("cmdline"),
        variable("_JAVA_OPTIONS"),
    ]
    .concat()
}

/// The option that keeps agents out, if the last of its kind does, and the one that lets them in.
fn forbidding_option(options: &[String]) -> Option<(&'static str, &'static str)> {
    FLAGS.into_iter().find(|(forbids, permits)| {
        let last = options
            .iter()
            .rev()
            .find(|option| option == forbids || option == permits);
        last.is_some_and(|last| last == forbids)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_machines_are_known_by_their_libraries() {
        let kind = |path: &str| {
            of_libraries(["/usr/lib/libc.so.6", path].into_iter()).map(|(kind, _)| kind)
        };
        let hotspot = Some(JvmKind::HotSpot { version: None });
        assert_eq!(
            kind("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"),
            hotspot
        );
        assert_eq!(
            kind("/opt/jdk/jre/lib/amd64/server/libjvm.so (deleted)"),
            hotspot
        );
        assert_eq!(
            kind("/opt/semeru/lib/default/libj9vm29.so"),
            Some(JvmKind::OpenJ9)
        );
        assert_eq!(
            kind("/opt/semeru/lib/j9vm/libjvm.so"),
            Some(JvmKind::OpenJ9)
        );
        assert_eq!(kind("/usr/lib/libjvmlike.so"), None);
    }

    #[test]
    fn virtual_machines_of_other_kinds_are_refused_by_name() {
        let refused = |kind: &JvmKind| {
            let error = check(1, kind, Path::new("agent.so")).expect_err("it is refused");
            error.to_string()
        };
        let old = JvmKind::HotSpot { version: Some(8) };
        for (kind, said) in [
            (&old, ["Java 8", "use a newer JVM"]),
            (&JvmKind::OpenJ9, ["OpenJ9", "on a HotSpot JVM"]),
            (&JvmKind::NativeImage, ["native image", "native program"]),
        ] {
            let text = refused(kind);
            assert!(said.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn versions_are_those_of_the_release_file() {
        assert_eq!(
            release_version("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n"),
            Some(17)
        );
        assert_eq!(release_version("JAVA_VERSION=\"1.8.0_402\"\n"), Some(8));
        assert_eq!(release_version("JAVA_VERSION=\"25-ea\"\n"), Some(25));
        assert_eq!(release_version("OS_NAME=\"Linux\"\n"), None);
    }

    #[test]
    fn the_last_option_of_a_kind_decides() {
        let forbidding = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
            forbidding_option(&options).map(|(forbids, _)| forbids)
        };
        let disabled = "-XX:+DisableAttachMechanism";
        assert_eq!(forbidding(&["-Xmx1g", disabled]), Some(disabled));
        assert_eq!(forbidding(&[disabled, "-XX:-DisableAttachMechanism"]), None);
        let no_agents = "-XX:-EnableDynamicAgentLoading";
        assert_eq!(forbidding(&[no_agents]), Some(no_agents));
        assert_eq!(forbidding(&["-cp", "x", "Main"]), None);
    }

    #[test]
    fn agents_that_come_with_the_jvm_are_known_by_their_file() {
        let library = Path::new("/opt/libevenkeel_agent.so");
        let has = |option: &str| has_agent(&[option.to_owned()], library);
        assert!(has("-agentpath:/usr/lib/libevenkeel_agent.so"));
        assert!(!has("-agentpath:/usr/lib/libjdwp.so"));
        assert!(!has("-Dfile=libevenkeel_agent.so"));
        assert!(forbids_agents(OsStr::new(
            "-Xmx1g -XX:+DisableAttachMechanism"
        )));
        assert!(!forbids_agents(OsStr::new("-XX:-DisableAttachMechanism")));
    }
}
