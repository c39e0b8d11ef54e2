// Calls that are interrupted, left and suspended. Everything public returns something a test can check.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define PUBLIC __attribute__((visibility("default")))
#define INNER __attribute__((noinline, noclone, visibility("hidden")))

INNER long add(long a, long b) { __asm__ volatile("" : "+r"(a)); return a + b; }
INNER long add_tail(long a, long b) { __asm__ volatile("" : "+r"(a)); return add(a, b); }
INNER long seven(long a, long b, long c, long d, long e, long f, long g) {
    __asm__ volatile("" : "+r"(a));
    return add_tail(a, b) + c + d + e + f + g;
}
INNER long work(long n) {
    long sum = seven(n, 1, 2, 3, 4, 5, 6);
    return add(sum, add_tail(n, 1));
}
INNER long fibonacci(long n) { return n < 2 ? n : add(fibonacci(n - 1), fibonacci(n - 2)); }

// 2 n + 22
PUBLIC long public_work(long n) { return work(n); }
PUBLIC long public_fibonacci(long n) { return fibonacci(n); }

// A signal handler that makes the same calls as what it interrupts.
volatile long signals_handled, signals_wrong;
PUBLIC long handled(void) { return signals_handled; }
PUBLIC long wrong(void) { return signals_wrong; }
INNER void on_signal_work(int signal) {
    (void)signal;
    if (work(signals_handled) != 2 * signals_handled + 22) signals_wrong++;
    signals_handled++;
}
PUBLIC void on_signal(int signal) { on_signal_work(signal); }

// longjmp over n calls; returns n.
static __thread jmp_buf target;
INNER long jump(long n) {
    if (n == 0) longjmp(target, 1);
    return add(jump(n - 1), 1);
}
PUBLIC long leave(long n) {
    volatile long left = n;
    if (setjmp(target) == 0) return jump(n);
    return left;
}

// Coroutines that suspend inside hooked calls. Each adds its number `rounds` times.
enum { COROUTINES = 8, STACK = 1 << 16 };
static __thread ucontext_t home, coroutine[COROUTINES];
static __thread long total, rounds_left[COROUTINES];
static __thread int running, done;

INNER long suspend(long n) {
    swapcontext(&coroutine[running], &home);
    return n;
}
INNER long suspend_tail(long n) { return suspend(n); }
INNER long step(long n) { return add(suspend_tail(n), suspend(0)); }

static void body(int i) {
    while (rounds_left[i]-- > 0) total += step(i);
    done++;
    swapcontext(&coroutine[i], &home);
    abort();
}

PUBLIC long coroutines(long rounds) {
    static __thread char *stacks;
    if (!stacks) stacks = malloc(COROUTINES * STACK);
    total = 0;
    done = 0;
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = stacks + i * STACK;
        coroutine[i].uc_stack.ss_size = STACK;
        rounds_left[i] = rounds;
        makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    for (unsigned turn = 1; done < COROUTINES; turn = turn * 1103515245 + 12345) {
        running = turn >> 16 & (COROUTINES - 1);
        if (rounds_left[running] >= 0) swapcontext(&home, &coroutine[running]);
    }
    return total;
}

// As many calls as coroutines, all suspended at once inside hooked functions, then resumed in another order.
static __thread ucontext_t *parked;
static __thread long unparked;

INNER void wait_parked(long i) { swapcontext(&parked[i], &home); }
INNER long park(long i) { wait_parked(i); return add(i, 1); }
static void park_body(int i) {
    unparked += park(i) == i + 1;
    swapcontext(&parked[i], &home);
    abort();
}

// n
PUBLIC long park_all(long n) {
    enum { SMALL = 1 << 13 };
    char *stacks = malloc(n * SMALL);
    parked = malloc(n * sizeof *parked);
    unparked = 0;
    for (long i = 0; i < n; i++) {
        getcontext(&parked[i]);
        parked[i].uc_stack.ss_sp = stacks + i * SMALL;
        parked[i].uc_stack.ss_size = SMALL;
        makecontext(&parked[i], (void (*)(void))park_body, 1, (int)i);
        swapcontext(&home, &parked[i]);
    }
    for (long i = 0; i < n; i++) swapcontext(&home, &parked[(i * 7919 + 13) % n]);
    free(parked);
    free(stacks);
    return unparked;
}
