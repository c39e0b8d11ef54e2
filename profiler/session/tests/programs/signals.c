// Timer signals whose handler calls the same functions as the interval, on the thread's stack and on sigaltstack.
// build: gcc -O1 -g signals.c
//
// Interval: run_interval > work > leaf. A timer fires every 100 microseconds; its handler calls work as well (outside of
// any interval when it strikes in main, inside one otherwise). First half of the intervals: handler on the
// interrupted stack; second half: on the alternate stack. How often the handler runs differs between runs, its result
// never does: `wrong` stays 0. run_interval completes N times.
#include <signal.h>
#include <sys/time.h>

// The profiler may sleep many times without reading records while the plan changes.
#define PACE_INTERVALS 50
#include "spin.h"

static volatile sig_atomic_t handled, wrong;

FUNCTION uint64_t leaf(uint64_t value) {
    spin(500);
    return value ^ 0x55;
}

FUNCTION uint64_t work(uint64_t value) {
    uint64_t result = 0;
    for (uint64_t i = 0; i < 8; i++) {
        result += leaf(value + i);
    }
    return result;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    uint64_t result = work(value);
    return result + work(value + 100);
}

static void on_timer(int signal) {
    (void)signal;
    handled = handled + 1;
    // Of 0..7, each xor 0x55: the high part gives 8 * 0x50, the low three bits xor 5 are 0..7 in another order: 28.
    if (work(0) != 8 * 0x50 + 28) {
        wrong = wrong + 1;
    }
}

static void handle(int flags) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART | flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 20000);
    static char stack[1 << 16];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    handle(0);
    struct itimerval timer = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, NULL);
    uint64_t checksum = CHECKSUM_START;
    unsigned long half = count / 2;
    for (unsigned long i = 0; more(i, &count); i++) {
        if (i == half) {
            handle(SA_ONSTACK);
        }
        checksum = mix(checksum, run_interval(i));
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("signals: handler %s, %d wrong\n", handled ? "ran" : "did not run", (int)wrong);
    print_result("signals", count, checksum);
}
