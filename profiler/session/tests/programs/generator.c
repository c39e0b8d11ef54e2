// A generator: each interval resumes another stack, on which a call is suspended that began in the interval before.
// build: gcc -O1 -g generator.c
//
// Interval: handle_request > prepare, resume, finish. resume switches to the generator's stack, where suspend_here, called in the
// interval before, returns; then produce runs, and suspend_here is called again and switches back. produce takes 10,000 or
// 30,000 ticks, as one bit of a balanced design says; prepare and finish take 5,000. All of the variance is in produce: mean
// 30,000, variance 1e8.
#include <ucontext.h>

#include "spin.h"

static ucontext_t requests, generator;
static char stack[256 * 1024] __attribute__((aligned(16)));
static struct design design = {.state = 1};
static uint64_t produced;

FUNCTION void suspend_here(void) { swapcontext(&generator, &requests); }

FUNCTION uint64_t produce(unsigned long_one) {
    spin(long_one ? 30000 : 10000);
    return long_one + 1;
}

static void generate(void) {
    for (;;) {
        produced = produce(draw(&design) & 1);
        suspend_here();
    }
}

FUNCTION void prepare(void) { spin(5000); }

FUNCTION uint64_t resume(void) {
    swapcontext(&requests, &generator);
    return produced;
}

FUNCTION void finish(void) { spin(5000); }

FUNCTION uint64_t handle_request(uint64_t value) {
    prepare();
    value += resume();
    finish();
    return value;
}

int main(int argc, char **argv) {
    unsigned long n = intervals(argc, argv, 16000);
    getcontext(&generator);
    generator.uc_stack.ss_sp = stack;
    generator.uc_stack.ss_size = sizeof stack;
    makecontext(&generator, generate, 0);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &n); i++) {
        checksum = mix(checksum, handle_request(i));
    }
    print_result("generator", n, checksum);
}
