//! Stacks of threads that are in intervals: what refinement chooses methods by.
//!
//! A thread is looked at by the JVM's own handshake, one at a time: no other stands still.

use core::time::Duration;
use std::collections::HashMap;

use evenkeel_wire::jvm::{Answer, Message};
use evenkeel_wire::now_ticks;

use crate::jvm::classes::Classes;
use crate::jvm::stack;
use crate::jvm::vm::{Jni, Jvmti, MethodId, StackFrame};

/// Frames of a stack that are looked at, from the innermost on.
const FRAMES_MAX: usize = 512;
/// Stacks that one request takes, at most.
const SAMPLES_MAX: usize = 4096;

/// The samples.
#[derive(Debug, Default)]
pub struct Samples {
    /// Ticks since the interval began, and the methods, innermost first.
    stacks: Vec<(u64, Vec<u32>)>,
    methods: HashMap<MethodId, u32>,
}

impl Samples {
    /// Takes this many samples, with pauses between.
    pub fn take(jni: Jni, jvmti: Jvmti, times: u32, period: Duration, frames: usize) -> Samples {
        let mut samples = Samples::default();
        for time in 0..times {
            if time > 0 {
                std::thread::sleep(period);
            }
            jni.in_frame(|| samples.look(jni, jvmti, frames.min(FRAMES_MAX)));
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
            let age = now_ticks().saturating_sub(begun);
            let methods = buffer[..len].iter().map(|frame| {
                let next = self.methods.len() as u32;
                *self.methods.entry(frame.method).or_insert(next)
            });
            let methods = methods.collect();
            self.stacks.push((age, methods));
        });
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
