// Tail calls: at -O2 the calls in return statements below are jumps.
// build: gcc -O2 -g tail.c
//
// Interval: run_interval > dispatch, which jumps to handle_small or handle_large, which jump to finish. So
// run_interval has one call site, whose callee returns from `finish`; the time of all four is dispatch's.
//   handle_small  20,000 ticks, 3 of 4 intervals
//   handle_large 100,000 ticks, 1 of 4 intervals
// finish 10,000 ticks. Mean of L: 50,000; variance 80,000^2 * 3/16 = 1.2e9, all of it under dispatch.
#include "spin.h"

FUNCTION uint64_t finish(uint64_t result) {
    spin(10000);
    return result ^ 0xff;
}

FUNCTION uint64_t handle_small(uint64_t value) {
    spin(20000);
    return finish(value + 1);
}

FUNCTION uint64_t handle_large(uint64_t value) {
    spin(100000);
    return finish(value + 2);
}

FUNCTION uint64_t dispatch(uint64_t value) {
    if (value % 4 == 0) {
        return handle_large(value);
    }
    return handle_small(value);
}

FUNCTION uint64_t run_interval(uint64_t value) {
    return dispatch(value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 7};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("tail", count, checksum);
}
