// One stage of two that can be made slower: two recordings to compare.
// build: gcc -O1 -g changes.c
//
// Interval: run_interval, by bits of the interval's number, in ticks:
//   same       20,000 or 60,000
//   changed    20,000 or 100,000 times the second argument
#include "spin.h"

FUNCTION uint64_t same(uint64_t i) {
    spin(i & 1 ? 60000 : 20000);
    return i;
}

FUNCTION uint64_t changed(uint64_t i, uint64_t times) {
    spin(i & 2 ? 100000 * times : 20000);
    return i;
}

FUNCTION uint64_t run_interval(uint64_t i, uint64_t times) {
    uint64_t result = same(i);
    return result + changed(i, times);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 2000);
    uint64_t times = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(i, times));
    }
    print_result("changes", count, checksum);
}
