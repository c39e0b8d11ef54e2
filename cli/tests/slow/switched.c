// Requests run on a stack of their own. Now and then one leaves it in the middle, and the thread rests on its first stack.
// build: gcc -O1 -g switched.c
//
// switched N: makes requests until N of them have been left for 250 ms.
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400
#define BYTES (1 << 16)

static ucontext_t first, own;
static long left;

static void sleep_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

FUNCTION void request(int leaves) {
    sleep_us(10);
    if (leaves)
        swapcontext(&own, &first);
    sleep_us(10);
}

FUNCTION void rest(void) {
    sleep_us(250000);
}

static void serve(void) {
    for (long requests = 1; left > 0; requests++)
        request(requests % BETWEEN == 0);
}

int main(int count, char **words) {
    left = count == 2 ? atoi(words[1]) : 0;
    getcontext(&own);
    own.uc_stack.ss_sp = malloc(BYTES);
    own.uc_stack.ss_size = BYTES;
    own.uc_link = &first;
    makecontext(&own, serve, 0);
    for (; left > 0; left--) {
        swapcontext(&first, &own);
        rest();
    }
    return 0;
}
