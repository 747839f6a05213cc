#include "net/fiber_switch.h"

#include <cstdint>
#include <cstring>

#if PAL_OWN_SWITCH

extern "C" {
void pal_switch_stack(void** from, void* to) noexcept;
void pal_enter_stack() noexcept;
}

// What a function has to give back unchanged is kept on the stack that is left: six registers, and
// how floating-point numbers are rounded. The first time a stack is entered its r12 holds the
// function and r13 its argument; nothing is above it, which debuggers are told.
asm(R"(
.pushsection .text
.p2align 4
.globl pal_switch_stack
.hidden pal_switch_stack
.type pal_switch_stack, @function
pal_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
.size pal_switch_stack, .-pal_switch_stack
.p2align 4
.globl pal_enter_stack
.hidden pal_enter_stack
.type pal_enter_stack, @function
pal_enter_stack:
    .cfi_startproc
    .cfi_undefined rip
    movq %r13, %rdi
    callq *%r12
    ud2
    .cfi_endproc
.size pal_enter_stack, .-pal_enter_stack
.popsection
)");

namespace palimpsest {
namespace {

// As pal_switch_stack takes it off.
struct FirstFrame {
    std::uint32_t rounding = 0x1f80;         // as every program starts: all faults masked
    std::uint32_t rounding_of_old = 0x037f;  // the same for the old unit
    std::uint64_t r15 = 0, r14 = 0, r13 = 0, r12 = 0, rbx = 0, rbp = 0;
    std::uint64_t next = 0;
};

}  // namespace

void begin_stack(StackPoint& point, char* bottom, std::size_t bytes, void (*enter)(void*),
                 void* argument) {
    FirstFrame frame;
    frame.r12 = reinterpret_cast<std::uint64_t>(enter);
    frame.r13 = reinterpret_cast<std::uint64_t>(argument);
    frame.next = reinterpret_cast<std::uint64_t>(&pal_enter_stack);
    // Behind the frame the stack is aligned as before a call.
    const std::uint64_t top = reinterpret_cast<std::uint64_t>(bottom + bytes) & ~std::uint64_t{15};
    char* const at = reinterpret_cast<char*>(top - 16 - sizeof frame);
    std::memcpy(at, &frame, sizeof frame);
    point.top = at;
}

void switch_stack(StackPoint& from, StackPoint& to) {
    pal_switch_stack(&from.top, to.top);
}

}  // namespace palimpsest

#else

namespace palimpsest {
namespace {

// makecontext passes on nothing but ints.
void enter_halves(unsigned enter_high, unsigned enter_low, unsigned high, unsigned low) {
    const auto whole = [](unsigned upper, unsigned lower) {
        return static_cast<std::uintptr_t>(static_cast<std::uint64_t>(upper) << 32U | lower);
    };
    const auto enter = reinterpret_cast<void (*)(void*)>(whole(enter_high, enter_low));
    enter(reinterpret_cast<void*>(whole(high, low)));
}

unsigned high_of(std::uintptr_t value) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(value) >> 32U);
}

}  // namespace

void begin_stack(StackPoint& point, char* bottom, std::size_t bytes, void (*enter)(void*),
                 void* argument) {
    ::getcontext(&point.point);
    point.point.uc_stack.ss_sp = bottom;
    point.point.uc_stack.ss_size = bytes;
    point.point.uc_link = nullptr;
    const auto function = reinterpret_cast<std::uintptr_t>(enter);
    const auto value = reinterpret_cast<std::uintptr_t>(argument);
    ::makecontext(&point.point, reinterpret_cast<void (*)()>(&enter_halves), 4, high_of(function),
                  static_cast<unsigned>(function), high_of(value), static_cast<unsigned>(value));
}

void switch_stack(StackPoint& from, StackPoint& to) {
    ::swapcontext(&from.point, &to.point);
}

}  // namespace palimpsest

#endif
