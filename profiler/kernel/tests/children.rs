//! The kernel's events of real processes. Where it reports nothing (a container that forbids it), the tests print so,
//! and check that the error names a remedy.

use evenkeel_wire::now_ticks;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evenkeel_kernel::{Cause, KernelEvents, Span, Spans, Watched, What};

fn watch() -> Option<KernelEvents> {
    watch_whom(Watched::Children)
}

fn watch_whom(whom: Watched) -> Option<KernelEvents> {
    match KernelEvents::watch(whom) {
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
    all.extend(spans.flush());
    all
}

/// `sleep 0.05` blocks once for as long, and nobody but the timer ends it.
#[test]
fn a_sleep_is_a_wait_for_a_timer() {
    let Some(events) = watch() else { return };
    let (begun, before) = (Instant::now(), now_ticks());
    let mut sleep = Command::new("sleep").arg("0.05").spawn().expect("sleep");
    let tid = sleep.id();
    let spans = spans_until_the_end(events, std::slice::from_mut(&mut sleep));
    let after = now_ticks();
    let ticks_per_s = (after - before) as f64 / begun.elapsed().as_secs_f64();
    let longest = spans
        .iter()
        .filter(|span| span.tid == tid && span.cause == Cause::Blocked)
        .max_by_key(|span| span.end - span.start)
        .expect("it slept");
    assert!(before < longest.start && longest.start < longest.end && longest.end < after);
    // All of the 50 ms but for what the thread ran, or was preempted, on its way to sleep.
    let slept_s = (longest.end - longest.start) as f64 / ticks_per_s;
    assert!(slept_s > 0.025, "{longest:?}");
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
        .filter(|span| span.cause == Cause::Preempted && tids.contains(&span.tid))
        .map(|span| span.tid)
        .collect();
    assert_eq!(preempted, tids);
    for span in &spans {
        assert!(
            span.start <= span.ready && span.ready <= span.end,
            "{span:?}"
        );
        let preempted = span.cause == Cause::Preempted;
        assert!(!preempted || span.ready == span.start && span.by_tid.is_none());
    }
}

/// Like the above, with loops that run before the session, as those of a server that is attached to. Then every
/// thread of the machine is watched, and the kernel writes its records in another form.
#[test]
fn spinners_that_ran_already_are_preempted() {
    let loops = "read _; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let begun = || {
        let mut shell = Command::new("taskset");
        shell.args(["-c", "0", "sh", "-c", loops]);
        shell.stdin(Stdio::piped()).spawn().expect("taskset")
    };
    let mut children = [begun(), begun()];
    let mut events = watch_whom(Watched::Everybody);
    for child in &mut children {
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(b"go\n").expect("it reads");
    }
    let mut preempted = BTreeSet::new();
    let mut spans = Spans::default();
    let mut drain = |events: &mut Option<KernelEvents>| {
        if let Some(events) = events {
            events.drain(&mut |event| {
                let span = spans.push(&event);
                let span = span.filter(|span| span.cause == Cause::Preempted);
                preempted.extend(span.map(|span| span.tid));
            });
        }
    };
    for child in &mut children {
        while child.try_wait().expect("wait").is_none() {
            drain(&mut events);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    std::thread::sleep(Duration::from_millis(10));
    drain(&mut events);
    let both = children.iter().all(|child| preempted.contains(&child.id()));
    assert!(events.is_none() || both, "{preempted:?}");
}

/// A reader waits at a pipe: where wakers may be read, the waker is the writer.
#[test]
fn a_reader_is_woken_by_the_writer() {
    let Some(events) = watch() else { return };
    if !events.sees_wakers() {
        eprintln!("left out: only root may read wakers");
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

/// A thread touches the pages of a file that is no longer in memory, each after a pause that is no fault.
#[test]
fn page_faults_are_distinguished_from_other_sleeps() {
    let Some(mut events) = watch() else { return };
    let path = format!(
        "{}/faults-{}",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let page = 1 << 20; // beyond what is read ahead
    std::fs::write(&path, vec![1u8; 8 * page]).expect("a file");
    let file = std::fs::File::open(&path).expect("the file");
    file.sync_all().expect("sync");
    let toucher = std::thread::spawn(move || {
        let forgotten = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&file, 0, None, forgotten).expect("fadvise");
        // SAFETY: a fresh mapping of a file that nobody shortens.
        let map = unsafe {
            let (read, private) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::PRIVATE);
            rustix::mm::mmap(std::ptr::null_mut(), 8 * page, read, private, &file, 0)
        };
        let map = map.expect("mmap").cast::<u8>();
        let before = major_faults();
        for at in 0..8 {
            std::thread::sleep(Duration::from_millis(2));
            // SAFETY: inside the mapping, which stays until the process ends.
            assert_eq!(unsafe { map.add(at * page).read_volatile() }, 1);
        }
        std::thread::sleep(Duration::from_millis(2));
        (rustix::thread::gettid(), major_faults() - before)
    });
    let (tid, faults) = toucher.join().expect("it ended");
    std::fs::remove_file(&path).expect("remove");
    let (mut spans, mut all) = (Spans::default(), Vec::new());
    std::thread::sleep(Duration::from_millis(10));
    events.drain(&mut |event| all.extend(spans.push(&event)));
    all.extend(spans.flush());
    let of_thread = || {
        all.iter()
            .filter(|span| span.tid == tid.as_raw_pid() as u32)
    };
    let seen = of_thread()
        .filter(|span| span.cause == Cause::Fault)
        .count() as i64;
    // A file system in memory has none, and a page may come without a sleep.
    assert!(
        seen <= faults && (faults == 0 || seen > 0),
        "{seen} of {faults}"
    );
    let pauses = of_thread()
        .filter(|span| span.cause == Cause::Blocked)
        .count();
    assert!(pauses >= 9, "{pauses} pauses");
}

/// Major faults of the calling thread.
fn major_faults() -> i64 {
    // SAFETY: zeroes are a usage, which the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
        usage.ru_majflt
    }
}

/// Writing through to a disk waits for it, where no signal helps; a pause can be ended by one.
#[test]
fn a_disk_is_distinguished_from_a_pause() {
    let Some(events) = watch() else { return };
    if !events.sees_wakers() {
        eprintln!("left out: only root may read how threads sleep");
        return;
    }
    let path = format!(
        "{}/synced-{}",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let script =
        format!("sleep 0.02; dd if=/dev/zero of={path} bs=64k count=16 oflag=sync 2>/dev/null");
    let mut children = [shell(&script)];
    let spans = spans_until_the_end(events, &mut children);
    std::fs::remove_file(&path).expect("remove");
    let cause = |cause| spans.iter().filter(move |span| span.cause == cause).count();
    assert!(cause(Cause::Uninterruptible) > 0, "{spans:#?}");
    assert!(cause(Cause::Blocked) > 0, "{spans:#?}");
}

/// A shell that sleeps repeatedly, and prints it. It leaves no events while it is not watched, and is seen again
/// afterwards, with its processes of that time.
#[test]
fn nothing_is_reported_while_it_is_not_watched() {
    let Some(mut events) = watch() else { return };
    let mut shell = Command::new("sh")
        .args(["-c", "while sleep 0.001; do echo slept || exit; done"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut lines = BufReader::new(shell.stdout.take().expect("a pipe")).lines();
    let mut found_after_ten_sleeps = |events: &mut KernelEvents| {
        for line in lines.by_ref().take(10) {
            assert_eq!(line.expect("a line"), "slept");
        }
        // What the kernel has not handed on yet.
        std::thread::sleep(Duration::from_millis(10));
        let mut found = Vec::new();
        events.drain(&mut |event| found.push(event.what));
        found
    };
    assert!(found_after_ten_sleeps(&mut events).len() > 10);
    events.pause();
    events.pause();
    found_after_ten_sleeps(&mut events);
    assert_eq!(found_after_ten_sleeps(&mut events), []);
    events.resume();
    events.resume();
    let found = found_after_ten_sleeps(&mut events);
    assert_eq!(found[0], What::Resumed);
    assert!(found.len() > 10 && !found[1..].contains(&What::Resumed));
    shell.kill().expect("kill");
    shell.wait().expect("wait");
}
