// Exceptions, cancellation and thread exit through frames that may be hooked. `destroyed` counts destructors.
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#define PUBLIC extern "C" __attribute__((visibility("default")))
#define INNER extern "C" __attribute__((noinline, visibility("hidden")))

struct Guard {
    int *destroyed;
    explicit Guard(int *counter) : destroyed(counter) {}
    ~Guard() { ++*destroyed; }
};


INNER int leaf(int n, int *) {
    if (n & 1) throw n;
    return n;
}

INNER int middle(int n, int *destroyed) {
    Guard guard(destroyed);
    return leaf(n, destroyed) + 1;
}

int (*volatile pointer)(int, int *) = middle;

INNER int through_pointer(int n, int *destroyed) {
    Guard guard(destroyed);
    int value = pointer(n, destroyed);
    return value + 1;
}

INNER int tail(int n, int *destroyed) { return through_pointer(n + 2, destroyed); }
INNER int tail_of_tail(int n, int *destroyed) { return tail(n + 2, destroyed); }

INNER int nested(int n, int *destroyed) {
    try {
        Guard guard(destroyed);
        return tail_of_tail(n, destroyed) + 1;
    } catch (int value) {
        try {
            Guard guard(destroyed);
            leaf(value + 2, destroyed);
        } catch (int) {
        }
        throw;
    }
}

// n even: n + 7 with 3 destructors; n odd: -(n + 4) with 4 destructors.
PUBLIC int outer(int n, int *destroyed) {
    try {
        return nested(n, destroyed);
    } catch (int value) {
        return -value;
    }
}

INNER int recurse(int n, int depth, int *destroyed) {
    Guard guard(destroyed);
    if (depth == 0) return leaf(n, destroyed);
    return recurse(n, depth - 1, destroyed) + 1;
}

PUBLIC int deep(int n, int depth, int *destroyed) {
    try {
        return recurse(n, depth, destroyed);
    } catch (int value) {
        return -value;
    }
}

struct Trace {
    void *at[64];
    int len;
};

INNER int trace_leaf(Trace *trace) {
    trace->len = backtrace(trace->at, 64);
    return trace->len;
}
INNER int trace_tail(Trace *trace) { return trace_leaf(trace); }
INNER int trace_middle(Trace *trace) { return trace_tail(trace) + 1; }

PUBLIC int trace_outer(Trace *trace) { return trace_middle(trace) + 1; }

INNER int leave(int n, int *destroyed) {
    Guard guard(destroyed);
    if (n == 0) pthread_exit(nullptr);
    for (;;) pause();
}
INNER int leave_tail(int n, int *destroyed) { return leave(n, destroyed); }
INNER int leave_middle(int n, int *destroyed) {
    Guard guard(destroyed);
    return leave_tail(n, destroyed) + 1;
}

// n = 0: pthread_exit; otherwise waits to be cancelled. 2 destructors.
PUBLIC int leave_outer(int n, int *destroyed) { return leave_middle(n, destroyed) + 1; }
