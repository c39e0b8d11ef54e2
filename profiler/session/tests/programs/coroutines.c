// Coroutines: stacks are switched inside hooked calls.
// build: gcc -O1 -g coroutines.c
//
// Interval: run_interval > step > pause_here, which switches to the next of four coroutines, in turns. Each coroutine has
// a stack of its own and runs its own intervals, so four intervals are open at a time on one thread, and they end in the
// order in which they began, not the other way round. step takes 5,000 ticks on either side of the switch.
// Each coroutine completes N / 4 intervals.
#include <ucontext.h>

#include "spin.h"

#define COROUTINES 4
#define STACK_BYTES (256 * 1024)

static ucontext_t main_context, contexts[COROUTINES];
static char stacks[COROUTINES][STACK_BYTES] __attribute__((aligned(16)));
static uint64_t checksums[COROUTINES];
static unsigned long each;
static int finished[COROUTINES], current;

// Goes on with the next coroutine that is not finished, which may be the present one.
FUNCTION void pause_here(void) {
    int from = current;
    for (int i = 1; i <= COROUTINES; i++) {
        int to = (from + i) % COROUTINES;
        if (!finished[to]) {
            if (to != from) {
                current = to;
                swapcontext(&contexts[from], &contexts[to]);
            }
            return;
        }
    }
}

FUNCTION uint64_t step(uint64_t value) {
    spin(5000);
    pause_here();
    spin(5000);
    return value + 3;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    uint64_t result = step(value);
    return result * 2;
}

static void coroutine(int number) {
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < each; i++) {
        checksum = mix(checksum, run_interval(i * COROUTINES + (uint64_t)number));
    }
    checksums[number] = checksum;
    finished[number] = 1;
    // Never comes back here: finished coroutines are passed over. The last one goes on to main through uc_link.
    pause_here();
}

int main(int argc, char **argv) {
    each = intervals(argc, argv, 8000) / COROUTINES;
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    swapcontext(&main_context, &contexts[0]);
    uint64_t checksum = CHECKSUM_START;
    for (int i = 0; i < COROUTINES; i++) {
        checksum = mix(checksum, checksums[i]);
    }
    print_result("coroutines", each * COROUTINES, checksum);
}
