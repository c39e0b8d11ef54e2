// Fibers: in each interval the thread leaves the interval's stack for one above it, and comes back.
// build: gcc -O1 -g fibers.c
//
// Interval: handle_request > step, which runs on a stack in the data segment, below that of main. step switches to main's stack,
// where wait_for_event runs, as an event loop would, and switches back. By their stack pointers the calls of the interval look
// as if they had been left, so none of its intervals can be followed to its end.
#include <ucontext.h>

#include "spin.h"

static ucontext_t loop, fiber;
static char stack[256 * 1024] __attribute__((aligned(16)));
static uint64_t checksum = CHECKSUM_START;
static unsigned long requests;
static int finished;

FUNCTION uint64_t step(uint64_t value) {
    spin(5000);
    swapcontext(&fiber, &loop);
    spin(5000);
    return value + 3;
}

FUNCTION uint64_t handle_request(uint64_t value) { return step(value) * 2; }

FUNCTION void wait_for_event(void) { spin(1000); }

static void serve(void) {
    for (unsigned long i = 0; i < requests; i++) {
        checksum = mix(checksum, handle_request(i));
    }
    finished = 1;
}

FUNCTION void turn(void) {
    wait_for_event();
    swapcontext(&loop, &fiber);
}

int main(int argc, char **argv) {
    requests = intervals(argc, argv, 16000);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof stack;
    fiber.uc_link = &loop;
    makecontext(&fiber, serve, 0);
    while (!finished) {
        turn();
    }
    print_result("fibers", requests, checksum);
}
