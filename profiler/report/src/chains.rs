//! Chains of waits in a sentence: `"select .." waits for "alter .." (pid 12), which waits for a session idle in transaction (pid 11, ..)`.

use evenkeel_analysis::OUTSIDE;
use evenkeel_analysis::findings::{Chain, IdleInTransaction, Link};
use evenkeel_analysis::intervals::classes::UNLABELLED;

use crate::{fit, names, units};

/// Columns of a class's name.
const CLASS_WIDTH: usize = 48;
/// Columns of a function's name.
const NAME_WIDTH: usize = 40;
/// Links named of a longer chain, with its head.
const LINKS_MAX: usize = 4;

/// A chain in a sentence without its end.
pub fn says(chain: &Chain) -> String {
    let waiter = match chain.class.as_str() {
        UNLABELLED => "an interval".to_owned(),
        class => quoted(class),
    };
    let mut text = waiter;
    let left_out = chain.links.len().saturating_sub(LINKS_MAX);
    for (at, link) in chain.links.iter().enumerate() {
        let is_left_out = at + 1 >= LINKS_MAX && at + 1 < chain.links.len();
        if is_left_out {
            continue;
        }
        text += match at {
            0 => " waits for ",
            _ => ", which waits for ",
        };
        if left_out > 0 && at + 1 == chain.links.len() {
            text += &format!(
                "{} and in the end for ",
                units::counted(left_out as u64, "other")
            );
        }
        text += &self::link(link);
    }
    text + &format!("; at most {}", when(chain))
}

fn when(chain: &Chain) -> String {
    let took = units::duration(chain.waited_ns);
    match chain.ended_unix_ns {
        Some(ended) => format!(
            "{took} an interval, until {} UTC",
            units::time_of_day(ended)
        ),
        None => format!("{took} an interval"),
    }
}

fn link(link: &Link) -> String {
    let details: Vec<String> = [number(link), link.idle.as_ref().and_then(idle), place(link)]
        .into_iter()
        .flatten()
        .collect();
    let what = match (&link.idle, &link.class, &link.role) {
        (Some(_), ..) => "a session idle in transaction".to_owned(),
        (None, Some(class), _) if class == UNLABELLED => "another interval".to_owned(),
        (None, Some(class), _) => quoted(class),
        (None, None, Some(role)) if role.starts_with(OUTSIDE) => {
            names::shortened(&format!("a {role}"), NAME_WIDTH + fit::columns(OUTSIDE))
        }
        (None, None, Some(role)) => with_article(role),
        (None, None, None) => "another thread".to_owned(),
    };
    match details.is_empty() {
        true => what,
        false => format!("{what} ({})", details.join(", ")),
    }
}

/// The number of a thread, as the system has it.
fn number(link: &Link) -> Option<String> {
    let tid = link.tid?;
    // A process has a title; a thread of a pool has a mark before its number.
    let is_process = link.thread.as_ref().is_some_and(|name| name.contains(": "));
    let word = if is_process { "pid" } else { "thread" };
    Some(match link.threads {
        0 | 1 => format!("{word} {tid}"),
        many => format!("{many} in a row, {word} {tid} at their head"),
    })
}

fn idle(idle: &IdleInTransaction) -> Option<String> {
    let mut text = match idle.since_unix_ns {
        _ if idle.for_ns <= 0.0 => return None,
        Some(since) => format!("since {} UTC", units::time_of_day(since)),
        None => format!("for {}", units::duration(idle.for_ns)),
    };
    if let Some(last) = idle.last.as_deref().filter(|last| *last != UNLABELLED) {
        text += &format!(", last statement {}", quoted(last));
    }
    Some(text)
}

/// What the head does.
fn place(link: &Link) -> Option<String> {
    let function = link.function.as_ref().filter(|_| link.idle.is_none())?;
    Some(match function.contains(": ") {
        true => function.clone(),
        false => format!("in {}", names::shortened(function, NAME_WIDTH)),
    })
}

fn with_article(role: &str) -> String {
    let is_vowel = role.starts_with(['a', 'e', 'i', 'o', 'u', 'I']);
    let article = if is_vowel { "an" } else { "a" };
    format!("{article} {role}")
}

fn quoted(class: &str) -> String {
    format!("\"{}\"", fit::middle(class, CLASS_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(class: &str, tid: u64, threads: u64) -> Link {
        Link {
            class: Some(class.to_owned()),
            threads,
            thread: Some(format!("postgres: app shop [local] {tid}")),
            tid: Some(tid),
            ..Link::default()
        }
    }

    #[test]
    fn the_head_is_named() {
        let head = Link {
            role: Some("session in no recorded interval".to_owned()),
            idle: Some(IdleInTransaction {
                for_ns: 1.6e9,
                since_unix_ns: Some(50_520_120_000_000),
                last: Some("select ?".to_owned()),
            }),
            ..of("", 4711, 1)
        };
        let head = Link {
            class: None,
            ..head
        };
        let mut chain = Chain {
            class: "select 1".to_owned(),
            waited_ns: 1.3e9,
            links: vec![of("alter table t", 4712, 1), head],
            ..Chain::default()
        };
        assert_eq!(
            says(&chain),
            "\"select 1\" waits for \"alter table t\" (pid 4712), which waits for a session idle in transaction (pid 4711, \
             since 14:02:00.120 UTC, last statement \"select ?\"); at most 1.30 s an interval"
        );
        chain.ended_unix_ns = Some(50_521_720_000_000);
        chain.links = vec![Link {
            role: Some("autovacuum worker".to_owned()),
            function: Some("RelationTruncate".to_owned()),
            class: None,
            ..of("", 9, 1)
        }];
        assert_eq!(
            says(&chain),
            "\"select 1\" waits for an autovacuum worker (pid 9, in RelationTruncate); at most 1.30 s an interval, \
             until 14:02:01.720 UTC"
        );
    }

    #[test]
    fn a_queue_is_one_link_and_a_long_chain_has_its_head() {
        let mut chain = Chain {
            class: UNLABELLED.to_owned(),
            waited_ns: 2e6,
            links: vec![of("update t", 8, 5)],
            ..Chain::default()
        };
        let text = says(&chain);
        let queue = "an interval waits for \"update t\" (5 in a row, pid 8 at their head); ";
        assert!(text.starts_with(queue), "{text}");
        chain.links = ["a", "b", "c", "d", "e", "f"]
            .map(|name| of(name, 1, 1))
            .to_vec();
        let text = says(&chain);
        let named = |name: &str| text.contains(&format!("\"{name}\""));
        assert!(
            text.contains("waits for 2 others and in the end for \"f\" (pid 1)"),
            "{text}"
        );
        assert!(named("c") && !named("d") && !named("e"), "{text}");
    }
}
