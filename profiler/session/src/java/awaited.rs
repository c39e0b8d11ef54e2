//! The classes of the intervals are waited for until the JVM has loaded them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use super::method::{NamedMethod, Purpose, dotted};
use super::opening::ASK;
use super::problem::Problem;
use super::session::{JvmTarget, Session};
use super::talk::Loaded;
use crate::error::Error;
use crate::profile::{Event, Observer};

/// Time to wait for the interval's class if the user gives none.
const CLASS_WITHIN: Duration = Duration::from_secs(10);
/// The same for a command: a server may take long to start.
const STARTED_CLASS_WITHIN: Duration = Duration::from_secs(120);
/// Time to wait below a command for the classes that an interval does not need: it needs one that begins it and one
/// that ends it.
const OTHERS_WITHIN: Duration = Duration::from_secs(30);

impl Session<'_> {
    /// The classes of the intervals once enough of them are loaded. `None` where there is nothing to profile any more.
    pub(super) fn await_classes(
        &mut self,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Option<Vec<Loaded>>, Error> {
        let starts = matches!(self.target, JvmTarget::Command(_));
        let patience = match starts {
            true => STARTED_CLASS_WITHIN,
            false => CLASS_WITHIN,
        };
        let patience = self.settings.duration.unwrap_or_default().max(patience);
        let names: Vec<String> = self.methods.iter().map(|one| one.class.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (mut needed_since, mut others_since) = (None, None);
        loop {
            let loaded = self.talk(|talk| talk.find(&names))?;
            let missing = self.missing(&loaded);
            let is_loaded = |name: &str| loaded.iter().any(|class| names[class.name] == name);
            let others = names.iter().filter(|name| !is_loaded(name));
            let others: BTreeSet<String> = others.map(|name| dotted(name)).collect();
            let others = Vec::from_iter(others);
            if !missing.is_empty() {
                if is_over(&mut needed_since, &missing, patience, observer) {
                    let seconds = patience.as_secs();
                    let class = dotted(names[0]);
                    return Err(match loaded.is_empty() {
                        true => Problem::NoClass { class, seconds },
                        false => Problem::NoOther {
                            methods: missing.join(", "),
                            seconds,
                        },
                    }
                    .into());
                }
            // A server that starts may load the others in a moment.
            } else if others.is_empty() {
                return Ok(Some(loaded));
            } else if !starts || is_over(&mut others_since, &others, OTHERS_WITHIN, observer) {
                let why = &not_loaded(&others);
                observer.event(&Event::LeftOut { why });
                return Ok(Some(loaded));
            }
            if !self.is_running() || interrupted.load(Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(ASK);
        }
    }

    /// The methods that an interval still needs: one that begins it, and one that ends it.
    fn missing(&self, loaded: &[Loaded]) -> Vec<String> {
        let is_loaded = |method: &NamedMethod| {
            let mut names = loaded.iter().map(|class| &self.methods[class.name].class);
            names.any(|name| *name == method.class)
        };
        let kinds: [fn(Purpose) -> bool; 3] = [
            |purpose| purpose == Purpose::Interval,
            |purpose| matches!(purpose, Purpose::Begin(_)),
            |purpose| matches!(purpose, Purpose::End(_)),
        ];
        let lacking = kinds.into_iter().flat_map(|is_kind| {
            let methods = self
                .methods
                .iter()
                .filter(move |method| is_kind(method.purpose));
            let is_there = methods.clone().any(is_loaded);
            methods.filter(move |_| !is_there).map(NamedMethod::name)
        });
        lacking.collect()
    }
}

/// Whether a wait has taken as long as it may. The user is told when it begins.
fn is_over(
    begun: &mut Option<Instant>,
    names: &[String],
    within: Duration,
    observer: &mut dyn Observer,
) -> bool {
    let since = begun.get_or_insert_with(|| {
        observer.event(&Event::Awaiting { names, within });
        Instant::now()
    });
    since.elapsed() > within
}

fn not_loaded(classes: &[String]) -> String {
    format!(
        "the Java virtual machine has not loaded {}: this profile has nothing of it. If requests pass through it, attach (evenkeel attach PID) once the server has served some",
        classes.join(", ")
    )
}
