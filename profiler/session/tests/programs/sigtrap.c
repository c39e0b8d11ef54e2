// A target with its own SIGTRAP handler and breakpoints, and with a thread that blocks all signals.
// build: gcc -O1 -g -pthread sigtrap.c
//
// Interval: run_interval > work. Two threads:
//   main     It executes its own int3 in every 8th interval, and its handler counts exactly N / 8 traps. The handler is
//            installed with all signals in sa_mask. The old action must be reported as SIG_DFL, also under a profiler.
//            Half-way it is replaced by a second handler of the older kind (without SA_SIGINFO). SIGUSR1 is blocked in both, not after.
//   blocked  It has blocked all signals with pthread_sigmask, so a breakpoint on it would end the process. A profiler that
//            patches running code must prevent that. It runs N intervals, too.
// If more than N intervals are wanted, both run again.
#include <pthread.h>
#include <signal.h>

#include "spin.h"

static volatile sig_atomic_t new_traps, old_traps, wrong;

FUNCTION uint64_t work(uint64_t value) {
    spin(5000);
    return value * 9;
}

FUNCTION uint64_t own_breakpoint(uint64_t value) {
    __asm__ volatile("int3");
    return value + 1;
}

FUNCTION uint64_t run_interval(uint64_t value, int traps) {
    uint64_t result = work(value);
    return traps ? own_breakpoint(result) : result;
}

static int is_blocked(void) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGUSR1);
}

static void on_trap(int signal, siginfo_t *info, void *context) {
    (void)context;
    new_traps = new_traps + 1;
    wrong = wrong + (signal != SIGTRAP || info->si_signo != SIGTRAP || !is_blocked());
}

static void on_trap_old(int signal) {
    old_traps = old_traps + 1;
    wrong = wrong + (signal != SIGTRAP || !is_blocked());
}

// The blocked thread's intervals, and the checksum of its results so far.
struct blocked {
    unsigned long first, count;
    uint64_t checksum;
};

static void *serve_blocked(void *argument) {
    struct blocked *blocked = argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (unsigned long i = 0; i < blocked->count; i++) {
        blocked->checksum = mix(blocked->checksum, run_interval(blocked->first + i, 0));
    }
    return NULL;
}

// Whether the replaced handlers were the default one, and the target's own one.
static int was_default, was_ours = 1;

// One run of both threads; the main thread's checksum continues from `checksum`.
static uint64_t run(struct blocked *blocked, uint64_t checksum) {
    unsigned long first = blocked->first, count = blocked->count;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;
    sigfillset(&action.sa_mask);
    sigaction(SIGTRAP, &action, &before);
    was_default = first ? was_default : before.sa_handler == SIG_DFL;
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve_blocked, blocked)) {
        perror("pthread_create");
        exit(1);
    }
    for (unsigned long i = 0; i < count; i++) {
        if (i == count / 2) {
            struct sigaction old_kind = {.sa_handler = on_trap_old};
            sigfillset(&old_kind.sa_mask);
            sigaction(SIGTRAP, &old_kind, &before);
            was_ours = was_ours && before.sa_sigaction == on_trap;
        }
        checksum = mix(checksum, run_interval(first + i, i % 8 == 0));
        wrong = wrong + is_blocked();
    }
    pthread_join(thread, NULL);
    return checksum;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 40000), each = count;
    uint64_t checksum = CHECKSUM_START;
    struct blocked blocked = {.count = each, .checksum = CHECKSUM_START};
    for (; more(blocked.first, &count); blocked.first += each) {
        checksum = run(&blocked, checksum);
    }
    printf("sigtrap: %d and %d traps, %d wrong, was default %d, then ours %d\n", (int)new_traps, (int)old_traps, (int)wrong,
           was_default, was_ours);
    print_result("sigtrap", count, mix(checksum, blocked.checksum));
}
