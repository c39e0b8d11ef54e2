/* Statements of several messages, as in PostgreSQL's extended protocol: some that prepare, one that executes, and one after which it is the
 * client's turn. */
#include <stdio.h>

static volatile int done;

__attribute__((noinline)) static void prepare(void) { done++; }
__attribute__((noinline)) static void execute(const char *text) { done += text[0] == 's'; }
__attribute__((noinline)) static void inside(void) { done++; }
__attribute__((noinline)) static void ready(void) { done++; }

int main(void) {
    /* One statement, prepared in two steps, and the commit after it. */
    prepare();
    prepare();
    execute("select");
    inside();
    ready();
    /* Two in a row: the first ends where the second begins. */
    prepare();
    execute("sample");
    inside();
    prepare();
    execute("set");
    inside();
    inside();
    ready();
    /* Only prepared. */
    prepare();
    ready();
    /* Nothing. */
    inside();
    ready();
    printf("%d\n", done);
    return 0;
}
