// Ten million calls of a tiny function: more records than a ring holds and a drainer takes.
// build: gcc -O2 -g tiny.c
//
// Interval: run_interval > tiny, 1,000 times. With N = 10,000 intervals 10,000,000 calls. Records that are dropped must
// be counted, their intervals discarded and counted: complete + discarded = N. The sum shows that no call was lost:
// tiny(x) = 3 x + 1.
#include "spin.h"

#define CALLS 1000

FUNCTION uint64_t tiny(uint64_t value) {
    return 3 * value + 1;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < CALLS; i++) {
        sum += tiny(value + i);
    }
    return sum;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 10000);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(i));
    }
    print_result("tiny", count, checksum);
}
