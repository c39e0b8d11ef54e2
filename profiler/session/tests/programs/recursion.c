// Direct and mutual recursion.
// build: gcc -O1 -g recursion.c
//
// Interval: run_interval. With u = 20,000 ticks a level:
//   walk         D = 1..8 levels, equally often (bits 0-2): variance (8*8 - 1) / 12 = 5.25 u^2
//   even, odd    1 or 5 levels of mutual recursion (bit 3): variance ((5 - 1) / 2)^2 = 4.00 u^2
// Var(L) = 9.25 u^2: walk 56.8 %, even (with odd inside) 43.2 %, covariance 0. Mean of L: 4.5 u + 3 u = 150,000.
// Calls an interval: walk 4.5 in the mean, even and odd together 3.
#include "spin.h"

#define LEVEL 20000

// The sums after the calls keep the compiler from turning the recursion into a loop.
FUNCTION uint64_t walk(unsigned depth) {
    spin(LEVEL);
    return depth > 1 ? walk(depth - 1) + depth : 1;
}

uint64_t odd(unsigned depth);

FUNCTION uint64_t even(unsigned depth) {
    spin(LEVEL);
    return depth > 1 ? odd(depth - 1) + 3 : 1;
}

FUNCTION uint64_t odd(unsigned depth) {
    spin(LEVEL);
    return depth > 1 ? even(depth - 1) + 5 : 1;
}

FUNCTION uint64_t run_interval(unsigned choice) {
    uint64_t result = walk(1 + (choice & 7));
    return result + even(choice & 8 ? 5 : 1);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 4};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("recursion", count, checksum);
}
