// A program that forbids itself system calls, or to make memory executable, as services do; the argument says what. It makes the file
// $READY afterwards, and works until the file $UNTIL is there.
//
//   execute   a filter as systemd's MemoryDenyWriteExecute= installs: no memory becomes executable
//   mdwe      the same by prctl (Linux 6.3); 77 where the system does not have it
//   nobody    as execute, after it has changed its user, so that its /proc/self/mem is root's
//   nothing   all is allowed
//   child     all is allowed, and a child does the work
//   list      a filter that ends it at every call which is not among those that an attach makes, or its own: argument 2, numbers with commas;
//             with a third argument it polls most of the time
// build: gcc -O1 -g filtered.c
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define FUNCTION __attribute__((noinline, noclone))
#define RETURN(answer) BPF_STMT(BPF_RET | BPF_K, answer)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

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

static int install(struct sock_filter *filter, int length) {
    struct sock_fprog program = {length, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int deny_execute(void) {
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
        LOAD(args[2]),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    return install(filter, sizeof filter / sizeof *filter);
}

static int allow(char *numbers) {
    static struct sock_filter filter[512] = {LOAD(nr)};
    int own[] = {SYS_access, SYS_poll, SYS_exit_group, SYS_openat, SYS_close}, length = 1;
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own[i], 0, 1);
        filter[length++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    for (char *number = strtok(numbers, ","); number && length < 508; number = strtok(0, ",")) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(number), 0, 1);
        filter[length++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
    return install(filter, length);
}

static int forbid(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "execute")) return deny_execute();
    if (argc > 1 && !strcmp(argv[1], "nobody")) return chmod(".", 0777) || setgid(65534) || setuid(65534) || deny_execute();
    if (argc > 1 && !strcmp(argv[1], "mdwe")) return prctl(65, 1, 0, 0, 0) ? 77 : 0;
    if (argc > 2 && !strcmp(argv[1], "list")) return allow(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "child")) return 0;
    return argc > 1 && !strcmp(argv[1], "nothing") ? 0 : 2;
}

int main(int argc, char **argv) {
    const char *until = getenv("UNTIL"), *ready = getenv("READY");
    int failed = forbid(argc, argv);
    if (argc > 1 && !strcmp(argv[1], "child")) {
        pid_t child = fork();
        if (child > 0) return waitpid(child, &failed, 0) != child || failed;
    }
    if (ready) close(open(ready, O_CREAT | O_WRONLY, 0600));
    if (failed) return failed;
    for (unsigned n = 0; access(until, F_OK); n++) {
        run_interval(n);
        if (argc > 3) poll(0, 0, 2);
    }
    return 0;
}
