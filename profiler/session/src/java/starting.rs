//! The command or process, and the Java virtual machine in it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_attach::jvm::{Jvm, JvmKind, forbids_agents, recognise};
use evenkeel_attach::{Refused, namespace, process};
use evenkeel_intervals::spec::{IntervalSpec, Role};

use super::method::{self, NamedMethod};
use super::problem::Problem;
use super::session::{JvmTarget, Session};
use crate::agent::Agent;
use crate::error::Error;
use crate::launch::{self, CommandLine};
use crate::profile::records::Records;
use crate::profile::run::Run;
use crate::profile::{Event, IntervalSelector, Observer, Planting, Settings, Subject};

/// How long a command may take until its JVM can be attached to.
const JVM_WITHIN: Duration = Duration::from_secs(30);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// See [`super::is_meant`].
pub(super) fn is_meant(settings: &Settings) -> bool {
    let Some((_, methods)) = named(settings) else {
        return false;
    };
    match &settings.subject {
        Subject::Process(pid) => !methods.is_empty() && !jvms(*pid).is_empty(),
        Subject::Command(command) => command.words.first().is_some_and(|word| runs_java(word)),
    }
}

/// The specification, and the methods that it names.
fn named(settings: &Settings) -> Option<(&IntervalSpec, Vec<NamedMethod>)> {
    let IntervalSelector::Spec(spec) = &settings.selector else {
        return None;
    };
    Some((spec, NamedMethod::all_of(spec, &settings.named)?))
}

/// Whether a command is Java's launcher, or a script, which may run it.
fn runs_java(word: &OsStr) -> bool {
    let Ok(program) = launch::find_program(&word.to_string_lossy()) else {
        return false;
    };
    let file = program.canonicalize().unwrap_or(program);
    let is_java = file.file_name() == Some(OsStr::new("java"));
    let begins = std::fs::File::open(&file).and_then(|mut file| {
        let mut bytes = [0; 2];
        std::io::Read::read_exact(&mut file, &mut bytes).map(|()| bytes)
    });
    is_java || begins.is_ok_and(|bytes| bytes == *b"#!")
}

/// The JVMs among a process and all that descends from it.
fn jvms(root: i32) -> Vec<i32> {
    let is_jvm = |pid: &i32| {
        matches!(
            recognise(*pid),
            Ok(Some(JvmKind::HotSpot { .. } | JvmKind::OpenJ9))
        )
    };
    process::family(root).into_iter().filter(is_jvm).collect()
}

/// Starts the command, or finds the process, and brings the agent into its JVM.
pub(super) fn start<'a>(
    settings: &'a Settings,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Session<'a>, Error> {
    let Some((spec, methods)) = named(settings) else {
        return Err(Problem::NoJvm.into());
    };
    method::check(spec)?;
    check(settings)?;
    let agent = Agent::find()?.path()?;
    // Before anything is written: a mistyped process must not replace an old recording.
    let attached = match &settings.subject {
        Subject::Process(pid) => Some(Jvm::prepare(only(*pid)?, &agent)?),
        Subject::Command(_) => None,
    };
    let mut warnings = Vec::new();
    let mut records = Records::new(settings, observer, &mut warnings)?;
    let (target, jvm) = match (&settings.subject, attached) {
        (Subject::Process(_), Some(jvm)) => {
            let started = process::started(jvm.pid());
            let pid = jvm.pid();
            (JvmTarget::Process { pid, started }, jvm)
        }
        (Subject::Process(pid), None) => return Err(Refused::Gone { pid: *pid }.into()),
        (Subject::Command(command), _) => {
            let mut target = launch::Target::start_plain(&with_agent(command, &agent))?;
            observer.event(&Event::Started { pid: target.pid() });
            let jvm = match await_jvm(&mut target, &agent, interrupted) {
                Ok(jvm) => jvm,
                Err(error) => {
                    target.stop(settings.stop_signal, || {});
                    return Err(error);
                }
            };
            (JvmTarget::Command(target), jvm)
        }
    };
    records.knows_threads = !namespace::is_foreign(jvm.pid());
    let mut run = Run::new(settings, warnings);
    run.interval = Some(
        spec.name
            .clone()
            .unwrap_or_else(|| method::interval_name(&methods)),
    );
    let label = method::label(spec);
    Ok(Session::new(
        settings, target, jvm, records, run, methods, label,
    ))
}

/// The only JVM of a process and what descends from it.
fn only(root: i32) -> Result<i32, Error> {
    match jvms(root)[..] {
        [pid] => Ok(pid),
        [] => Err(Refused::Gone { pid: root }.into()),
        ref several if several.contains(&root) => Ok(root),
        ref several => Err(Problem::Several(several.to_vec()).into()),
    }
}

/// Refuses what is for native functions only.
fn check(settings: &Settings) -> Result<(), Problem> {
    let refused = [
        (
            settings.named.iter().any(|call| call.role != Role::Work),
            "--acquire, --release, --enqueue or --dequeue",
        ),
        (
            settings.named.iter().any(|call| call.role == Role::Work)
                && !settings.selector.is_keyed(),
            "--work without an interval BEGIN..END,key=N",
        ),
        (settings.planting == Planting::Manual, "--manual"),
        (
            matches!(settings.planting, Planting::First(_) | Planting::Every),
            "--plant",
        ),
    ];
    match refused.into_iter().find(|&(is_there, _)| is_there) {
        Some((_, option)) => Err(Problem::Setting(option)),
        None => Ok(()),
    }
}

/// The variable whose options every JVM reads first.
const OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// The command. Where its words or its environment forbid agents to come later, the JVM starts with the agent.
fn with_agent(command: &CommandLine, agent: &Path) -> CommandLine {
    let mut command = command.clone();
    let inherited = std::env::vars_os().map(|(_, value)| value);
    let given = command.variables.iter().map(|(_, value)| value.clone());
    let mut texts = command.words.iter().cloned().chain(inherited).chain(given);
    if texts.any(|text| forbids_agents(&text)) {
        let is_options = |(name, _): &&(OsString, OsString)| *name == OPTIONS;
        let given = command.variables.iter().rfind(is_options);
        let given = given.map(|(_, value)| value.clone());
        let mut options = given
            .or_else(|| std::env::var_os(OPTIONS))
            .unwrap_or_default();
        options.push(" -agentpath:");
        options.push(agent);
        command.variables.push((OPTIONS.into(), options));
    }
    command
}

/// Waits until the command's JVM can be attached to, and loads the agent.
fn await_jvm(
    target: &mut launch::Target,
    agent: &Path,
    interrupted: &AtomicBool,
) -> Result<Jvm, Error> {
    let began = Instant::now();
    loop {
        let is_late = began.elapsed() > JVM_WITHIN;
        if !target.is_running() {
            return Err(Problem::Ended(target.ending()).into());
        }
        if interrupted.load(Relaxed) {
            return Err(Problem::NoJvm.into());
        }
        match jvms(target.pid())[..] {
            [] if is_late => return Err(Problem::NoJvm.into()),
            [] => {}
            [pid] => match Jvm::prepare(pid, agent) {
                Ok(jvm) => return Ok(jvm),
                // It is only just starting, or will say the same again.
                Err(why) if is_late => return Err(why.into()),
                Err(why) if !may_pass(&why) => return Err(why.into()),
                Err(_) => {}
            },
            ref several => return Err(Problem::Several(several.to_vec()).into()),
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a JVM that is only just starting may say another thing in a moment: it has no handler of signals yet, or
/// takes no agents. One that is gone has ended, or has started another.
fn may_pass(why: &Refused) -> bool {
    let passes = matches!(why, Refused::Failed { .. } | Refused::Gone { .. });
    passes || why.to_string().contains("SIGQUIT")
}
