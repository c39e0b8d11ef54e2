// Slow intervals consist of tiny calls, more than a ring holds: their records are lost, and with them all that is slow.
// build: gcc -O2 -g crowded.c
//
// Interval: run_interval > prepare, 20,000 ticks, and > work > tiny, 100 times in nine intervals of ten and 200,000 times in the tenth.
// A ring holds 65,536 records. tiny takes at least 30 ticks, so the tenth takes at least 6,000,000 ticks and the mean is at least
// 620,000, of which the nine fast ones account for some 23,000. The program measures its own mean.
#include "spin.h"
#include "truth.h"

FUNCTION uint64_t tiny(uint64_t value) {
    spin(30);
    return 3 * value + 1;
}

FUNCTION uint64_t prepare(uint64_t value) {
    spin(20000);
    return value + 1;
}

FUNCTION uint64_t work(uint64_t value) {
    uint64_t calls = value % 10 ? 100 : 200000, sum = 0;
    for (uint64_t i = 0; i < calls; i++) {
        sum += tiny(value + i);
    }
    return sum;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    uint64_t sum = prepare(value);
    sum += work(value);
    return sum * 2;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 500);
    uint64_t checksum = CHECKSUM_START;
    unsigned long done = 0;
    truth_open(argc, argv);
    for (; more(done, &count); done++) {
        uint64_t begin = __rdtsc();
        checksum = mix(checksum, run_interval(done));
        truth_interval(1, (uint64_t[]){__rdtsc() - begin});
    }
    truth_close();
    print_result("crowded", done, checksum);
}
