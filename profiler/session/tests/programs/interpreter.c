// An interpreter whose every instruction is a call through a pointer too short to be redirected.
// build: gcc -O1 -g interpreter.c
//
// Interval: run_interval > interpret, which carries out 200,000 or 600,000 instructions by a balanced design: each a
// `call *%rax` of `add` or `shift`. A trap costs a thousand times an instruction.
#include "spin.h"

FUNCTION uint64_t add(uint64_t value) { return value + 3; }

FUNCTION uint64_t shift(uint64_t value) { return value ^ value >> 7; }

static uint64_t (*const table[2])(uint64_t) = {add, shift};

// Written out, because a compiler is free to choose another register or to load the pointer in the call.
static inline __attribute__((always_inline)) uint64_t through(uint64_t (*function)(uint64_t), uint64_t value) {
    register uint64_t (*target)(uint64_t) __asm__("rax") = function;
    register uint64_t argument __asm__("rdi") = value;
    __asm__ volatile("call *%%rax" : "+r"(target), "+r"(argument) : : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return (uint64_t)target;
}

FUNCTION uint64_t interpret(uint64_t instructions) {
    uint64_t value = instructions;
    for (uint64_t at = 0; at < instructions; at++) {
        value = through(table[at & 1], value);
    }
    return value;
}

FUNCTION uint64_t run_interval(unsigned choice) { return interpret(choice & 1 ? 600000 : 200000); }

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 3000);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("interpreter", count, checksum);
}
