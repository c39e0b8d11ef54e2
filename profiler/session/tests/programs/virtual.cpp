// Virtual calls: `call *(%rax)` and `call *8(%rax)`, two and three bytes.
// build: g++ -O2 -g virtual.cpp
//
// Interval: run_interval > Shape::area and Shape::scale of one of two classes, by bits 0 and 1 of a balanced design:
//   Circle::area, Square::area     20,000 or 60,000 ticks    sd 20,000
//   Circle::scale, Square::scale   20,000 or 140,000 ticks   sd 60,000
// Var(L) = 4.0e9: area 10 %, scale 90 %, covariance 0. Mean of L: 120,000.
#include "spin.h"

struct Shape {
    virtual uint64_t area(uint64_t value) = 0;
    virtual uint64_t scale(uint64_t value) = 0;
    virtual ~Shape() = default;
};

struct Circle final : Shape {
    FUNCTION uint64_t area(uint64_t value) override {
        spin(20000);
        return value * 3;
    }
    FUNCTION uint64_t scale(uint64_t value) override {
        spin(20000);
        return value + 3;
    }
};

struct Square final : Shape {
    FUNCTION uint64_t area(uint64_t value) override {
        spin(60000);
        return value * 4;
    }
    FUNCTION uint64_t scale(uint64_t value) override {
        spin(140000);
        return value + 4;
    }
};

FUNCTION uint64_t run_interval(Shape *first, Shape *second, uint64_t value) {
    uint64_t result = first->area(value);
    return result + second->scale(value);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 4000);
    struct design design = {};
    design.state = 10;
    uint64_t checksum = CHECKSUM_START;
    Circle circle;
    Square square;
    Shape *shapes[2] = {&circle, &square};
    for (unsigned long i = 0; more(i, &count); i++) {
        unsigned choice = draw(&design);
        checksum = mix(checksum, run_interval(shapes[choice & 1], shapes[choice >> 1 & 1], choice));
    }
    print_result("virtual", count, checksum);
}
