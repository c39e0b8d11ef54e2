/* Heights, worked out by hand (main excluded):
 *   leaf          calls nothing                        0
 *   middle        > leaf                               1
 *   ping <> pong  pong > middle                        2 (one component)
 *   top           > ping, > leaf                       3
 *   printer       > puts (an import)                   1
 *   caller        > through a pointer                  1
 *   narcissus     > narcissus                          0
 */
#include <stdio.h>
#define APART __attribute__((noinline, noipa))

volatile int sink;

static APART void leaf(void) { sink++; }
APART void middle(void) { leaf(); sink++; }
APART void pong(int n);
APART void ping(int n) { if (n) pong(n - 1); sink++; }
APART void pong(int n) { middle(); ping(n); sink++; }
APART void top(void) { ping(3); leaf(); sink++; }
APART void printer(void) { puts("graph"); sink++; }
APART void caller(void (*f)(void)) { f(); sink++; }
APART int narcissus(int n) { return n ? narcissus(n - 1) + sink : 0; }

/* Its address is stored by the loader. */
void (*volatile table[])(void) = { printer };

int main(void)
{
    top();
    printer();
    caller(top);
    return narcissus(2) < 0;
}
