#include <stdexcept>
#define APART __attribute__((noinline, noipa))

namespace shop {
volatile int sink;
APART int price(int n) { return n + sink; }
APART int price(double n) { return (int)n - sink; }
APART int total(int n) { return price(n) + price(1.5) + price(n + 1); }
APART void refuse() { throw std::runtime_error("no"); }
template <class T> struct Box {
    T item;
    APART T get(int n) const { return item + n + sink; }
};
template struct Box<int>;
}

int main()
{
    return shop::total(1) > 100;
}
