//! The used part of the JVM's tables of functions: JNI and JVMTI, by the numbers in their specifications.

use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// An object, class or thread of Java: a reference that is the JVM's.
pub type Object = *mut c_void;
/// A method of Java (`jmethodID`).
pub type MethodId = *mut c_void;
/// A field of Java (`jfieldID`).
type FieldId = *mut c_void;

/// Calls function `$number` of the table that `$env` points to. Arguments have the types that are given.
macro_rules! call {
    ($env:expr, $number:expr, ($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        let function: unsafe extern "system" fn(*mut c_void, $($type),*) -> $result =
            transmute(*(*$env.cast::<*const *const c_void>()).add($number));
        function($env, $($argument),*)
    }};
}

/// A Java virtual machine (`JavaVM`).
#[derive(Clone, Copy, Debug)]
pub struct Vm(pub *mut c_void);

impl Vm {
    /// JNI of the calling thread, which is one of Java's.
    pub fn jni(self) -> Option<Jni> {
        const JNI_1_8: i32 = 0x0001_0008;
        self.environment(JNI_1_8).map(Jni)
    }

    /// A new environment of JVMTI.
    pub fn jvmti(self) -> Option<Jvmti> {
        const JVMTI_11: i32 = 0x300b_0000;
        self.environment(JVMTI_11).map(Jvmti)
    }

    fn environment(self, version: i32) -> Option<*mut c_void> {
        const GET_ENV: usize = 6;
        let mut environment = ptr::null_mut();
        // SAFETY: the JVM's table.
        let refused = unsafe {
            call!(self.0, GET_ENV, (*mut *mut c_void, i32) -> i32, &raw mut environment, version)
        };
        (refused == 0 && !environment.is_null()).then_some(environment)
    }
}

/// JNI of one thread. References that it gives are valid until the thread returns to Java, or [`Jni::in_frame`] ends.
#[derive(Clone, Copy, Debug)]
pub struct Jni(pub *mut c_void);

impl Jni {
    /// The major version of Java, from 11 on.
    pub fn version(self) -> u32 {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 4, () -> i32,) as u32 >> 16 }
    }

    /// The virtual machine.
    pub fn vm(self) -> Option<Vm> {
        let mut vm = ptr::null_mut();
        // SAFETY: the JVM's table.
        let refused = unsafe { call!(self.0, 219, (*mut *mut c_void) -> i32, &raw mut vm) };
        (refused == 0 && !vm.is_null()).then_some(Vm(vm))
    }

    /// An object of class `Thread` that has not been started.
    pub fn new_thread(self, name: &CStr) -> Option<Object> {
        let class = self.find_class(c"java/lang/Thread")?;
        // SAFETY: the JVM's table; a constructor that takes a string, which is the only argument.
        let thread = unsafe {
            let constructor = call!(self.0, 33, (Object, *const c_char, *const c_char) -> MethodId,
                class, c"<init>".as_ptr(), c"(Ljava/lang/String;)V".as_ptr());
            let constructor = self.without_exception(constructor)?;
            let name = call!(self.0, 167, (*const c_char) -> Object, name.as_ptr());
            let name = self.without_exception(name)? as u64;
            call!(self.0, 30, (Object, MethodId, *const u64) -> Object, class, constructor, &raw const name)
        };
        self.without_exception(thread)
    }

    /// Defines a class in the boot loader.
    pub fn define_class(self, name: &CStr, bytes: &[u8]) -> Option<Object> {
        // SAFETY: the JVM's table; the bytes are read during the call.
        let class = unsafe {
            let len = bytes.len() as i32;
            call!(self.0, 5, (*const c_char, Object, *const u8, i32) -> Object, name.as_ptr(), ptr::null_mut(), bytes.as_ptr(), len)
        };
        self.without_exception(class)
    }

    /// A class that the boot loader has.
    pub fn find_class(self, name: &CStr) -> Option<Object> {
        // SAFETY: the JVM's table.
        let class = unsafe { call!(self.0, 6, (*const c_char) -> Object, name.as_ptr()) };
        self.without_exception(class)
    }

    /// A static method of a class, which is initialised.
    pub fn static_method(self, class: Object, name: &CStr, descriptor: &CStr) -> Option<MethodId> {
        // SAFETY: the JVM's table.
        let method = unsafe {
            call!(self.0, 113, (Object, *const c_char, *const c_char) -> MethodId, class, name.as_ptr(), descriptor.as_ptr())
        };
        self.without_exception(method)
    }

    /// Calls a static method without arguments that gives a long. Nothing where it throws.
    pub fn call_long(self, class: Object, method: MethodId) -> Option<i64> {
        // SAFETY: the JVM's table, and a method of this kind.
        let result = unsafe {
            call!(self.0, 134, (Object, MethodId, *const u64) -> i64, class, method, ptr::null())
        };
        (!self.clear_exception()).then_some(result)
    }

    /// Calls a static method with integers that gives nothing.
    pub fn call_void(self, class: Object, method: MethodId, arguments: &[i32]) {
        let mut values = [0_u64; 4];
        for (value, &argument) in values.iter_mut().zip(arguments) {
            *value = u64::from(argument as u32);
        }
        // SAFETY: the JVM's table, and a method of this kind; `jvalue` has eight bytes, whose first are the integer.
        unsafe {
            call!(self.0, 143, (Object, MethodId, *const u64) -> (), class, method, values.as_ptr());
        }
        self.clear_exception();
    }

    /// Characters of a string; nothing without a string.
    pub fn string_len(self, string: Object) -> Option<usize> {
        // SAFETY: the JVM's table.
        (!string.is_null()).then(|| unsafe { call!(self.0, 164, (Object) -> i32, string) as usize })
    }

    /// Writes the first characters of a string in modified UTF-8: how many bytes. There is room for three a character, and a zero.
    pub fn string_bytes(self, string: Object, characters: usize, to: *mut u8) -> usize {
        let end = characters as i32;
        // SAFETY: the JVM's table, and the caller's memory.
        unsafe {
            to.write_bytes(0, characters * 3 + 1);
            call!(self.0, 221, (Object, i32, i32, *mut u8) -> (), string, 0, end, to);
        }
        self.clear_exception();
        // Modified UTF-8 has no zero of its own.
        // SAFETY: it ends with the zero above, if not with the JVM's.
        unsafe { CStr::from_ptr(to.cast()) }.to_bytes().len()
    }

    /// The class of an object.
    pub fn class_of(self, object: Object) -> Option<Object> {
        // SAFETY: the JVM's table.
        let class = unsafe { call!(self.0, 31, (Object) -> Object, object) };
        (!class.is_null()).then_some(class)
    }

    /// The number of a thread in Java, by its object: `Thread.getId`.
    pub fn thread_number(self, thread: Object) -> Option<u64> {
        static FIELD: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        let field = self.field_of_thread(&FIELD, c"tid", c"J")?;
        // SAFETY: the JVM's table, and an object that has the field.
        Some(unsafe { call!(self.0, 100, (Object, FieldId) -> i64, thread, field) as u64 })
    }

    /// The object that a thread is parked for, or is about to be.
    pub fn park_blocker(self, thread: Object) -> Option<Object> {
        static FIELD: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        let field = self.field_of_thread(&FIELD, c"parkBlocker", c"Ljava/lang/Object;")?;
        // SAFETY: the JVM's table, and an object that has the field.
        let blocker = unsafe { call!(self.0, 95, (Object, FieldId) -> Object, thread, field) };
        (!blocker.is_null()).then_some(blocker)
    }

    /// A field of `java.lang.Thread`, looked for once: this class is never unloaded.
    fn field_of_thread(
        self,
        known: &AtomicPtr<c_void>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<FieldId> {
        let field = known.load(Relaxed);
        if !field.is_null() {
            return Some(field);
        }
        let class = self.find_class(c"java/lang/Thread")?;
        // SAFETY: the JVM's table.
        let field = unsafe {
            call!(self.0, 94, (Object, *const c_char, *const c_char) -> FieldId, class, name.as_ptr(), descriptor.as_ptr())
        };
        let field = self.without_exception(field)?;
        known.store(field, Relaxed);
        Some(field)
    }

    /// Clears a pending exception; whether one was pending.
    fn clear_exception(self) -> bool {
        // SAFETY: the JVM's table.
        unsafe {
            let pending = call!(self.0, 228, () -> u8,) != 0;
            if pending {
                call!(self.0, 17, () -> (),);
            }
            pending
        }
    }

    fn without_exception(self, result: *mut c_void) -> Option<*mut c_void> {
        (!self.clear_exception() && !result.is_null()).then_some(result)
    }

    /// A reference that keeps a class, until it is dropped by [`Jni::release`].
    pub fn keep(self, object: Object) -> Object {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 21, (Object) -> Object, object) }
    }

    /// Drops a reference of [`Jni::keep`].
    pub fn release(self, object: Object) {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 22, (Object) -> (), object) }
    }

    /// A reference that does not keep the object.
    pub fn watch(self, object: Object) -> Object {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 226, (Object) -> Object, object) }
    }

    /// Drops a reference of [`Jni::watch`].
    pub fn forget(self, object: Object) {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 227, (Object) -> (), object) }
    }

    /// A reference of this thread to a watched object, if it is still there.
    pub fn seen(self, object: Object) -> Option<Object> {
        // SAFETY: the JVM's table.
        let seen = unsafe { call!(self.0, 25, (Object) -> Object, object) };
        (!seen.is_null()).then_some(seen)
    }

    /// Whether two references are to one object.
    pub fn is_same(self, one: Object, other: Object) -> bool {
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 24, (Object, Object) -> u8, one, other) != 0 }
    }

    /// Runs `work`, and drops the references that it was given.
    pub fn in_frame<R>(self, work: impl FnOnce() -> R) -> R {
        const REFERENCES: i32 = 64;
        // SAFETY: the JVM's table.
        let pushed = unsafe { call!(self.0, 19, (i32) -> i32, REFERENCES) == 0 };
        self.clear_exception();
        let result = work();
        if pushed {
            // SAFETY: the frame that was pushed.
            unsafe { call!(self.0, 20, (Object) -> Object, ptr::null_mut()) };
        }
        result
    }
}

/// A frame of a Java stack (`jvmtiFrameInfo`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackFrame {
    /// The method.
    pub method: MethodId,
    /// Where in its code: of code that was rewritten, which says nothing about the original.
    _location: i64,
}

impl StackFrame {
    /// To be filled.
    pub const NONE: StackFrame = StackFrame {
        method: ptr::null_mut(),
        _location: 0,
    };
}

/// An environment of JVMTI, which belongs to the agent.
#[derive(Clone, Copy, Debug)]
pub struct Jvmti(pub *mut c_void);

/// Events that the JVM reports, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum VmEvent {
    /// The JVM has initialised itself.
    Started = 50,
    /// A class is loaded, or loaded again ([`ClassHook`]). HotSpot hears no single thread for this event.
    ClassFileLoad = 54,
    /// A thread begins `Object.wait`.
    MonitorWait = 73,
    /// It has ended it.
    MonitorWaited = 74,
    /// A thread begins to wait for a monitor.
    ContendedEnter = 75,
    /// It has the monitor.
    ContendedEntered = 76,
    /// All threads stand still, and garbage is collected.
    CollectionStart = 81,
    /// They go on soon.
    CollectionFinish = 82,
}

/// The function called for a class that is loaded or loaded again (`ClassFileLoadHook`).
pub type ClassHook = unsafe extern "system" fn(
    jvmti: *mut c_void,
    jni: *mut c_void,
    class: Object,
    loader: Object,
    name: *const c_char,
    domain: Object,
    len: i32,
    bytes: *const u8,
    new_len: *mut i32,
    new_bytes: *mut *mut u8,
);

/// The function of a thread of the agent's.
pub type ThreadFunction =
    unsafe extern "system" fn(jvmti: *mut c_void, jni: *mut c_void, argument: *mut c_void);

/// Numbers of events: the first and the last that has a function.
const EVENTS: core::ops::RangeInclusive<usize> = 50..=82;
/// `can_retransform_classes` and `can_retransform_any_class`, counted from 0.
const RETRANSFORMS: u128 = 1 << 37 | 1 << 38;
/// `can_generate_monitor_events` and `can_generate_garbage_collection_events`.
const REPORTS_WAITS: u128 = 1 << 28 | 1 << 31;

impl Jvmti {
    /// Asks for what is needed, and sets the functions for events, which are not called before [`Jvmti::hear`]. The JVM's error.
    pub fn prepare(
        self,
        callbacks: impl Iterator<Item = (VmEvent, *const c_void)>,
    ) -> Result<(), i32> {
        self.add_capabilities(RETRANSFORMS)?;
        self.set_callbacks(callbacks)
    }

    /// Asks, while the JVM is being loaded, for the right to load classes again. From then on the JVM knows which compiled code rests on
    /// which class. JDK 17, asked later, throws all of it away at the first such class.
    pub fn prepare_early(self) {
        let _ = self.add_capabilities(RETRANSFORMS);
    }

    /// Sets the functions for events. The JVM's error.
    pub fn set_callbacks(
        self,
        callbacks: impl Iterator<Item = (VmEvent, *const c_void)>,
    ) -> Result<(), i32> {
        let mut table = [ptr::null::<c_void>(); *EVENTS.end() - *EVENTS.start() + 1];
        for (event, function) in callbacks {
            table[event as usize - EVENTS.start()] = function;
        }
        let len = size_of_val(&table) as i32;
        // SAFETY: the JVM's table; the functions are read during the call.
        unsafe { ok(call!(self.0, 121, (*const *const c_void, i32) -> i32, table.as_ptr(), len)) }
    }

    /// Asks for the events of waits and of garbage collections. The JVM's error.
    pub fn add_waits(self) -> Result<(), i32> {
        self.add_capabilities(REPORTS_WAITS)
    }

    fn add_capabilities(self, wanted: u128) -> Result<(), i32> {
        // SAFETY: the JVM's table; the bits are read during the call.
        unsafe { ok(call!(self.0, 141, (*const u128) -> i32, &raw const wanted)) }
    }

    /// Whether an event's function is called, on any thread.
    pub fn hear(self, event: VmEvent, hear: bool) {
        let (mode, event) = (i32::from(hear), event as i32);
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 1, (i32, i32, Object) -> i32, mode, event, ptr::null_mut()) };
    }

    /// Starts a thread of the agent's, a daemon to Java, which calls `function` with `argument`.
    pub fn run_thread(self, thread: Object, function: ThreadFunction, argument: *mut c_void) {
        const PRIORITY: i32 = 5;
        // SAFETY: the JVM's table.
        unsafe {
            call!(self.0, 11, (Object, ThreadFunction, *mut c_void, i32) -> i32, thread, function, argument, PRIORITY)
        };
    }

    /// The calling thread.
    pub fn current_thread(self) -> Option<Object> {
        let mut thread = ptr::null_mut();
        // SAFETY: the JVM's table.
        let refused = unsafe { call!(self.0, 17, (*mut Object) -> i32, &raw mut thread) };
        (refused == 0 && !thread.is_null()).then_some(thread)
    }

    /// A number that an object keeps; others may have the same.
    pub fn identity_hash(self, object: Object) -> u32 {
        let mut hash = 0_i32;
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 57, (Object, *mut i32) -> i32, object, &raw mut hash) };
        hash as u32
    }

    /// Memory that the JVM gives back, with these bytes.
    pub fn copied(self, bytes: &[u8]) -> Option<*mut u8> {
        let mut memory = ptr::null_mut();
        // SAFETY: the JVM's table; fresh memory of this length.
        unsafe {
            let len = bytes.len() as i64;
            if call!(self.0, 45, (i64, *mut *mut u8) -> i32, len, &raw mut memory) != 0 {
                return None;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        }
        Some(memory)
    }

    /// Gives memory back.
    fn free<T>(self, memory: *mut T) {
        // SAFETY: the JVM's table, and memory of its.
        unsafe { call!(self.0, 46, (*mut u8) -> i32, memory.cast()) };
    }

    /// All classes that are loaded. They are many: see [`Jni::in_frame`].
    pub fn loaded_classes(self) -> Vec<Object> {
        let (mut len, mut classes) = (0, ptr::null_mut::<Object>());
        // SAFETY: the JVM's table.
        let refused = unsafe {
            call!(self.0, 77, (*mut i32, *mut *mut Object) -> i32, &raw mut len, &raw mut classes)
        };
        self.list(refused, len, classes)
    }

    /// All threads of the system that run Java. They are many: see [`Jni::in_frame`].
    pub fn threads(self) -> Vec<Object> {
        let (mut len, mut threads) = (0, ptr::null_mut::<Object>());
        // SAFETY: the JVM's table.
        let refused = unsafe {
            call!(self.0, 3, (*mut i32, *mut *mut Object) -> i32, &raw mut len, &raw mut threads)
        };
        self.list(refused, len, threads)
    }

    /// An array that the JVM has made, which is given back to it.
    fn list(self, refused: i32, len: i32, array: *mut Object) -> Vec<Object> {
        if refused != 0 || array.is_null() {
            return Vec::new();
        }
        // SAFETY: an array of this length.
        let list = unsafe { core::slice::from_raw_parts(array, len as usize) }.to_vec();
        self.free(array);
        list
    }

    /// The signature of a class: `Ljava/lang/String;`.
    pub fn class_signature(self, class: Object) -> Option<Vec<u8>> {
        let mut signature = ptr::null_mut::<c_char>();
        // SAFETY: the JVM's table.
        let refused = unsafe {
            call!(self.0, 47, (Object, *mut *mut c_char, *mut *mut c_char) -> i32, class, &raw mut signature, ptr::null_mut())
        };
        (refused == 0).then(|| self.text(signature))
    }

    /// A text of the JVM's, which is given back to it.
    fn text(self, text: *mut c_char) -> Vec<u8> {
        // SAFETY: a text that ends with a zero.
        let copied = unsafe { CStr::from_ptr(text) }.to_bytes().to_vec();
        self.free(text);
        copied
    }

    /// Whether a class may be loaded again with other code.
    pub fn is_modifiable(self, class: Object) -> bool {
        let mut answer = 0_u8;
        // SAFETY: the JVM's table.
        unsafe { call!(self.0, 44, (Object, *mut u8) -> i32, class, &raw mut answer) };
        answer != 0
    }

    /// Has classes loaded again, through the hook. The JVM's error: then all are as they were.
    pub fn retransform(self, classes: &[Object]) -> Result<(), i32> {
        let len = classes.len() as i32;
        // SAFETY: the JVM's table.
        unsafe { ok(call!(self.0, 151, (i32, *const Object) -> i32, len, classes.as_ptr())) }
    }

    /// The innermost frames of a thread's stack.
    pub fn stack(self, thread: Object, frames: &mut [StackFrame]) -> usize {
        let (mut len, max) = (0, frames.len() as i32);
        // SAFETY: the JVM's table; at most `max` frames are written.
        let refused = unsafe {
            call!(self.0, 103, (Object, i32, i32, *mut StackFrame, *mut i32) -> i32, thread, 0, max, frames.as_mut_ptr(), &raw mut len)
        };
        if refused == 0 { len as usize } else { 0 }
    }

    /// Name and descriptor of a method.
    pub fn method_name(self, method: MethodId) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut name, mut descriptor) = (ptr::null_mut::<c_char>(), ptr::null_mut::<c_char>());
        // SAFETY: the JVM's table.
        let refused = unsafe {
            call!(self.0, 63, (MethodId, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char) -> i32,
                method, &raw mut name, &raw mut descriptor, ptr::null_mut())
        };
        (refused == 0).then(|| (self.text(name), self.text(descriptor)))
    }

    /// The class that has a method.
    pub fn declaring_class(self, method: MethodId) -> Option<Object> {
        let mut class = ptr::null_mut();
        // SAFETY: the JVM's table.
        let refused =
            unsafe { call!(self.0, 64, (MethodId, *mut Object) -> i32, method, &raw mut class) };
        (refused == 0 && !class.is_null()).then_some(class)
    }
}

fn ok(error: i32) -> Result<(), i32> {
    if error == 0 { Ok(()) } else { Err(error) }
}
