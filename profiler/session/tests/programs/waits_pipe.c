// A pipe between two processes.
// build: gcc -O1 -g waits_pipe.c
//
// Interval, in the parent: run_interval > fetch > write of the request, read of the answer. The child, forked at the start, reads a
// request, works in produce, and writes the answer:
//   produce  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000, variance 9e10
// The parent cannot go on before the answer is there, so at least 600,000 ticks of the mean latency are
// fetch > waits: pipe > thread outside of intervals > produce, and on a quiet machine all of the
// variance. The child exits with 7, and so does the parent.
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

FUNCTION uint64_t produce(uint64_t ticks) {
    spin(ticks);
    return ticks * 7;
}

FUNCTION int answer(int requests, int answers) {
    uint64_t ticks;
    if (read(requests, &ticks, sizeof ticks) != sizeof ticks) {
        return 0;
    }
    uint64_t result = produce(ticks);
    return write(answers, &result, sizeof result) == sizeof result;
}

FUNCTION uint64_t fetch(int requests, int answers, uint64_t ticks) {
    uint64_t result;
    if (write(requests, &ticks, sizeof ticks) != sizeof ticks || read(answers, &result, sizeof result) != sizeof result) {
        exit(1);
    }
    return result;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint64_t run_interval(int requests, int answers, uint64_t ticks) {
    begun++;
    return fetch(requests, answers, ticks) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    int requests[2], answers[2];
    if (pipe(requests) || pipe(answers)) {
        perror("pipe");
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(requests[1]);
        close(answers[0]);
        while (answer(requests[0], answers[1])) {
        }
        _exit(7);
    }
    close(requests[0]);
    close(answers[1]);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i++) {
        uint64_t ticks = draw(&design) & 1 ? 900000 : 300000;
        checksum = mix(checksum, run_interval(requests[1], answers[0], ticks));
    }
    close(requests[1]);
    int status = -1;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return 1;
    }
    print_result("waits_pipe", count, checksum);
    return WEXITSTATUS(status);
}
