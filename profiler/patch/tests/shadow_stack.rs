//! The shadow stack against a model: a stack of calls that return, are left by `longjmp`, or belong to another stack.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evenkeel_patch::{Frame, thread};
use proptest::prelude::*;

/// What a thread does next.
#[derive(Clone, Debug)]
enum Step {
    /// A hooked call, this many words deeper.
    Call(u64),
    /// A hooked tail call: the same slot, from the trampoline of the call in flight.
    TailCall,
    /// The innermost call returns.
    Return,
    /// Calls are left without returning, down to this share of those in flight.
    Leave(prop::sample::Index),
    /// The call with this share returns, though others are on top (it never looked stale to them).
    Surface(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (1u64..6).prop_map(Step::Call),
        1 => Just(Step::TailCall),
        4 => Just(Step::Return),
        1 => any::<prop::sample::Index>().prop_map(Step::Leave),
        1 => any::<prop::sample::Index>().prop_map(Step::Surface),
    ];
    prop::collection::vec(step, 1..400)
}

/// The model: calls in flight, and frames of calls that were left but not noticed yet.
#[derive(Default)]
struct Model {
    live: Vec<Frame>,
}

const WORDS: usize = 4096;
static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Model {
    fn check(&self) {
        let live = self
            .live
            .iter()
            .map(|frame| (frame.sp, frame.after, frame.ret));
        let mut frames = thread::current()
            .frames()
            .iter()
            .map(|frame| (frame.sp, frame.after, frame.ret));
        // Whatever was left may still be there; what is alive is, in order.
        for call in live {
            assert!(frames.any(|frame| frame == call), "{call:x?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
    #[test]
    fn calls_find_their_frames(steps in steps()) {
        // The model's machine stack: what lies in the slots distinguishes tail calls from stale frames.
        let mut memory = vec![0u64; WORDS];
        let base = memory.as_mut_ptr() as u64;
        let slot = |sp: u64| sp as *mut u64;
        let thread = thread::current();
        prop_assert!(thread.prepare());
        while !thread.frames().is_empty() {
            thread.pop(); // of a case that failed
        }
        let mut model = Model::default();
        for step in steps {
            let sp = model.live.last().map_or(base + 8 * (WORDS as u64 - 1), |frame| frame.sp);
            let serial = SERIAL.fetch_add(1, Relaxed); // never twice: orphaned frames outlive a case
            match step {
                Step::Call(words) if sp > base + 8 * words => {
                    let sp = sp - 8 * words;
                    unsafe { *slot(sp) = 1 << 40 | serial };
                    let frame = Frame { ret: unsafe { *slot(sp) }, sp, start: serial, after: 2 << 40 | serial };
                    thread.drop_stale(sp);
                    prop_assert!(thread.push(frame));
                    unsafe { *slot(sp) = frame.after };
                    model.live.push(frame);
                    let known = |frame: &Frame| model.live.iter().any(|live| live.after == frame.after);
                    prop_assert!(thread.frames().iter().all(|frame| known(frame) || frame.sp > sp), "what was left is gone");
                }
                Step::TailCall if !model.live.is_empty() => {
                    let frame = Frame { ret: unsafe { *slot(sp) }, sp, start: serial, after: 2 << 40 | serial };
                    thread.drop_stale(sp);
                    prop_assert!(thread.push(frame));
                    unsafe { *slot(sp) = frame.after };
                    model.live.push(frame);
                }
                Step::Return => {
                    if let Some(frame) = model.live.pop() {
                        prop_assert!(thread.surface(frame.sp, frame.after));
                        let popped = thread.pop();
                        prop_assert_eq!((popped.ret, popped.start), (frame.ret, frame.start));
                        unsafe { *slot(frame.sp) = popped.ret };
                    }
                }
                Step::Leave(share) if !model.live.is_empty() => {
                    // All or none of a chain of tail calls.
                    let mut keep = share.index(model.live.len());
                    while keep > 0 && model.live[keep - 1].sp == model.live[keep].sp {
                        keep -= 1;
                    }
                    model.live.truncate(keep);
                }
                Step::Surface(share) if !model.live.is_empty() => {
                    let mut keep = share.index(model.live.len());
                    while keep + 1 < model.live.len() && model.live[keep + 1].sp == model.live[keep].sp {
                        keep += 1;
                    }
                    let frame = model.live[keep];
                    let over = model.live.split_off(keep);
                    prop_assert!(thread.surface(frame.sp, frame.after));
                    prop_assert_eq!(thread.pop().ret, frame.ret);
                    unsafe { *slot(frame.sp) = frame.ret };
                    // Those on top look stale now, and are recovered, once.
                    for stashed in over[1..].iter().rev().take(thread::ORPHANS_MAX) {
                        prop_assert_eq!(thread.recover(stashed.sp, stashed.after), Some(stashed.ret));
                        prop_assert_eq!(thread.recover(stashed.sp, stashed.after), None);
                    }
                }
                _ => {}
            }
            model.check();
        }
        model.live.clear();
        thread.drop_stale(u64::MAX - 1);
        prop_assert!(thread.frames().is_empty());
    }
}

/// A coroutine's call is found by the thread that resumes it, also when the thread that made it has ended.
#[test]
fn other_threads_recover() {
    let frame = Frame {
        ret: 11,
        sp: 0x7000,
        start: 1,
        after: 0xabc0,
    };
    std::thread::spawn(move || {
        assert!(thread::current().prepare());
        assert!(thread::current().push(frame));
        std::thread::spawn(move || {
            assert!(thread::current().prepare());
            assert_eq!(thread::current().recover(frame.sp, frame.after), Some(11));
        })
        .join()
        .unwrap();
        thread::current().close();
        assert!(thread::current().frames().is_empty());
        assert!(
            !thread::current().push(frame),
            "a closed thread has no room"
        );
    })
    .join()
    .unwrap();
    assert!(thread::current().prepare());
    assert_eq!(thread::current().recover(frame.sp, frame.after), Some(11));
}

/// An orphaned frame whose call may still return outlives any number of dead ones.
#[test]
fn live_orphans_are_kept() {
    let thread = thread::current();
    assert!(thread.prepare());
    let mut slot = 77u64;
    let sp = &raw mut slot as u64;
    assert!(thread.push(Frame {
        ret: 5,
        sp,
        start: 1,
        after: 77
    }));
    thread.drop_stale(sp + 8);
    for i in 1..3 * thread::ORPHANS_MAX as u64 {
        assert!(thread.push(Frame {
            ret: 6,
            sp: 16 * i,
            start: 1,
            after: 1
        }));
        thread.drop_stale(16 * i + 8);
    }
    assert_eq!(thread.recover(sp, 77), Some(5));
}

#[test]
fn a_full_stack_says_so() {
    let thread = thread::current();
    assert!(thread.prepare());
    let full = thread.shadow_full;
    for i in 0..thread::FRAMES_MAX as u64 {
        assert!(thread.push(Frame {
            ret: 0,
            sp: u64::MAX - 8 - 8 * i,
            start: 1,
            after: 1
        }));
    }
    assert!(!thread.push(Frame {
        ret: 0,
        sp: 8,
        start: 1,
        after: 1
    }));
    assert_eq!(thread.shadow_full, full + 1);
    for _ in 0..thread::FRAMES_MAX {
        thread.pop();
    }
    assert!(thread.frames().is_empty());
}
