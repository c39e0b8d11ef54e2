// A program whose filter of system calls (seccomp(2)) ends it at any call that it does not make itself. An inline
// instruction installs the filter: at once, or with an argument when the file $WHEN exists. It makes the file $READY
// first, and works until the file $UNTIL exists.
// build: gcc -O1 -g -Wl,-z,lazy confined.c
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define FUNCTION __attribute__((noinline, noclone))
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile uint64_t sink;

static inline __attribute__((always_inline)) void spin(uint64_t ticks) {
    uint64_t begin = __rdtsc();
    while (__rdtsc() - begin < ticks) {
    }
}

FUNCTION void work_fast(unsigned n) { spin(50000); sink += n; }
FUNCTION void work_slow(unsigned n) { spin(n & 1 ? 450000 : 50000); sink += n; }
FUNCTION void run_interval(unsigned n) {
    sink += 3 * n;
    work_fast(n);
    work_slow(n);
    sink++;
}

static int confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_clock_gettime), ALLOW(SYS_access), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    long answer;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program) : "rcx", "r11", "memory");
    return answer != 0;
}

int main(int argc, char **argv) {
    const char *until = getenv("UNTIL"), *when = getenv("WHEN");
    int confined = argc < 2;
    (void)argv;
    const char *ready = getenv("READY");
    if (ready) close(open(ready, O_CREAT | O_WRONLY, 0600));
    if (confined && confine()) return 3;
    for (unsigned n = 0; access(until, F_OK); n++) {
        run_interval(n);
        if (!confined && when && !access(when, F_OK)) {
            if (confine()) return 3;
            confined = 1;
        }
    }
    // Where it was to come, the filter came.
    return confined ? 0 : 4;
}
