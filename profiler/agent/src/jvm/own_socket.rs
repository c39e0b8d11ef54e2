//! The agent's own socket, in a JVM that was started with the agent (`-agentpath`).
//!
//! A JVM may forbid attaching, or agents that come later. In one that was started with the agent, a thread of the agent
//! takes requests instead. The socket has the protocol of the JVM's own one, and serves the command `load` alone.
//! Sessions talk with both alike.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::*};
use core::time::Duration;
use std::ffi::CString;
use std::io::{BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};

use evenkeel_wire::jvm::OWN_SOCKET;

use crate::jvm::vm::{Jni, Jvmti, Object, Vm, VmEvent};

/// Name of the thread that serves the socket, in Java.
const THREAD: &CStr = c"Evenkeel";
/// A client that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// The longest request.
const REQUEST_MAX: u64 = 8 << 10;
/// Words of a request: version, command and three arguments. The last one is the options.
const WORDS: usize = 5;

/// There is a socket.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Has the JVM start the thread once it has initialised itself. False where it refuses.
pub fn open_later(vm: Vm) -> bool {
    let Some(jvmti) = vm.jvmti() else {
        return false;
    };
    let started = (VmEvent::Started, started as *const c_void);
    let is_set = jvmti.set_callbacks([started].into_iter()).is_ok();
    jvmti.hear(VmEvent::Started, true);
    jvmti.prepare_early();
    is_set
}

/// The JVM ends.
pub fn close() {
    if IS_OPEN.swap(false, AcqRel) {
        let _ = std::fs::remove_file(path());
    }
}

/// Called by the JVM, which has initialised itself.
unsafe extern "system" fn started(jvmti: *mut c_void, jni: *mut c_void, _thread: Object) {
    let jni = Jni(jni);
    if let (Some(thread), Some(vm)) = (jni.new_thread(THREAD), jni.vm()) {
        Jvmti(jvmti).run_thread(thread, serve_all, vm.0);
    }
}

/// The thread's function.
unsafe extern "system" fn serve_all(_jvmti: *mut c_void, _jni: *mut c_void, vm: *mut c_void) {
    let path = path();
    // Of a process that had this number before.
    let _ = std::fs::remove_file(&path);
    let Ok(listener) = UnixListener::bind(&path) else {
        return;
    };
    IS_OPEN.store(true, Release);
    for mut client in listener.incoming().flatten() {
        if is_permitted(&client)
            && let Some(options) = request(&mut client)
        {
            // SAFETY: the JVM, and a text that ends with a zero.
            let code = unsafe { super::Agent_OnAttach(vm, options.as_ptr(), ptr::null_mut()) };
            let _ = write!(client, "0\nreturn code: {code}\n");
        }
    }
}

fn path() -> String {
    format!("/tmp/{OWN_SOCKET}{}", std::process::id())
}

/// Whether the client is of the JVM's user, or root.
fn is_permitted(client: &UnixStream) -> bool {
    // SAFETY: zero is a valid structure, and the kernel writes no more than its length.
    unsafe {
        let mut peer: libc::ucred = core::mem::zeroed();
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let asked = libc::getsockopt(
            client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        );
        asked == 0 && (peer.uid == 0 || peer.uid == libc::geteuid())
    }
}

/// The options of a request to load the agent.
fn request(client: &mut UnixStream) -> Option<CString> {
    client.set_read_timeout(Some(SILENCE)).ok()?;
    client.set_write_timeout(Some(SILENCE)).ok()?;
    let mut words: Vec<Vec<u8>> = vec![Vec::new()];
    for byte in BufReader::new(client.take(REQUEST_MAX)).bytes() {
        match byte.ok()? {
            0 if words.len() == WORDS => {
                let [version, command, _, _, options] = words.try_into().ok()?;
                let is_known = version == b"1" && command == b"load";
                return is_known.then(|| CString::new(options).ok()).flatten();
            }
            0 => words.push(Vec::new()),
            byte => words.last_mut()?.push(byte),
        }
    }
    None
}
