// Every build has one answer: `work_slow` takes 50,000 or 450,000 ticks by the parity of the interval, a standard
// deviation of 200,000. `work_fast` always takes 50,000. Both are called once an interval, and nothing else varies.
//
// Built with -DFILTER=..., the program first forbids itself nearly all system calls (seccomp(2)): by prctl, with
// -DRAW by syscall(), with -DINLINE by an inline instruction. With -DLATE it does so half-way.
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define FUNCTION __attribute__((noinline, noclone))

static volatile uint64_t sink;

static inline __attribute__((always_inline)) void spin(uint64_t ticks) {
    uint64_t begin = __rdtsc();
    while (__rdtsc() - begin < ticks) {
    }
}

FUNCTION void work_fast(unsigned n) { spin(50000); sink += n; }
FUNCTION void work_slow(unsigned n) { spin(n & 1 ? 450000 : 50000); sink += n; }
FUNCTION void run_interval(unsigned n) {
    sink += 3 * n; // so that no call lies under the hook at the entry
    work_fast(n);
    work_slow(n);
    sink++; // so that the last call is no jump
}

#ifdef FILTER
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_clock_gettime), ALLOW(SYS_futex), BPF_STMT(BPF_RET | BPF_K, FILTER),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
#ifdef INLINE
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program) : "rcx", "r11", "memory");
    return answer != 0;
#elif defined RAW
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0;
#else
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
#endif
}
#endif

#define INTERVALS 400
#define TEXT(number) #number
#define DONE(number) TEXT(number) " intervals\n"

int main(void) {
#if defined FILTER && !defined LATE
    if (confine()) return 3;
#endif
    for (unsigned n = 0; n < INTERVALS; n++) {
#ifdef LATE
        if (n == INTERVALS / 2 && confine()) return 3;
#endif
        run_interval(n);
    }
    static const char done[] = DONE(INTERVALS);
    return write(1, done, sizeof done - 1) != sizeof done - 1;
}
