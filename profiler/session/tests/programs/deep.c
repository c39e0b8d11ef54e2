// Recursion deeper than any shadow stack of fixed size, left by returning and by longjmp from its bottom.
// build: gcc -O1 -g deep.c
//
// Interval: run_interval > descend, 25,000 frames deep. Every other interval is left by longjmp from the bottom, so of N
// intervals (even) half are complete. The stack stays under 8 MiB: a frame has at most 64 bytes, and as much again for
// hooks. Depth 25,000 gives 25,000 calls of descend an interval; a profiler that cannot follow so deep has to
// count what it leaves out, and the result stays the same: descend(d) = d + descend(d - 1) = d (d + 1) / 2.
#include <setjmp.h>

#include "spin.h"

#define DEPTH 25000

static jmp_buf top;

FUNCTION uint64_t descend(uint64_t depth, int leaves) {
    if (depth == 0) {
        if (leaves) {
            longjmp(top, 1);
        }
        return 0;
    }
    return descend(depth - 1, leaves) + depth;
}

FUNCTION uint64_t run_interval(int leaves) {
    return descend(DEPTH, leaves) + 1;
}

int main(int argc, char **argv) {
    static unsigned long count;
    count = intervals(argc, argv, 40);
    volatile uint64_t checksum = CHECKSUM_START;
    for (volatile unsigned long i = 0; more(i, &count); i++) {
        if (setjmp(top) == 0) {
            checksum = mix(checksum, run_interval(i % 2 == 1));
        } else {
            checksum = mix(checksum, 77);
        }
    }
    print_result("deep", count, checksum);
}
