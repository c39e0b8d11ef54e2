//! What the kernel tells of real processes. Where it tells nothing (a container that forbids it), the tests say so and
//! check that the error tells what to do.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_kernel::{KernelEvents, Span, Spans};

fn watch() -> Option<KernelEvents> {
    match KernelEvents::watch_children() {
        Ok(events) => Some(events),
        Err(error) => {
            assert!(error.to_string().contains("perf_event_paranoid"), "{error}");
            eprintln!("left out: {error}");
            None
        }
    }
}

fn shell(script: &str) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdout(Stdio::null());
    shell.spawn().expect("sh")
}

fn spans_until_the_end(mut events: KernelEvents, children: &mut [Child]) -> Vec<Span> {
    let (mut spans, mut all) = (Spans::default(), Vec::new());
    let mut last = 0;
    let mut drain = |events: &mut KernelEvents| {
        events.drain(&mut |event| {
            assert!(event.time >= last, "in order of time");
            last = event.time;
            all.extend(spans.push(&event));
        });
    };
    for child in children {
        while child.try_wait().expect("wait").is_none() {
            drain(&mut events);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    std::thread::sleep(Duration::from_millis(10));
    drain(&mut events);
    assert_eq!(events.lost, 0);
    all
}

/// `sleep 0.05` blocks once for as long, and nobody but the timer ends it.
#[test]
fn a_sleep_is_a_wait_for_a_timer() {
    let Some(events) = watch() else { return };
    let before = ticks();
    let mut sleep = Command::new("sleep").arg("0.05").spawn().expect("sleep");
    let tid = sleep.id();
    let spans = spans_until_the_end(events, std::slice::from_mut(&mut sleep));
    let after = ticks();
    let longest = spans
        .iter()
        .filter(|span| span.tid == tid && !span.preempted)
        .max_by_key(|span| span.end - span.start)
        .expect("it slept");
    assert!(before < longest.start && longest.start < longest.end && longest.end < after);
    // Of the whole time, which is over 50 ms, nearly all: more than half wherever the machine is busy.
    assert!(
        2 * (longest.end - longest.start) > (after - before) / 2,
        "{longest:?}"
    );
    // No thread of the target did it; the timer's interrupt may have struck while one ran.
    assert!(matches!(longest.by_tid, None | Some(0)), "{longest:?}");
}

/// Two loops on one processor take turns: each is preempted, and runs as soon as the other is.
#[test]
fn spinners_on_one_processor_are_preempted() {
    let Some(events) = watch() else { return };
    let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let pinned = format!("taskset -cp 0 $$ >/dev/null; {spin}");
    let mut children = [shell(&pinned), shell(&pinned)];
    let tids: BTreeSet<u32> = children.iter().map(Child::id).collect();
    let spans = spans_until_the_end(events, &mut children);
    let preempted: BTreeSet<u32> = spans
        .iter()
        .filter(|span| span.preempted && tids.contains(&span.tid))
        .map(|span| span.tid)
        .collect();
    assert_eq!(preempted, tids);
    for span in &spans {
        assert!(
            span.start <= span.ready && span.ready <= span.end,
            "{span:?}"
        );
        assert!(!span.preempted || span.ready == span.start && span.by_tid.is_none());
    }
}

/// One end of a pipe waits for the other: where wakers are told, it is the writer.
#[test]
fn a_reader_is_woken_by_the_writer() {
    let Some(events) = watch() else { return };
    if !events.sees_wakers() {
        eprintln!("left out: wakers are told to root only");
        return;
    }
    let mut children = [shell("(sleep 0.05; echo x) | cat")];
    let spans = spans_until_the_end(events, &mut children);
    let tids: BTreeSet<u32> = spans.iter().map(|span| span.tid).collect();
    let by_each_other = spans
        .iter()
        .filter_map(|span| span.by_tid)
        .filter(|by| tids.contains(by));
    assert!(by_each_other.count() > 0, "{spans:#?}");
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}
