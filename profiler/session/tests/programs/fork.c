// fork in the middle of an interval: the child exits, executes another program, or carries on as a server.
// build: gcc -O1 -g fork.c
//
// Interval: handle_request > step_before, spawn, step_after; the three kinds of child take turns.
//   child exits     at once inside the interval: its copy of the interval is never completed
//   child executes  this program with the argument "child": a new process image with 5 intervals of its own
//   child serves    returns from the interval (complete in both processes), then serves 5 more, and exits
// With N (a multiple of 3) intervals in the parent: completed intervals are N in the parent, N/3 * 5 in executed children,
// N/3 * 5 in serving children (the one in whose middle a child was forked is its parent's). Parent's checksum includes each child's exit status, 8 bits of the child's own checksum.
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define CHILD_INTERVALS 5

enum kind { CHILD_EXITS, CHILD_EXECUTES, CHILD_SERVES, NO_CHILD };

static int is_child;

FUNCTION uint64_t step_before(uint64_t request) {
    spin(10000);
    return request * 3;
}

FUNCTION uint64_t step_after(uint64_t request) {
    spin(10000);
    return request * 5;
}

FUNCTION uint64_t spawn(enum kind kind) {
    if (kind == NO_CHILD) {
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        is_child = 1;
        if (kind == CHILD_EXITS) {
            _exit(3);
        }
        if (kind == CHILD_EXECUTES) {
            execl("/proc/self/exe", "fork", "child", (char *)NULL);
            _exit(127);
        }
        return 0;
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return 999;
    }
    return (uint64_t)WEXITSTATUS(status);
}

FUNCTION uint64_t handle_request(uint64_t request, enum kind kind) {
    uint64_t result = step_before(request);
    result += spawn(kind);
    return result + step_after(request);
}

static uint64_t serve(uint64_t checksum) {
    for (uint64_t i = 0; i < CHILD_INTERVALS; i++) {
        checksum = mix(checksum, handle_request(i, NO_CHILD));
    }
    return checksum;
}

int main(int argc, char **argv) {
    uint64_t checksum = CHECKSUM_START;
    if (argc > 1 && argv[1][0] == 'c') {
        _exit((int)(serve(checksum) & 0x7f));
    }
    unsigned long count = intervals(argc, argv, 60);
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, handle_request(i, (enum kind)(i % 3)));
        if (is_child) {
            _exit((int)(serve(checksum) & 0x7f));
        }
    }
    print_result("fork", count, checksum);
}
