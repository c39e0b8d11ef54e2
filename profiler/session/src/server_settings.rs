//! Settings of the target, which its preset can see without asking it. A report leaves out advice that they follow
//! already.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use evenkeel_attach::process::{self, Mapping};
use evenkeel_intervals::presets::{Setting, SettingSource};
use evenkeel_symbols::Module;

/// Pauses between two looks, until there was one and afterwards: a server reads its settings when it starts, and may
/// read them again.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// Processes that are looked at.
const PROCESSES_MAX: usize = 64;
/// Offset of `e_type` in an ELF file, and its value in a program at a fixed address.
const TYPE_AT: u64 = 16;
const FIXED: u16 = 2;

/// What was seen of the target's settings.
#[derive(Debug, Default)]
pub struct ServerSettings {
    next: Option<Instant>,
    seen: BTreeMap<String, String>,
}

impl ServerSettings {
    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.next.is_none_or(|next| Instant::now() >= next)
    }

    /// Looks at the processes that descend from `pid` and run `program`.
    pub fn look(&mut self, settings: &[Setting], pid: i32, program: &Module) {
        let family = process::family(pid).into_iter().take(PROCESSES_MAX);
        let servers: Vec<Server> = family.filter_map(|pid| Server::of(pid, program)).collect();
        for setting in settings {
            let value = match &setting.source {
                SettingSource::Variable(name) => servers
                    .first()
                    .and_then(|server| server.number(program.number(name)?)),
                SettingSource::Threads => servers.iter().map(Server::has_threads).max(),
            };
            if let Some(text) = value.and_then(|value| setting.text(value)) {
                self.seen.insert(setting.name.clone(), text);
            }
        }
        self.next = Some(Instant::now() + PAUSES[usize::from(!self.seen.is_empty())]);
    }

    /// The values by the settings' names.
    pub fn seen(&self) -> BTreeMap<String, String> {
        self.seen.clone()
    }
}

/// A process of the server.
struct Server {
    pid: i32,
    memory: File,
    /// What its program's addresses are higher than in the file.
    bias: u64,
}

impl Server {
    /// The process, if it runs the program and may be looked at.
    fn of(pid: i32, program: &Module) -> Option<Server> {
        let name = program.path().file_name()?.to_str()?;
        let is_start =
            |mapping: &&Mapping| mapping.offset == 0 && process::file_name(&mapping.path) == name;
        let mappings = process::mappings(pid).ok()?;
        let start = mappings.iter().find(is_start)?.range.start;
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let mut kind = [0; 2];
        memory.read_exact_at(&mut kind, start + TYPE_AT).ok()?;
        let bias = match u16::from_le_bytes(kind) {
            FIXED => 0,
            _ => start,
        };
        Some(Server { pid, memory, bias })
    }

    /// The number in a variable.
    fn number(&self, (address, bytes): (u64, usize)) -> Option<u64> {
        let mut number = [0; 8];
        let at = self.bias.checked_add(address)?;
        self.memory
            .read_exact_at(number.get_mut(..bytes)?, at)
            .ok()?;
        Some(u64::from_le_bytes(number))
    }

    /// 1 if the process has several threads.
    fn has_threads(&self) -> u64 {
        let threads = process::threads(self.pid).map_or(0, |threads| threads.len());
        u64::from(threads > 1)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_symbols::DebugSources;

    use super::*;

    /// A program's variables, as the tests' own: the word is exported so that it has a symbol.
    #[unsafe(no_mangle)]
    static EVENKEEL_TEST_SETTING: u32 = 2;

    #[test]
    fn variables_and_threads_of_a_process() {
        let module = Module::load(&std::env::current_exe().unwrap(), &DebugSources::none());
        let module = module.unwrap();
        assert_eq!(std::hint::black_box(&EVENKEEL_TEST_SETTING), &2);
        let setting = |name: &str, source, values: &[&str]| Setting {
            name: name.to_owned(),
            source,
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let variable = |name: &str| SettingSource::Variable(name.to_owned());
        let settings = [
            setting(
                "mode",
                variable("EVENKEEL_TEST_SETTING"),
                &["off", "local", "on"],
            ),
            setting("number", variable("EVENKEEL_TEST_SETTING"), &[]),
            setting("unknown", variable("EVENKEEL_TEST_SETTING"), &["off"]),
            setting("missing", variable("evenkeel_no_such_variable"), &[]),
            setting("aio", SettingSource::Threads, &["off", "threads"]),
        ];
        let mut seen = ServerSettings::default();
        assert!(seen.is_due());
        let pid = std::process::id() as i32;
        // The harness has a thread beside this one.
        seen.look(&settings, pid, &module);
        let values: Vec<_> = seen.seen().into_iter().collect();
        let expected = [("aio", "threads"), ("mode", "on"), ("number", "2")];
        assert_eq!(
            values,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert!(!seen.is_due());
    }
}
