// A call in the first five bytes of the interval's function, where the jump to its hook stands.
// build: gcc -O1 -g -fcf-protection=none under_entry.c
//
// handle_request is `sub $8, %rsp; call work; ..`: the jump covers the first instruction and a part of the second. work takes 10,000 or
// 50,000 ticks, as often the one as the other: all of the variance.
//
// With -DTHROUGH_POINTER it is `call *called`: whom it calls cannot be found out, and that is said. Named by its call,
// main>handle_request, it can.
#include "spin.h"

FUNCTION uint64_t work(unsigned choice) {
    spin(choice & 1 ? 50000 : 10000);
    return choice;
}

#ifdef THROUGH_POINTER
uint64_t (*called)(unsigned) = work;
#else
#define called work
#endif

FUNCTION uint64_t handle_request(unsigned choice) {
    return called(choice) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 31};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, handle_request(draw(&design)));
    }
    print_result("under_entry", count, checksum);
}
