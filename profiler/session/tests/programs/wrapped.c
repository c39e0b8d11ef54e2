// A library with a function whose first instructions are a call: `sub $8, %rsp; call work`.
// build: gcc -O1 -g -shared -fPIC -fcf-protection=none wrapped.c
//
// Interval: handle > (through a pointer) wrap > work, by bit 0 of a balanced design (importer.c):
//   work  10,000 or 50,000 ticks  variance 4e8, which is all of it
// wrap is met by its pointer and hooked at its entry, in whose bytes the call of work lies: through the loader, as any call of an
// exported function, or directly (-Wl,-Bsymbolic). work is one call an interval, below wrap.
#include "spin.h"

FUNCTION uint64_t work(unsigned choice) {
    spin(choice & 1 ? 50000 : 10000);
    return choice & 1;
}

__attribute__((noinline, noipa)) uint64_t wrap(unsigned choice) {
    return work(choice) + 1;
}

static uint64_t (*volatile command)(unsigned) = wrap;

FUNCTION uint64_t handle(unsigned choice) {
    return command(choice) + 1;
}
