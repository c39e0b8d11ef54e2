/* The first instruction of whoever calls it comes from this file. */
static inline __attribute__((always_inline)) int first(int n)
{
    return n - sink;
}
