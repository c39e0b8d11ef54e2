//! Classes are loaded again with the probes that are planned. The classes of the intervals must have what is asked for.

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_wire::Label;

use super::method::{self, NamedMethod, Purpose, dotted};
use super::problem::Problem;
use super::session::Session;
use super::talk::{Pause, Talk};
use crate::error::Error;
use crate::profile::{Event, Observer};

impl Session<'_> {
    /// Has classes loaded again in which methods are to be opened. Where the JVM refuses, these stay closed, but for
    /// those that are needed.
    pub(super) fn load_opened(
        &mut self,
        mut classes: Vec<u32>,
        needed: &[u32],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        classes.sort_unstable();
        classes.dedup();
        let Err(error) = self.load_again(&classes, observer) else {
            return Ok(());
        };
        // All classes are as they were.
        let Error::Java(Problem::Refused(why)) = error else {
            return Err(error);
        };
        self.run.warnings.push(Warning::JavaNotOpened {
            classes: classes.len(),
            why,
        });
        for class in classes {
            if !self.reloaded.contains(&class) && !needed.contains(&class) {
                self.plan.forget(class);
            }
        }
        Ok(())
    }

    /// Has classes loaded again with the probes that are planned. Intervals are counted only until the next
    /// [`Session::switch`].
    pub(super) fn load_again(
        &mut self,
        classes: &[u32],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let mut found = MethodsFound::default();
        let (plan, seen) = (&mut self.plan, &self.stacks);
        let records = &mut self.records;
        let visit = self.jvm.visit(|socket| -> Result<Pause, Problem> {
            let mut talk = Talk::over(socket, records)?;
            talk.suspend()?;
            let pause = talk.rewrite(classes, |number, bytes, records| {
                let height = |called: &_| seen.height(called);
                let rewritten = plan.rewrite(number, bytes, &mut records.arena, height);
                if plan.is_named(number) {
                    found.purposes.extend(rewritten.purposes);
                    found.has.extend(rewritten.has);
                    found.refused.extend(rewritten.refused);
                    found.without_argument.extend(rewritten.without_argument);
                }
                rewritten.bytes
            });
            talk.end();
            pause
        });
        let pause = visit??;
        self.batches += 1;
        self.reloaded.extend(classes);
        self.pauses.push(pause.at_most);
        observer.event(&Event::Reloaded {
            classes: classes.len(),
            batch: self.batches,
            stood_still: pause.at_most,
        });
        if self.batches == 1 {
            self.check_found(found)?;
        }
        Ok(())
    }

    /// Refuses intervals that lack what they need: a method, its label or key.
    fn check_found(&self, found: MethodsFound) -> Result<(), Problem> {
        for method in self
            .methods
            .iter()
            .filter(|method| method.purpose.is_needed())
        {
            let with = found
                .purposes
                .iter()
                .filter(|&&one| one == method.purpose)
                .count();
            let without: Vec<String> = found
                .without_argument
                .iter()
                .filter(|(purpose, _)| *purpose == method.purpose)
                .map(|(_, descriptor)| descriptor.clone())
                .collect();
            let option = match (method.purpose.key(), self.plan.label) {
                (Some(key), _) => method::key_text(key),
                (None, Some((Label::Text, argument))) => format!("label=text:{argument}"),
                (None, Some((_, argument))) => format!("label=integer:{argument}"),
                (None, None) => String::new(),
            };
            // With a label all of them are intervals, and with a key only those that have it.
            let lacks_all = match method.purpose.key() {
                Some(_) => with == 0 && !without.is_empty(),
                None => with > 0 && without.len() >= with,
            };
            if lacks_all {
                return Err(Problem::NoArgument {
                    method: method.name(),
                    option,
                    has: without,
                });
            }
            if with == 0 {
                return Err(self.no_method(method, found));
            }
        }
        Ok(())
    }

    /// Why the classes have no such method.
    fn no_method(&self, method: &NamedMethod, found: MethodsFound) -> Problem {
        match found.refused.into_iter().next() {
            Some(why) => Problem::Unfit {
                method: method.name(),
                why,
            },
            None => Problem::NoMethod {
                class: dotted(&method.class),
                method: method.method.clone(),
                has: found
                    .has
                    .into_iter()
                    .filter(|name| !name.starts_with('<'))
                    .collect(),
            },
        }
    }
}

/// Result of the search in the classes of the intervals.
#[derive(Default)]
struct MethodsFound {
    purposes: Vec<Purpose>,
    has: std::collections::BTreeSet<String>,
    refused: Vec<String>,
    without_argument: Vec<(Purpose, String)>,
}
