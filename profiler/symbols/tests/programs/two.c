extern volatile int sink;
#include "inline.h"
static __attribute__((noinline, noipa)) int helper(int n)
{
    return first(n);
}
int two(void) { return helper(2) + 1; }
