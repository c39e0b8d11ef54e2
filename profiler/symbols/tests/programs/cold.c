/* The compiler moves the rare branch of `parent` to a separate part, from which it jumps back. */
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noipa))

volatile int sink;

__attribute__((cold, noinline, noipa)) void report(int n) { printf("%d\n", n); }

static APART int parent(int n)
{
    sink++;
    if (__builtin_expect(n > 100, 0)) {
        report(n);
        report(n + 1);
        sink += n;
    }
    sink++;
    puts("parent");
    return sink;
}

int main(int argc, char **argv)
{
    (void)argv;
    return parent(argc) < 0;
}
