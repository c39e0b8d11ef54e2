//! The shadow stack against a model: a stack of calls that return, are left by `longjmp`, or belong to another stack.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evenkeel_patch::shadow::{self, FRAMES_MAX, ORPHANS_MAX, recover as recover_for};
use evenkeel_patch::{Frame, thread};
use evenkeel_wire::now_ticks;
use proptest::prelude::*;

fn recover(sp: u64, after: u64) -> Option<u64> {
    recover_for(unsafe { thread::current().shadow.as_ref() }, sp, after)
}

/// The next step of a thread.
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
                        prop_assert!(thread.surface(frame.sp, frame.after, now_ticks()));
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
                    prop_assert!(thread.surface(frame.sp, frame.after, now_ticks()));
                    prop_assert_eq!(thread.pop().ret, frame.ret);
                    unsafe { *slot(frame.sp) = frame.ret };
                    // Those on top look stale now, and are recovered, once.
                    for stashed in over[1..].iter().rev() {
                        prop_assert_eq!(recover(stashed.sp, stashed.after), Some(stashed.ret));
                        prop_assert_eq!(recover(stashed.sp, stashed.after), None);
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

/// A coroutine's call is found, once, by the thread that resumes it, also when the thread that made it has ended.
#[test]
fn other_threads_recover() {
    let frame = |sp| Frame {
        ret: sp + 1,
        sp,
        start: 1,
        after: 0xabc0,
    };
    let recovered = |sp| {
        assert!(thread::current().prepare());
        (recover(sp, 0xabc0), recover(sp, 0xabc0))
    };
    std::thread::spawn(move || {
        assert!(thread::current().prepare());
        assert!(thread::current().push(frame(0x8000)));
        assert!(thread::current().push(frame(0x7000)));
        let other = std::thread::spawn(move || recovered(0x7000)).join();
        assert_eq!(other.unwrap(), (Some(0x7001), None));
        thread::current().close();
        assert!(thread::current().frames().is_empty());
        assert!(
            !thread::current().push(frame(0x6000)),
            "a closed thread has no room"
        );
    })
    .join()
    .unwrap();
    assert_eq!(recovered(0x8000), (Some(0x8001), None));
}

/// Calls from as many stacks as there are slots in `stacks`, all left: orphaned, or in flight while there is room.
fn park(stacks: &mut [u64], after: u64) -> usize {
    let thread = thread::current();
    let mut parked = 0;
    for (i, slot) in stacks.iter_mut().enumerate() {
        let sp = slot as *mut u64 as u64;
        thread.drop_stale(sp);
        let ret = 1 + i as u64;
        if !thread.push(Frame {
            ret,
            sp,
            start: ret,
            after,
        }) {
            break;
        }
        *slot = after;
        parked += 1;
    }
    parked
}

/// However many calls are left that may yet return, each finds its way; and when there is room for no more, calls run
/// unhooked until some have returned.
#[test]
fn no_return_address_is_lost() {
    std::thread::spawn(|| {
        let thread = thread::current();
        assert!(thread.prepare());
        let mut stacks = vec![0u64; 2 * ORPHANS_MAX];
        let parked = park(&mut stacks, 78);
        assert_eq!(
            parked, ORPHANS_MAX,
            "one after the other, each orphaned by the next"
        );
        assert!(thread.shadow_full > 0, "which is counted");
        let find = |stacks: &mut [u64], i: usize| {
            let sp = &raw mut stacks[i] as u64;
            let ret = 1 + i as u64;
            if thread::current().surface(sp, 78, now_ticks()) {
                assert_eq!(thread::current().pop().ret, ret);
            } else {
                assert_eq!(recover(sp, 78), Some(ret), "parked call {i}");
            }
            stacks[i] = ret;
        };
        // Searched one by one they take a while: some from each end and the middle.
        let some = (0..parked)
            .step_by(parked / 100)
            .chain([1, 2, 1023, 1024, 1025]);
        let mut some: Vec<usize> = some.collect();
        some.sort_unstable();
        some.dedup();
        for &i in &some {
            find(&mut stacks, i);
        }
        // The rest dies: there is room again.
        stacks.fill(0);
        assert_eq!(again(&mut stacks), 1000);
        thread.close();
    })
    .join()
    .unwrap();
}

/// Errors that are thrown from one place again and again, whose slot is not used for anything else in between, leave room.
#[test]
fn errors_from_one_place_take_no_room() {
    std::thread::spawn(|| {
        let thread = thread::current();
        assert!(thread.prepare());
        let mut slots = [79u64; 8];
        for i in 0..2 * ORPHANS_MAX as u64 {
            let sp = &raw mut slots[i as usize % 8] as u64;
            let frame = Frame {
                ret: 1 + i,
                sp,
                start: 1 + i,
                after: 79,
            };
            assert!(thread.push(frame), "no room for call {i}");
            thread.left_for(sp + 8);
        }
        for (i, slot) in slots.iter().enumerate() {
            let last = 1 + (2 * ORPHANS_MAX - 8 + i) as u64;
            assert_eq!(recover(&raw const *slot as u64, 79), Some(last));
            assert_eq!(recover(&raw const *slot as u64, 79), None);
        }
        thread.close();
    })
    .join()
    .unwrap();
}

/// Parks a thousand more once the time has come to look which of the parked calls are dead.
fn again(stacks: &mut [u64]) -> usize {
    let mut parked = 0;
    while parked < 1000 {
        parked = park(&mut stacks[..1000], 79);
    }
    parked
}

/// A slot that is used again means the later call, wherever either was made.
#[test]
fn the_newest_call_of_a_slot_is_meant() {
    let mut slot = 80u64;
    let sp = &raw mut slot as u64;
    let push = move |ret, start| {
        assert!(thread::current().prepare());
        assert!(thread::current().push(Frame {
            ret,
            sp,
            start,
            after: 80
        }));
    };
    push(1, 1);
    thread::current().drop_stale(sp + 8); // left for good
    push(2, 2);
    thread::current().drop_stale(sp + 8);
    let own = unsafe { thread::current().shadow.as_ref() };
    assert_eq!(
        shadow::newest(own, sp, 80).map(|frame| unsafe { (*frame).ret }),
        Some(2)
    );
    // A call that moved, so that all are looked at.
    std::thread::spawn(move || push(1, 1)).join().unwrap();
    assert_eq!((recover(sp, 80), recover(sp, 80)), (Some(2), Some(1)));
    // Made here, and in flight still; made later by another thread; returns here.
    push(3, 3);
    std::thread::spawn(move || push(4, 4)).join().unwrap();
    assert!(
        !thread::current().surface(sp, 80, now_ticks()),
        "that is an earlier one"
    );
    assert_eq!(recover(sp, 80), Some(4));
    assert!(thread::current().surface(sp, 80, now_ticks()));
    assert_eq!(thread::current().pop().ret, 3);
}

#[test]
fn a_full_stack_says_so() {
    let thread = thread::current();
    assert!(thread.prepare());
    let full = thread.shadow_full;
    for i in 0..FRAMES_MAX as u64 {
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
    for _ in 0..FRAMES_MAX {
        thread.pop();
    }
    assert!(thread.frames().is_empty());
}
