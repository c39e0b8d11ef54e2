// A function of the C library calls a function of the program back, which has the planted variance. With -DGIVEN the caller does not
// know which: it hands on a pointer.
// build: gcc -O2 -g callback.c
//
// Interval: handle > qsort > compare > weigh, of four numbers in order: four comparisons (a merge sort, or an insertion sort after
// a look for the least: three to six). weigh takes 5,000 ticks, in half of the intervals (drawn) 15,000: the variance is that of
// the comparisons, at least (3 x 5,000)^2 = 2.25e8, all of it weigh's.
#include "spin.h"

static uint64_t slow;

FUNCTION uint64_t weigh(uint64_t value) {
    spin(slow ? 15000 : 5000);
    return value;
}

FUNCTION int compare(const void *a, const void *b) {
    uint64_t left = weigh(*(const uint64_t *)a);
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

#ifdef GIVEN
static int (*volatile order)(const void *, const void *) = compare;
#else
#define order compare
#endif

FUNCTION uint64_t handle(uint64_t value) {
    uint64_t numbers[4] = {value, value + 1, value + 2, value + 3};
    qsort(numbers, 4, sizeof numbers[0], order);
    return numbers[0] + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {11};
    uint64_t checksum = CHECKSUM_START;
    unsigned long done = 0;
    for (; more(done, &count); done++) {
        slow = draw(&design) & 1;
        checksum = mix(checksum, handle(done));
    }
    print_result("callback", done, checksum);
}
