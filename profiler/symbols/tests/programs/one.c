volatile int sink;
int two(void);
static __attribute__((noinline, noipa)) int helper(int n) { return n + sink; }
int main(void) { return helper(1) + two() > 100; }
