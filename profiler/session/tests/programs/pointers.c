// Forty short calls through pointers in one function, as in an interpreter's loop, and one with forty callees.
// build: gcc -O1 -g pointers.c
//
// Interval: evaluate. Its 40 cases each call through a register (`call *%rax`, two bytes). By a balanced design case 13 or
// case 49 runs, case 13 with 20,000 ticks in quick, case 49 with 20,000 or 200,000 in slow. Then one more register call, of
// one of forty functions in turn, 1,000 ticks each. All of Var(L) is slow's.
#include "spin.h"

#define TEN(M, tens) M(tens##0) M(tens##1) M(tens##2) M(tens##3) M(tens##4) M(tens##5) M(tens##6) M(tens##7) M(tens##8) M(tens##9)
#define FORTY(M) TEN(M, 1) TEN(M, 2) TEN(M, 3) TEN(M, 4)

#define CALLEE(n) FUNCTION uint64_t callee_##n(uint64_t ticks) { spin(ticks); return ticks + n; }
FORTY(CALLEE)

FUNCTION uint64_t quick(uint64_t ticks) {
    spin(ticks);
    return ticks + 1;
}

FUNCTION uint64_t slow(uint64_t ticks) {
    spin(ticks);
    return ticks + 2;
}

// Written out, because a compiler is free to choose another register or to join the calls.
static inline __attribute__((always_inline)) uint64_t through(uint64_t (*function)(uint64_t), uint64_t ticks) {
    register uint64_t (*target)(uint64_t) __asm__("rax") = function;
    register uint64_t argument __asm__("rdi") = ticks;
    __asm__ volatile("call *%%rax" : "+r"(target), "+r"(argument) : : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return (uint64_t)target;
}

#define ENTRY(n) callee_##n,
static uint64_t (*const table[40])(uint64_t) = {FORTY(ENTRY)};

#define CASE(n) case n: result = through(function, ticks); __asm__ volatile("# " #n); break;
FUNCTION uint64_t evaluate(unsigned code, uint64_t (*function)(uint64_t), uint64_t ticks, unsigned turn) {
    uint64_t result = 0;
    switch (code) { FORTY(CASE) }
    return result + through(table[turn % 40], 1000);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 20000);
    struct design design = {.state = 7};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        unsigned bits = draw(&design);
        uint64_t result = bits & 1 ? evaluate(49, slow, bits & 2 ? 200000 : 20000, i) : evaluate(13, quick, 20000, i);
        checksum = mix(checksum, result);
    }
    print_result("pointers", count, checksum);
}
