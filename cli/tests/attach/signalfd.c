// Two processes that wake each other by a signal which is blocked, and for which signalfd(2) waits, as PostgreSQL's backends do by
// SIGURG. A signal is sent when the answer to the one before has come: one that is lost is never sent again.
// build: gcc -O1 -g signalfd.c
//
// Interval: run_interval. Makes the file that READY names once both threads run. Ends when the file that UNTIL names
// exists, or when an answer is missing for two minutes. Prints "intervals" and "lost".
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile uint64_t sum;

FUNCTION void work(int n) {
    for (int i = 0; i < n; i++) sum += i;
}

// What a woken process does.
FUNCTION void run_interval(int n) { work(n); }

// Whether the signal came, or the other end of the pipe is gone.
static int woken(int signals, int limit_ms) {
    struct signalfd_siginfo info;
    struct pollfd fd = {.fd = signals, .events = POLLIN};
    int ready;
    do ready = poll(&fd, 1, limit_ms);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) return 0;
    return read(signals, &info, sizeof info) == sizeof info;
}

int main(void) {
    const char *ready = getenv("READY"), *until = getenv("UNTIL");
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, 0);
    int signals = signalfd(-1, &set, 0), lost = 0;
    uint64_t done = 0;
    pid_t parent = getpid(), child = fork();
    if (signals < 0 || child < 0) return 2;
    if (child == 0) {
        // The child needs its own descriptor: a signalfd shows the signals of the reading process. The child ends
        // with its parent.
        while (getppid() == parent) {
            if (!woken(signals, 100)) continue;
            run_interval(500);
            kill(parent, SIGURG);
        }
        _exit(0);
    }
    if (ready) close(open(ready, O_CREAT | O_WRONLY, 0600));
    while (!lost && access(until, F_OK)) {
        kill(child, SIGURG);
        lost = !woken(signals, 120000);
        run_interval(200);
        done++;
    }
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    printf("%lu intervals, %d lost\n", (unsigned long)done, lost);
    return lost;
}
