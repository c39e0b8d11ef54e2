// vfork + exec inside an interval, posix_spawn and system.
// build: gcc -O1 -g vfork.c
//
// Interval: handle_request > step, run_vfork | run_spawn | run_system, in turns. The vfork child shares memory, stack and
// thread-local storage with its parent until it executes; it calls `child_step` in between. Every child program exits
// with 7, every child that cannot execute exits with 9. N intervals complete in this process, none in children.
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;

FUNCTION uint64_t step(uint64_t request) {
    spin(10000);
    return request + 1;
}

FUNCTION void child_step(volatile int *calls) {
    *calls += 1;
}

static uint64_t wait_for(pid_t pid) {
    int status = -1;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return 999;
    }
    return (uint64_t)WEXITSTATUS(status);
}

FUNCTION uint64_t run_vfork(int executes) {
    volatile int calls = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        child_step(&calls);
        if (executes) {
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        }
        _exit(9);
    }
    // The child's addition is seen here: it is the same memory.
    return pid < 0 ? 999 : wait_for(pid) * 10 + (uint64_t)calls;
}

FUNCTION uint64_t run_spawn(void) {
    char *arguments[] = {"sh", "-c", "exit 7", NULL};
    pid_t pid;
    return posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) ? 999 : wait_for(pid);
}

FUNCTION uint64_t run_system(void) {
    int status = system("exit 7");
    return WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 999;
}

FUNCTION uint64_t handle_request(uint64_t request) {
    uint64_t result = step(request);
    switch (request % 4) {
    case 0:
        return result + 100 * run_vfork(1);
    case 1:
        return result + 100 * run_vfork(0);
    case 2:
        return result + 100 * run_spawn();
    default:
        return result + 100 * run_system();
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 80);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, handle_request(i));
    }
    print_result("vfork", count, checksum);
}
