// Errors leave the interval by a jump that calls no function of the C library.
// build: gcc -O1 -g unseen.c
//
// Interval: handle_statement > fetch_row. Two of four intervals are left from fetch_row by __builtin_longjmp: a few instructions and
// no call. Exceptions of OCaml are of this kind. fetch_row takes 20,000 ticks before it fails or returns.
#include "spin.h"

static void *top[5];

FUNCTION void fail(void) {
    __builtin_longjmp(top, 1);
}

FUNCTION uint64_t fetch_row(int fails) {
    spin(20000);
    if (fails) {
        fail();
    }
    return 1;
}

FUNCTION uint64_t handle_statement(int fails) {
    return fetch_row(fails) + 5;
}

FUNCTION uint64_t serve(int fails) {
    if (__builtin_setjmp(top)) {
        return 1000;
    }
    return handle_statement(fails);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 16000);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, serve(i % 4 < 2));
    }
    print_result("unseen", count, checksum);
}
