//! Stacks of threads that are in intervals: what refinement chooses methods by.
//!
//! A thread is looked at by the JVM's own handshake, one at a time: no other stands still. Before there are probes, all
//! threads are looked at, and intervals are known by their methods.

use core::time::Duration;
use std::collections::HashMap;
use std::time::Instant;

use evenkeel_wire::jvm::{Answer, Message};
use evenkeel_wire::now_ticks;

use crate::jvm::classes::Classes;
use crate::jvm::stack;
use crate::jvm::vm::{Jni, Jvmti, MethodId, Object, StackFrame};

/// Frames of a stack that are looked at, from the innermost on.
const FRAMES_MAX: usize = 512;
/// Stacks that one request takes, at most.
const SAMPLES_MAX: usize = 4096;
/// A pause is at least this many times as long as the look before it: a JVM may have thousands of threads.
const PAUSE_MIN: u32 = 9;

/// When samples are taken, and how much of a stack is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// How many.
    pub times: u32,
    /// The time between them.
    pub period: Duration,
    /// Frames, from the innermost on.
    pub frames: usize,
}

/// The samples.
#[derive(Debug, Default)]
pub struct Samples {
    /// Ticks since the interval began, and the methods, innermost first.
    stacks: Vec<(u64, Vec<u32>)>,
    methods: HashMap<MethodId, u32>,
    /// Whether a method is of one of the intervals' classes.
    are_of: HashMap<MethodId, bool>,
}

impl Samples {
    /// Takes samples of threads that are in intervals; or, if there are such, of all that are in a method of these
    /// classes.
    pub fn take(jni: Jni, jvmti: Jvmti, looks: Looks, classes: &[Object]) -> Samples {
        let mut samples = Samples::default();
        let frames = looks.frames.min(FRAMES_MAX);
        let mut pause = None;
        for _ in 0..looks.times {
            if let Some(pause) = pause {
                std::thread::sleep(pause);
            }
            let began = Instant::now();
            jni.in_frame(|| match classes {
                [] => samples.look(jni, jvmti, frames),
                _ => samples.look_everywhere(jni, jvmti, frames, classes),
            });
            pause = Some(looks.period.max(PAUSE_MIN * began.elapsed()));
        }
        for thread in stack::take_retired() {
            jni.forget(thread);
        }
        samples
    }

    fn look(&mut self, jni: Jni, jvmti: Jvmti, frames: usize) {
        let mut buffer = [StackFrame::NONE; FRAMES_MAX];
        stack::each_in_interval(|java, begun| {
            let Some(thread) = jni.seen(java.thread()) else {
                return;
            };
            let len = jvmti.stack(thread, &mut buffer[..frames]);
            // It is a stack of that interval if the interval is still open.
            if len == 0 || java.begun() != begun || self.stacks.len() >= SAMPLES_MAX {
                return;
            }
            self.add(now_ticks().saturating_sub(begun), &buffer[..len]);
        });
    }

    /// The age of an interval is not known here: all count alike.
    fn look_everywhere(&mut self, jni: Jni, jvmti: Jvmti, frames: usize, classes: &[Object]) {
        let mut buffer = [StackFrame::NONE; FRAMES_MAX];
        for thread in jvmti.threads() {
            let len = jvmti.stack(thread, &mut buffer[..frames]);
            let mut found = buffer[..len].iter();
            let is_in_one = found.any(|frame| self.is_of(jni, jvmti, frame.method, classes));
            if is_in_one && self.stacks.len() < SAMPLES_MAX {
                self.add(1, &buffer[..len]);
            }
        }
    }

    fn is_of(&mut self, jni: Jni, jvmti: Jvmti, method: MethodId, classes: &[Object]) -> bool {
        *self.are_of.entry(method).or_insert_with(|| {
            let class = jvmti.declaring_class(method);
            class.is_some_and(|class| classes.iter().any(|&one| jni.is_same(one, class)))
        })
    }

    fn add(&mut self, age: u64, frames: &[StackFrame]) {
        let methods = frames.iter().map(|frame| {
            let next = self.methods.len() as u32;
            *self.methods.entry(frame.method).or_insert(next)
        });
        let methods = methods.collect();
        self.stacks.push((age, methods));
    }

    /// As a message: the stacks, and what the methods are.
    pub fn message(&self, jni: Jni, jvmti: Jvmti, classes: &mut Classes) -> Message {
        let mut message = Message::new(Answer::Samples as u8);
        message.number(self.stacks.len() as u32);
        for (age, methods) in &self.stacks {
            message.long(*age).number(methods.len() as u32);
            for &method in methods {
                message.number(method);
            }
        }
        message.number(self.methods.len() as u32);
        for (&method, &number) in &self.methods {
            message.number(number);
            jni.in_frame(|| describe(&mut message, jni, jvmti, classes, method));
        }
        message
    }
}

/// Adds a method's class and names, all empty where it is gone.
fn describe(
    message: &mut Message,
    jni: Jni,
    jvmti: Jvmti,
    classes: &mut Classes,
    method: MethodId,
) {
    let described = || {
        let class = jvmti.declaring_class(method)?;
        let (name, descriptor) = jvmti.method_name(method)?;
        let signature = jvmti.class_signature(class)?;
        Some((class, signature, name, descriptor))
    };
    match described() {
        Some((class, signature, name, descriptor)) => {
            let is_modifiable = jvmti.is_modifiable(class);
            message.number(classes.number(jni, class));
            message.byte(u8::from(is_modifiable));
            message.bytes(&signature).bytes(&name).bytes(&descriptor);
        }
        None => {
            message.number(u32::MAX).byte(0);
            message.bytes(&[]).bytes(&[]).bytes(&[]);
        }
    }
}
