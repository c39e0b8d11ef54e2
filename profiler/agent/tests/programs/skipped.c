/* Intervals of which most are short and every 50th sleeps for a hundredth of a second. */
#include <stdio.h>
#include <time.h>

static volatile int done;

__attribute__((noinline)) static void request(int slow) {
    if (slow) {
        struct timespec wait = {0, 10 * 1000 * 1000};
        nanosleep(&wait, 0);
    }
    done++;
}

int main(void) {
    for (int i = 0; i < 500; i++)
        request(i % 50 == 0);
    printf("%d\n", done);
    return 0;
}
