// A dispatcher with 273 call sites, as MariaDB's dispatch_command, of which a handful run; load that begins late.
// build: gcc -O1 -g dispatcher.c
//
// Interval: dispatch. For the first half second nobody calls it. Then it calls one of four commands, by two bits of a
// balanced design:
//   step_1007 20,000, step_1100 20,000, step_1200 20,000 or step_1272 200,000 ticks
// Var(L) = (180,000)^2 x 3/16, with Cov(step_1272, L) = 200,000 x 180,000 x 3/16, ten ninths of it, and each of the others
// -20,000 x 180,000 / 16, -1/27: they run where the slow one does not. The other 269 sites never run.
#include <time.h>

#include "spin.h"

#define TEN(M, tens) M(tens##0) M(tens##1) M(tens##2) M(tens##3) M(tens##4) M(tens##5) M(tens##6) M(tens##7) M(tens##8) M(tens##9)
#define HUNDRED(M, hundreds) \
    TEN(M, hundreds##0) TEN(M, hundreds##1) TEN(M, hundreds##2) TEN(M, hundreds##3) TEN(M, hundreds##4) \
    TEN(M, hundreds##5) TEN(M, hundreds##6) TEN(M, hundreds##7) TEN(M, hundreds##8) TEN(M, hundreds##9)
// Numbers begin with a 1, so that none is octal: step_1000 to step_1272.
#define ALL(M) HUNDRED(M, 10) HUNDRED(M, 11) TEN(M, 120) TEN(M, 121) TEN(M, 122) TEN(M, 123) TEN(M, 124) TEN(M, 125) \
    TEN(M, 126) M(1270) M(1271) M(1272)

#define STEP(n) FUNCTION uint64_t step_##n(uint64_t ticks) { spin(ticks); return ticks + n; }
ALL(STEP)

#define CASE(n) case n: result = step_##n(ticks); __asm__ volatile("# " #n); break;
FUNCTION uint64_t dispatch(unsigned command, uint64_t ticks) {
    uint64_t result = 0;
    switch (command) { ALL(CASE) }
    return result + 1;
}

int main(int argc, char **argv) {
    static const unsigned commands[4] = {1007, 1100, 1200, 1272};
    unsigned long count = intervals(argc, argv, 20000);
    struct design design = {.state = 3};
    uint64_t checksum = CHECKSUM_START;
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    for (unsigned long i = 0; more(i, &count); i++) {
        unsigned command = commands[draw(&design) & 3];
        checksum = mix(checksum, dispatch(command, command == 1272 ? 200000 : 20000));
    }
    print_result("dispatcher", count, checksum);
}
