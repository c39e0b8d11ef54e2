// Arguments and results of every kind: on the stack, in vector and x87 registers, through hidden pointers, variadic.
// build: gcc -O2 -g stackargs.c
//
// Interval: run_interval, one call of each function below. All results are exact in binary (small integers, halves), so
// the checksum does not depend on rounding; a hook that loses one register or moves the stack by a word changes it.
#include <stdarg.h>
#include <string.h>

#include "spin.h"

struct pair {
    uint64_t first;
    double second;
};

struct large {
    uint64_t words[9];
};

FUNCTION uint64_t many_integers(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                                uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

FUNCTION double many_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i,
                             double j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

FUNCTION float mixed(int a, float b, char c, double d, short e, float f, long g, uint64_t h, uint8_t i, float j) {
    return (float)a + b + (float)c + (float)d + (float)e + f + (float)g + (float)h + (float)i + j;
}

FUNCTION long double extended(long double a, uint64_t b, long double c) {
    return a * 2 + (long double)b + c / 2;
}

// In rax and xmm0.
FUNCTION struct pair return_pair(uint64_t a, double b) {
    return (struct pair){a + 1, b * 2};
}

// Through a hidden pointer.
FUNCTION struct large return_large(uint64_t a) {
    struct large large;
    for (uint64_t i = 0; i < 9; i++) {
        large.words[i] = a * (i + 1);
    }
    return large;
}

// By value on the stack.
FUNCTION uint64_t take_large(uint64_t before, struct large large, uint64_t after) {
    uint64_t sum = before + after;
    for (int i = 0; i < 9; i++) {
        sum += large.words[i] * (uint64_t)(i + 1);
    }
    return sum;
}

// In rax and rdx.
FUNCTION unsigned __int128 wide(uint64_t a, uint64_t b) {
    return (unsigned __int128)a * b + 1;
}

// In xmm0 and xmm1.
FUNCTION _Complex double turn(_Complex double z) {
    return z * (__extension__ 1.0i);
}

// The number of vector registers used is in al.
FUNCTION double variadic(const char *kinds, ...) {
    double sum = 0;
    va_list arguments;
    va_start(arguments, kinds);
    for (; *kinds; kinds++) {
        sum += *kinds == 'd' ? va_arg(arguments, double) : (double)va_arg(arguments, uint64_t);
        sum *= 2;
    }
    va_end(arguments);
    return sum;
}

static uint64_t bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

FUNCTION uint64_t run_interval(uint64_t n) {
    double x = (double)n / 2;
    uint64_t sum = CHECKSUM_START;
    sum = mix(sum, many_integers(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, n + 11));
    sum = mix(sum, bits(many_doubles(x, 1, 2, 3, 4, 5, 6, 7, 8, x + 9)));
    sum = mix(sum, bits(mixed((int)n, 0.5f, 'c', 1.5, -3, 2.5f, -7, n, 200, 0.25f)));
    sum = mix(sum, bits((double)extended(x, n, 3)));
    struct pair pair = return_pair(n, x);
    sum = mix(mix(sum, pair.first), bits(pair.second));
    sum = mix(sum, take_large(n, return_large(n), 5));
    unsigned __int128 product = wide(n << 40, n << 40);
    sum = mix(mix(sum, (uint64_t)product), (uint64_t)(product >> 64));
    _Complex double z = turn(x + 3 * (__extension__ 1.0i));
    sum = mix(mix(sum, bits(__real__ z)), bits(__imag__ z));
    return mix(sum, bits(variadic("duddduuuuddddddd", x, n, 1.0, 2.0, 3.0, n, n, n, n, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, x)));
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 100000);
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(i));
    }
    print_result("stackargs", count, checksum);
}
