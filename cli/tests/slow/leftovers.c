// Each request waits in a function with a frame pointer, which has what earlier calls left among its locals.
// build: gcc -O1 -g -fno-omit-frame-pointer leftovers.c
//
// leftovers N: makes requests until N of them have slept for 250 ms.
#include <stdlib.h>
#include <time.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400
#define WORDS 64

static void *left;

FUNCTION void note(void) { left = __builtin_return_address(0); }

FUNCTION void earlier(void) {
    note();
    __asm__ volatile("");
}

FUNCTION void wait_here(int sleeps) {
    void *volatile words[WORDS];
    for (int i = 0; i < WORDS; i += 2) {
        // What a frame of a function with a frame pointer looks like, whose caller has returned.
        words[i] = (char *)&words[i] + 8 * (i % 8 + 1);
        words[i + 1] = left;
    }
    struct timespec time = {0, sleeps ? 250000000 : 10000};
    nanosleep(&time, NULL);
    __asm__ volatile("" ::"r"(words) : "memory");
}

FUNCTION void request(int sleeps) {
    // With a frame pointer the call is among the instructions that the interval's hook displaces.
    wait_here(sleeps);
    __asm__ volatile("");
}

int main(int count, char **words) {
    long sleeps = count == 2 ? atoi(words[1]) : 0;
    earlier();
    for (long requests = 1; sleeps > 0; requests++) {
        int is_slow = requests % BETWEEN == 0;
        request(is_slow);
        sleeps -= is_slow;
    }
    return 0;
}
