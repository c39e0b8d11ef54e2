//! The class in the JVM that probes call, defined once a JVM.

use core::ffi::CStr;

use crate::jvm::vm::{Jni, MethodId, Object};

const NAME: &CStr = c"java/lang/EvenkeelProbe";

/// The helper class, and what of it is called.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    class: Object,
    spin: MethodId,
}

/// The helper of this JVM, defined from `bytes` if the JVM has none yet.
pub fn ensure(jni: Jni, bytes: &[u8]) -> Result<Helper, &'static str> {
    let class = jni
        .find_class(NAME)
        .or_else(|| jni.define_class(NAME, bytes))
        .ok_or("the JVM does not accept the class of the probes")?;
    let spin = jni.static_method(class, c"spin", c"(II)V");
    let newest = jni.static_method(class, c"recording", c"()J");
    let spin = spin
        .filter(|_| newest.is_some())
        .ok_or("the JVM has a class of the probes that belongs to another version: restart it")?;
    Ok(Helper { class, spin })
}

/// Where the entry of the agent is that serves the helper class: another copy of this library may have been loaded before.
pub fn agent(jni: Jni) -> Option<usize> {
    let class = jni.find_class(NAME)?;
    let method = jni.static_method(class, c"agent", c"()J")?;
    jni.call_long(class, method).map(|address| address as usize)
}

impl Helper {
    /// Enters and leaves a probe this many times.
    pub fn spin(self, jni: Jni, probe: u32, times: u32) {
        jni.call_void(self.class, self.spin, &[probe as i32, times as i32]);
    }
}
