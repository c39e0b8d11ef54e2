/* Functions whose names a stripped build loses. Their callees, stored addresses and strings distinguish them, or do
 * not. */
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noipa))
#define KNOWN __attribute__((visibility("default"), noinline, noipa))

volatile int sink;
int (*stored)(int);

KNOWN int flush(int n) { return sink += n; }
KNOWN int insert(int n) { return sink -= n; }

/* Calls both. */
static APART int commit(int n) { return flush(n) + insert(n); }
/* Calls flush and is called by commit's caller: as `twin`. */
static APART int only_flush(int n) { puts("flushing the log"); return flush(n) + 1; }
static APART int twin(int n) { puts("two of them"); return flush(n) + 2; }
/* Is never called by name. */
static APART int through_a_pointer(int n) { return insert(n) + 3; }
/* Calls what has no name itself. */
static APART int above(int n) { return commit(n) + commit(n + 1); }

KNOWN int begin(int n)
{
    stored = through_a_pointer;
    return above(n) + only_flush(n) + twin(n);
}

int main(int argc, char **argv)
{
    (void)argv;
    return begin(argc) + stored(argc) == 0;
}
