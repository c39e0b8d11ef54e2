// Coroutines that are switched by siglongjmp, as QEMU does: from a coroutine's stack to the scheduler's, and back.
// build: gcc -O1 -g switching.c
//
// Interval: handle > work. Every fourth interval goes back to the scheduler in the middle, which resumes it after 20,000 ticks. work
// takes 5,000 ticks on either side. The coroutine's stack lies below the scheduler's.
#include <setjmp.h>
#include <ucontext.h>

#include "spin.h"

static char stack[256 * 1024] __attribute__((aligned(16)));
static ucontext_t scheduler_context, coroutine_context;
static sigjmp_buf scheduler, coroutine;
static volatile unsigned long next, served;

FUNCTION void yield_to_scheduler(void) {
    if (sigsetjmp(coroutine, 0) == 0) {
        siglongjmp(scheduler, 1);
    }
}

FUNCTION uint64_t work(unsigned long i) {
    spin(5000);
    if (i % 4 == 1) {
        yield_to_scheduler();
    }
    spin(5000);
    return i + 3;
}

FUNCTION uint64_t handle(unsigned long i) {
    return work(i) * 2;
}

static volatile uint64_t checksum = CHECKSUM_START;

// Serves one interval whenever it is resumed, and goes back.
static void serve(void) {
    for (;;) {
        checksum = mix(checksum, handle(next));
        served++;
        yield_to_scheduler();
    }
}

int main(int argc, char **argv) {
    static unsigned long count;
    count = intervals(argc, argv, 8000);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = sizeof stack;
    makecontext(&coroutine_context, serve, 0);
    for (; more(next, &count); next++) {
        while (served == next) {
            if (sigsetjmp(scheduler, 0) == 0) {
                if (next == 0 && served == 0) {
                    swapcontext(&scheduler_context, &coroutine_context);
                }
                siglongjmp(coroutine, 1);
            }
            spin(20000);
        }
    }
    print_result("switching", count, checksum);
}
