//! Code in a process that has given up the right to make memory executable.
#![cfg(target_arch = "x86_64")]

use evenkeel_patch::writing;

const PAGE: usize = 4096;
const PR_SET_MDWE: i32 = 65;
const PR_MDWE_REFUSE_EXEC_GAIN: usize = 1;
/// mov eax, 42; ret
const ANSWER: [u8; 6] = [0xb8, 42, 0, 0, 0, 0xc3];
/// The kernel is older than the right (6.3).
const NOT_THERE: i32 = 77;

/// The error of a process that could not do it: the number of the step.
fn write_and_change() -> Result<(), i32> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a private page, with code that keeps to the ABI.
    unsafe {
        if libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0 {
            return Err(NOT_THERE);
        }
        let page = libc::mmap(std::ptr::null_mut(), PAGE, rights, flags, -1, 0).cast::<u8>();
        page.copy_from_nonoverlapping(ANSWER.as_ptr(), ANSWER.len());
        let step = |number, holds: bool| if holds { Ok(()) } else { Err(number) };
        step(1, writing::begin() && writing::is_in_place())?;
        step(
            2,
            writing::make_executable(page as u64, (page as usize + PAGE) as u64),
        )?;
        let answer: extern "C" fn() -> i32 = std::mem::transmute(page);
        step(3, answer() == 42)?;
        writing::write(page.add(1), &[43]);
        step(4, answer() == 43)?;
        step(5, writing::end())
    }
}

#[test]
fn code_is_written_where_memory_may_not_become_executable() {
    // SAFETY: the child makes system calls alone, and ends without what tests do at their end.
    let child = unsafe {
        match libc::fork() {
            0 => libc::_exit(write_and_change().err().unwrap_or(0)),
            child => child,
        }
    };
    let mut status = 0;
    // SAFETY: our own child, and a status word.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(
        libc::WIFEXITED(status),
        "it ended with signal {}",
        libc::WTERMSIG(status)
    );
    match libc::WEXITSTATUS(status) {
        NOT_THERE => eprintln!("this kernel does not have PR_SET_MDWE: nothing was tested"),
        code => assert_eq!(code, 0, "the step that failed"),
    }
}
