//! A shared library compiled from `tests/programs` and loaded into the test.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evenkeel_patch::LoadedModule;
use evenkeel_symbols::{DebugSources, Module};

/// A loaded library; it stays loaded.
pub struct Library {
    handle: *mut libc::c_void,
    pub path: PathBuf,
    pub loaded: LoadedModule,
}

// SAFETY: the loader's functions may be called from any thread.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

/// Compiles `source` to `name` in a directory that lives as long as the build.
pub fn compile(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let unique = format!(
        "{}-{}-{name}",
        std::process::id(),
        COUNT.fetch_add(1, Relaxed)
    );
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
    let cpp = source
        .extension()
        .is_some_and(|extension| extension == "cc");
    let mut compiler = Command::new(if cpp { "g++" } else { "gcc" });
    compiler
        .arg(source)
        .args(["-O2", "-g", "-fno-omit-frame-pointer"])
        .args(options)
        .arg("-o")
        .arg(&output);
    let result = compiler.output().expect("a compiler is installed");
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    output
}

/// A file of `tests/programs`.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

impl Library {
    /// Builds and loads a file of `tests/programs`.
    pub fn build(source: &str) -> Library {
        Library::build_from(&program(source), source)
    }

    pub fn build_from(source: &Path, name: &str) -> Library {
        Library::load(compile(
            source,
            &format!("{name}.so"),
            &["-shared", "-fPIC", "-Wl,-Bsymbolic"],
        ))
    }

    pub fn load(path: PathBuf) -> Library {
        let text = CString::new(path.to_str().unwrap()).unwrap();
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW) };
        assert!(
            !handle.is_null(),
            "{}",
            unsafe { std::ffi::CStr::from_ptr(libc::dlerror()) }.to_string_lossy()
        );
        // The first member of glibc's `struct link_map` is the bias.
        let bias = unsafe { *handle.cast::<u64>() };
        let module = Module::load(&path, &DebugSources::none()).unwrap();
        let parts = module
            .functions()
            .iter()
            .flat_map(|function| function.parts.iter());
        let low = bias + parts.clone().map(|part| part.start).min().unwrap();
        let high = bias + parts.map(|part| part.end).max().unwrap();
        Library {
            handle,
            path,
            loaded: LoadedModule {
                index: 0,
                bias,
                low,
                high,
            },
        }
    }

    /// Its functions and call sites.
    pub fn module(&self) -> Module {
        Module::load(&self.path, &DebugSources::none()).unwrap()
    }

    /// Address of a symbol, in this process.
    pub fn symbol(&self, name: &str) -> u64 {
        let text = CString::new(name).unwrap();
        let address = unsafe { libc::dlsym(self.handle, text.as_ptr()) } as u64;
        assert_ne!(address, 0, "{name}");
        address
    }

    pub fn close(self) {
        assert_eq!(unsafe { libc::dlclose(self.handle) }, 0);
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
