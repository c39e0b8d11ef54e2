// The stack is aligned as the ABI says: by 16 bytes before each call, whatever stands between caller and callee.
// build: gcc -O2 -g alignment.c
//
// Interval: run_interval > check_16, check_64, store_aligned. Each reports its stack's misalignment, 0 in every call;
// store_aligned stores with movaps, which faults when the stack is misaligned. `misaligned` stays 0.
// The checks also hold in the handler of a signal raised in the interval.
#include <signal.h>

#include "spin.h"

static volatile sig_atomic_t misaligned;

// At entry, below the return address: rsp + 8 is a multiple of 16.
FUNCTION uint64_t check_16(uint64_t value) {
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    misaligned = misaligned + (frame % 16 != 0);
    return value + 1;
}

FUNCTION uint64_t check_64(uint64_t value) {
    volatile struct {
        uint64_t words[8];
    } __attribute__((aligned(64))) local = {{value}};
    misaligned = misaligned + ((uintptr_t)&local % 64 != 0);
    return local.words[0] + 2;
}

FUNCTION uint64_t store_aligned(uint64_t value) {
    __m128i local[2];
    __asm__ volatile("movaps %1, %0" : "=m"(local[1]) : "x"(_mm_set_epi64x(3, (long long)value)));
    return (uint64_t)_mm_cvtsi128_si64(local[1]) + 3;
}

FUNCTION uint64_t check(uint64_t value) {
    uint64_t result = check_16(value);
    result += check_64(result);
    return result + store_aligned(result);
}

static void on_signal(int signal) {
    check((uint64_t)signal);
}

FUNCTION uint64_t run_interval(uint64_t value) {
    if (value % 16 == 0) {
        raise(SIGUSR1);
    }
    return check(value);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 100000);
    signal(SIGUSR1, on_signal);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(i));
    }
    printf("alignment: %d misaligned\n", (int)misaligned);
    print_result("alignment", count, checksum);
}
