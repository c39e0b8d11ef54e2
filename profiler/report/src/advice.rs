//! Knowledge about servers: the meaning of a finding in the server's own terms, and remedies.
//!
//! The knowledge is data, a file a server under `advice/`. A pattern lists functions. It fits a finding whose function is one of
//! them if all of its conditions hold. These are of the function's caller, the kind of its time, the holders that it waits for, and what
//! they do. The first pattern that fits wins. Else it is the first that fits another function on the finding's path (`along_path.rs`), or
//! its classes. General patterns come last: they say where to look if nothing special is known. Without one a finding has no advice. Names are compared without parameters and the compiler's endings.
//!
//! A pattern is of the functions' own work, unless it has `waits` or `waits_only`, or names kinds of time. What other threads do is no
//! work of the function that waits for them.

mod along_path;

use std::sync::LazyLock;

use evenkeel_analysis::findings::plumbing::base;
use evenkeel_analysis::findings::{Advice, Finding, Holder};
use evenkeel_analysis::profile::{Class, Node, Profile};
use evenkeel_analysis::sites::Kind;
use serde::Deserialize;

/// Words of the command that are searched for the server's program: a wrapper's words may precede it.
const WORDS_MAX: usize = 8;

/// The files, by their name.
const FILES: [(&str, &str); 9] = [
    ("apache.toml", include_str!("../advice/apache.toml")),
    ("kafka.toml", include_str!("../advice/kafka.toml")),
    ("mariadb.toml", include_str!("../advice/mariadb.toml")),
    ("memcached.toml", include_str!("../advice/memcached.toml")),
    ("nginx.toml", include_str!("../advice/nginx.toml")),
    ("postgresql.toml", include_str!("../advice/postgresql.toml")),
    ("redis.toml", include_str!("../advice/redis.toml")),
    ("tomcat.toml", include_str!("../advice/tomcat.toml")),
    ("zookeeper.toml", include_str!("../advice/zookeeper.toml")),
];

static SERVERS: LazyLock<Vec<Server>> = LazyLock::new(|| {
    let parsed = FILES
        .iter()
        .map(|(name, text)| toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}")));
    parsed.collect()
});

/// Knowledge about one server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name.
    pub server: String,
    /// File names of its program.
    pub programs: Vec<String>,
    /// Beginnings of the names of its methods, if it is a Java program: it may run as a part of others.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Activities of holders.
    #[serde(default, rename = "activity")]
    pub activities: Vec<Activity>,
    /// Patterns of findings, the most special first.
    #[serde(rename = "pattern")]
    pub patterns: Vec<Pattern>,
}

/// Work of a thread that has one of these functions open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// The functions.
    pub functions: Vec<String>,
    /// Completes "the owner meanwhile ..".
    pub says: String,
}

/// A pattern of findings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// The finding's function is one of these. If the list is empty, it is any function that `within` allows.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Or, where no pattern has its function: it is work, and most of it is in intervals of these classes, as far as the search came.
    #[serde(default)]
    pub classes: Vec<String>,
    /// One of these calls it; any function if the list is empty.
    #[serde(default)]
    pub called_by: Vec<String>,
    /// One of these is on each of its paths: its function, or one that led to its call.
    #[serde(default)]
    pub within: Vec<String>,
    /// That one is nearer to it than any of these.
    #[serde(default)]
    pub nearer_than: Vec<String>,
    /// It says what is left to say where no other pattern fits, of any function on the path or of a class.
    #[serde(default)]
    pub general: bool,
    /// It is of one of these kinds. If the list is empty, it is work, or anything that `waits` allows.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// It may be a wait.
    #[serde(default)]
    pub waits: bool,
    /// It is a wait, and its calls are not so short that they are work alone.
    #[serde(default)]
    pub waits_only: bool,
    /// With waits followed: holders of these names have `HELD_MIN` of the time.
    #[serde(default)]
    pub held_by: Vec<String>,
    /// With waits followed: the holders are in one of these functions.
    #[serde(default)]
    pub while_in: Vec<String>,
    /// With waits followed: the last statement of the session at the head of the chain begins with one of these, or the next one.
    #[serde(default)]
    pub after: Vec<String>,
    /// One of these functions ran in some interval of the profile.
    #[serde(default)]
    pub seen: Vec<String>,
    /// More intervals are in progress than there are processors, and no class of few intervals takes most of the time.
    #[serde(default)]
    pub crowded: bool,
    /// Its meaning, a sentence without its end.
    pub means: String,
    /// The check by the server's own means: a query or command, and its result.
    pub check: String,
    /// The awaited thread owns something, so the text says what the owner does during the wait.
    #[serde(default)]
    pub owner: bool,
    /// Settings of the server that may help, the best first, as `evenkeel tune` knows them.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// Remedies, the best first.
    pub advice: Vec<Advice>,
}

/// A holder counts from this part of a finding's time on.
const HELD_MIN: f64 = 0.3;
/// A finding is a wait if others' time is so much of it.
const WAITED_MIN: f64 = 0.5;
/// Shorter calls have not slept: a thread that sleeps is switched out and in again, and another one wakes it. Only for locks that are
/// held for long: of short waits, many calls without a wait hide the few that have one.
const SLEEP_NS_MIN: f64 = 5_000.0;
/// A finding is one of classes if their intervals have this part of its share.
pub(crate) const OF_CLASSES_MIN: f64 = 0.5;
/// A finding has remedies from this part of the variance of all intervals on.
const HELPS_MIN: f64 = 0.05;
/// A class burns the processor if it has this part of the time, ...
const BURNS_MIN: f64 = 0.5;
/// ... in so few of the intervals.
const BURNS_INTERVALS: f64 = 0.1;

impl Pattern {
    /// Whether a finding of this profile is one of these.
    pub fn fits(&self, profile: &Profile, finding: &Finding) -> bool {
        let caller = finding.called_by.as_deref();
        // Time without a processor is no work of those that led to it.
        let is_any =
            self.functions.is_empty() && !self.within.is_empty() && finding.kind != Kind::Preempted;
        (is_any || has(&self.functions, &finding.function))
            && (self.called_by.is_empty()
                || caller.is_some_and(|caller| has(&self.called_by, caller)))
            && (self.within.is_empty()
                || along_path::is_within(finding, &self.within, &self.nearer_than))
            && self.allows(finding)
            && (self.held_by.is_empty() || self.is_held(finding))
            && (self.while_in.is_empty() || self.is_meanwhile(finding))
            && (self.after.is_empty() || self.is_after(finding))
            && (self.seen.is_empty() || ran(&profile.tree, &self.seen))
            && (!self.crowded || is_crowded(profile))
    }

    /// Whether a finding is work of intervals of the pattern's classes.
    fn fits_class(&self, finding: &Finding) -> bool {
        let classes = finding.classes.iter();
        let own = classes.filter(|class| self.classes.contains(&class.name));
        let share: f64 = own.map(|class| class.share).sum();
        finding.kind == Kind::Call && share > 0.0 && share >= OF_CLASSES_MIN * finding.share
    }

    fn allows(&self, finding: &Finding) -> bool {
        match self.kinds.is_empty() {
            true if self.waits_only => is_wait(finding) || !is_short(finding),
            true => self.waits || !is_wait(finding),
            // Stacks do not show the kind.
            false => finding.seen_only || self.kinds.contains(&finding.kind),
        }
    }

    fn is_held(&self, finding: &Finding) -> bool {
        let head = finding.chain.as_ref().and_then(|chain| chain.links.last());
        let head = head.and_then(|head| head.role.as_ref());
        if head.is_some_and(|role| self.held_by.contains(role)) {
            return true;
        }
        let holders = finding.waits_for.iter();
        let held = holders.filter(|holder| self.held_by.contains(&holder.class));
        held.map(|holder| holder.of_time).sum::<f64>() >= HELD_MIN
    }

    /// By the last statement of the head of the chain, if it is known, and else by the statements that ended such waits.
    fn is_after(&self, finding: &Finding) -> bool {
        let head = finding.chain.as_ref().and_then(|chain| chain.links.last());
        let idle = head.and_then(|head| head.idle.as_ref());
        let begins = |statement: &String| {
            let statement = statement.to_lowercase();
            self.after.iter().any(|words| statement.starts_with(words))
        };
        match idle.and_then(|idle| idle.last.as_ref()) {
            Some(last) => begins(last),
            None => finding.waits_for.iter().any(|by| begins(&by.class)),
        }
    }

    /// By what the head of the chain does. Without a chain by what most of the waited time is; where no function has most of it, by what the
    /// holders do that have most of it together.
    fn is_meanwhile(&self, finding: &Finding) -> bool {
        let head = finding.chain.as_ref().and_then(|chain| chain.links.last());
        let head = head.and_then(|head| head.function.as_ref());
        if head.is_some_and(|function| has(&self.while_in, function)) {
            return true;
        }
        if let Some(meanwhile) = &finding.meanwhile {
            return has(&self.while_in, &meanwhile.function);
        }
        let holders = finding.waits_for.iter();
        let does = |holder: &&Holder| {
            let function = holder.function.as_ref();
            function.is_some_and(|function| has(&self.while_in, function))
        };
        holders
            .filter(does)
            .map(|holder| holder.of_time)
            .sum::<f64>()
            >= WAITED_MIN
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == base(name))
}

/// Whether the server was seen with this value of a setting, `NAME = VALUE`, or with another, `NAME != VALUE`.
fn holds(profile: &Profile, condition: &str) -> bool {
    let Some((name, value)) = condition.split_once('=') else {
        return false;
    };
    let unequal = name.strip_suffix('!');
    let seen = profile.details.settings.get(unequal.unwrap_or(name).trim());
    seen.is_some_and(|seen| (seen == value.trim()) != unequal.is_some())
}

/// Whether one of these functions is in the tree.
fn ran(node: &Node, names: &[String]) -> bool {
    has(names, &node.name) || node.children.iter().any(|child| ran(child, names))
}

/// Whether a finding is not its function's own work.
fn is_wait(finding: &Finding) -> bool {
    let kind = finding.kind;
    let waits = kind.is_wait()
        || matches!(
            kind,
            Kind::Idle | Kind::Others | Kind::Helper | Kind::Asleep
        );
    let is_free = kind == Kind::Lock && is_short(finding);
    waits && !is_free || for_others(finding) >= WAITED_MIN
}

/// The part of a finding's time in which it waits for known holders.
fn for_others(finding: &Finding) -> f64 {
    finding.waits_for.iter().map(|it| it.of_time).sum()
}

/// Whether its calls are too short for a sleep. What was seen in stacks alone has no time, and may be a wait.
fn is_short(finding: &Finding) -> bool {
    finding.mean_ns / finding.calls_mean < SLEEP_NS_MIN
}

/// Whether more intervals are in progress than there are processors. A class of few and long intervals that takes most of the time is
/// another cause.
fn is_crowded(profile: &Profile) -> bool {
    let processors = profile.details.machine.unwrap_or_default().processors;
    let active = profile.in_progress().unwrap_or(0.0);
    let classes = &profile.classes.classes;
    let time = |class: &Class| class.mean_ns * class.intervals as f64;
    let whole: f64 = classes.iter().map(time).sum();
    let burns = |class: &Class| {
        time(class) >= BURNS_MIN * whole
            && class.intervals as f64 <= BURNS_INTERVALS * profile.intervals as f64
    };
    processors > 0 && active > f64::from(processors) && !classes.iter().any(burns)
}

impl Server {
    /// The pattern of a finding.
    pub fn pattern(&self, profile: &Profile, finding: &Finding) -> Option<&Pattern> {
        let patterns = |general| {
            let patterns = self.patterns.iter();
            patterns.filter(move |pattern| pattern.general == general)
        };
        let on_path = |general| {
            let known = |finding: &Finding| {
                patterns(general).find(|pattern| pattern.fits(profile, finding))
            };
            let others = match general {
                true => along_path::others_for_sure(finding),
                false => along_path::others(finding).collect(),
            };
            known(finding).or_else(|| others.iter().find_map(known))
        };
        let of_class = || patterns(false).find(|pattern| pattern.fits_class(finding));
        on_path(false).or_else(of_class).or_else(|| on_path(true))
    }

    /// The part of a pattern's advice that is not followed already, as far as the profile's functions and the server's settings show.
    fn advice(profile: &Profile, pattern: &Pattern) -> Vec<Advice> {
        let is_set = |advice: &Advice| advice.done_with.iter().any(|value| holds(profile, value));
        let is_done = |advice: &&Advice| ran(&profile.tree, &advice.done_if) || is_set(advice);
        let open = pattern.advice.iter().filter(|advice| !is_done(advice));
        open.cloned().collect()
    }

    /// The finding in the server's terms, with the owner's work during the wait.
    fn means(&self, pattern: &Pattern, finding: &Finding) -> String {
        let meanwhile = finding.meanwhile.as_ref().filter(|_| pattern.owner);
        let activity = meanwhile.and_then(|meanwhile| {
            let name = base(&meanwhile.function);
            let does = |activity: &&Activity| activity.functions.iter().any(|known| known == name);
            Some((self.activities.iter().find(does)?, name))
        });
        match activity {
            Some((activity, name)) => {
                format!(
                    "{}; the owner meanwhile {} ({name})",
                    pattern.means, activity.says
                )
            }
            None => pattern.means.clone(),
        }
    }
}

/// All servers with advice.
pub fn servers() -> &'static [Server] {
    &SERVERS
}

/// The server that a command runs, if it is known. A bare word behind an option is the option's value: a user's name, as in
/// `pgbouncer -u postgres`.
pub(crate) fn server_of(target: &str) -> Option<&'static Server> {
    let words: Vec<&str> = target.split_whitespace().take(WORDS_MAX).collect();
    let is_value = |at: usize| {
        let before = at.checked_sub(1).map(|before| words[before]);
        !words[at].contains('/')
            && before.is_some_and(|before| before.starts_with('-') && before != "--")
    };
    let programs = (0..words.len()).filter(|&at| !is_value(at));
    let mut programs = programs.map(|at| words[at].rsplit('/').next().unwrap_or(words[at]));
    programs.find_map(|program| {
        let runs = |server: &&Server| server.programs.iter().any(|known| known == program);
        servers().iter().find(runs)
    })
}

/// The server that was profiled, by its command, or by the package of one of its methods.
fn profiled(profile: &Profile) -> Option<&'static Server> {
    let has_method = |server: &&Server| is_of(&profile.tree, &server.packages);
    server_of(&profile.target).or_else(|| servers().iter().find(has_method))
}

/// Whether the name of a function in the tree begins with one of these.
fn is_of(node: &Node, packages: &[String]) -> bool {
    packages
        .iter()
        .any(|package| node.name.starts_with(package))
        || node.children.iter().any(|child| is_of(child, packages))
}

/// The settings that a profile's findings point at, those of the largest finding first.
pub fn knobs(profile: &Profile) -> Vec<&'static str> {
    let Some(server) = profiled(profile) else {
        return Vec::new();
    };
    let patterns = profile
        .findings
        .iter()
        .filter_map(|finding| server.pattern(profile, finding));
    let mut knobs: Vec<&str> = Vec::new();
    for knob in patterns.flat_map(|pattern| &pattern.knobs) {
        if !knobs.contains(&knob.as_str()) {
            knobs.push(knob);
        }
    }
    knobs
}

/// Whether it is worth to change anything for a finding. Where most slow intervals are not in the profile, what varies in the others is
/// not what users notice.
fn may_help(profile: &Profile, finding: &Finding) -> bool {
    let part = profile.explains_a_part();
    let explained = part.map_or(1.0, |missing| 1.0 - missing.share);
    part.is_none() || finding.seen_only || explained * finding.share >= HELPS_MIN
}

/// Adds to each finding what it means and what helps, where its server and its pattern are known.
pub fn add(profile: &mut Profile) {
    let Some(server) = profiled(profile) else {
        return;
    };
    let known = |finding: &Finding| {
        let pattern = server.pattern(profile, finding)?;
        let advice = match may_help(profile, finding) {
            true => Server::advice(profile, pattern),
            false => Vec::new(),
        };
        Some((server.means(pattern, finding), &pattern.check, advice))
    };
    let known: Vec<_> = profile.findings.iter().map(known).collect();
    for (finding, known) in profile.findings.iter_mut().zip(known) {
        if let Some((means, check, advice)) = known {
            finding.means = Some(means);
            finding.check = Some(check.clone());
            finding.advice = advice;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many locks take time without a wait: each was free.
    #[test]
    fn a_lock_that_was_free_is_no_wait() {
        let server = server_of("postgres").unwrap();
        let finding = |kind, mean_ns, calls_mean| Finding {
            function: "LockRelationOid".to_owned(),
            kind,
            mean_ns,
            calls_mean,
            ..Finding::default()
        };
        let name = |finding: &Finding| {
            let pattern = server.pattern(&Profile::default(), finding).unwrap();
            pattern.name.clone()
        };
        let (many, wait) = ("locks of many tables", "locks of tables");
        let free = finding(Kind::Lock, 60_000.0, 100.0);
        assert_eq!(name(&free), many);
        assert_eq!(name(&finding(Kind::Call, 60_000.0, 100.0)), many);
        assert_eq!(name(&finding(Kind::Lock, 60_000.0, 1.0)), wait);
        assert_eq!(name(&finding(Kind::Event, 60_000.0, 100.0)), wait);
        assert_eq!(name(&finding(Kind::Call, 0.0, 0.0)), wait, "seen only");
        let held = Finding {
            waits_for: vec![Holder {
                of_time: 0.9,
                ..Holder::default()
            }],
            ..free
        };
        assert_eq!(name(&held), wait);
    }

    #[test]
    fn time_without_a_processor_is_not_what_led_to_it() {
        let server = server_of("apache2").unwrap();
        let finding = |function: &str, kind| Finding {
            function: function.to_owned(),
            kind,
            paths: vec![format!("request > proxy_run_scheme_handler > {function}").into()],
            ..Finding::default()
        };
        let name = |finding: &Finding| {
            let pattern = server.pattern(&Profile::default(), finding).unwrap();
            pattern.name.clone()
        };
        let back_end = finding("poll", Kind::Socket);
        assert_eq!(name(&back_end), "slow back end");
        let runnable = finding("waiting for a CPU", Kind::Preempted);
        assert_eq!(name(&runnable), "processors");
    }

    #[test]
    fn what_would_help_little_is_not_advised() {
        use evenkeel_analysis::profile::{NotSeenInside, Sampling};
        let profile = |missing| Profile {
            sampling: Some(Sampling {
                slow_not_seen_inside: NotSeenInside {
                    share: missing,
                    ..NotSeenInside::default()
                },
                ..Sampling::default()
            }),
            ..Profile::default()
        };
        let finding = |share, seen_only| Finding {
            share,
            seen_only,
            ..Finding::default()
        };
        assert!(may_help(&profile(0.0), &finding(0.02, false)));
        assert!(may_help(&profile(0.5), &finding(0.1, false)));
        assert!(!may_help(&profile(0.998), &finding(0.97, false)));
        assert!(may_help(&profile(0.998), &finding(0.0, true)));
    }

    #[test]
    fn a_users_name_is_no_server() {
        assert!(server_of("/usr/sbin/pgbouncer -u postgres /etc/pgbouncer.ini").is_none());
        for target in [
            "postgres -D data",
            "runuser -u postgres -- postgres -D data",
            "sudo -u postgres /usr/lib/postgresql/15/bin/postgres -D data",
        ] {
            let server = server_of(target).expect("PostgreSQL");
            assert_eq!(server.server, "PostgreSQL", "{target}");
        }
    }
}
