// `step` exists twice: as a function, which `later` calls through a pointer, and inlined into `now`. `alone` is inlined nowhere.
__attribute__((noinline)) static long alone(long value) { return value * 7 + 1; }

static inline __attribute__((always_inline)) long step(long value) { return alone(value) + value / 3; }

static long (*volatile through)(long) = step;

__attribute__((noinline)) long now(long value) { return step(value) - 1; }

__attribute__((noinline)) long later(long value) { return through(value) - 2; }

int main(int argc, char **argv) {
    (void)argv;
    return (int)(now(argc) + later(argc));
}
