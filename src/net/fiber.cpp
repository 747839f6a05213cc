#include "net/fiber.h"

#include "net/fiber_switch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

#ifdef __has_feature
#define PAL_CLANG_HAS(feature) __has_feature(feature)
#else
#define PAL_CLANG_HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || PAL_CLANG_HAS(address_sanitizer)
#define PAL_FIBER_ASAN 1
#else
#define PAL_FIBER_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || PAL_CLANG_HAS(thread_sanitizer)
#define PAL_FIBER_TSAN 1
#else
#define PAL_FIBER_TSAN 0
#endif

// The sanitizers must be told that a stack is left for another.
#if PAL_FIBER_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** kept, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* kept, const void** bottom, std::size_t* size);
void __asan_unpoison_memory_region(const volatile void* begin, std::size_t size);
}
#endif
#if PAL_FIBER_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

namespace palimpsest {
namespace {

// Reserved, not used: of a stack only those pages are there that were touched.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

}  // namespace

struct Fiber::Machine {
    char* memory = nullptr;
    std::size_t guard_bytes = 0;
    StackPoint own, caller;
#if PAL_FIBER_ASAN
    void* own_kept = nullptr;
    const void* caller_bottom = nullptr;
    std::size_t caller_bytes = 0;
#endif
#if PAL_FIBER_TSAN
    void* own_tsan = __tsan_create_fiber(0);
    void* caller_tsan = nullptr;
#endif

    char* bottom() const { return memory + guard_bytes; }
    std::size_t bytes() const { return stack_bytes - guard_bytes; }
};

Fiber::Fiber() : machine_(std::make_unique<Machine>()) {
    Machine& machine = *machine_;
    machine.guard_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const memory = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    machine.memory = static_cast<char*>(memory);
    ::mprotect(machine.memory, machine.guard_bytes, PROT_NONE);
    begin_stack(machine.own, machine.bottom(), machine.bytes(), &Fiber::enter, this);
}

Fiber::~Fiber() {
#if PAL_FIBER_ASAN
    __asan_unpoison_memory_region(machine_->bottom(), machine_->bytes());
#endif
#if PAL_FIBER_TSAN
    __tsan_destroy_fiber(machine_->own_tsan);
#endif
    ::munmap(machine_->memory, stack_bytes);
}

void Fiber::enter(void* self) {
    static_cast<Fiber*>(self)->run();
}

// Never returns: after one function it waits for the next.
void Fiber::run() {
#if PAL_FIBER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &machine_->caller_bottom, &machine_->caller_bytes);
#endif
    while (true) {
        function_();
        function_ = nullptr;
        ended_ = true;
        stop();
    }
}

void Fiber::load(Function function) {
    function_ = std::move(function);
    ended_ = false;
}

void Fiber::resume() {
    Machine& machine = *machine_;
#if PAL_FIBER_ASAN
    void* kept = nullptr;
    __sanitizer_start_switch_fiber(&kept, machine.bottom(), machine.bytes());
#endif
#if PAL_FIBER_TSAN
    machine.caller_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(machine.own_tsan, 0);
#endif
    switch_stack(machine.caller, machine.own);
#if PAL_FIBER_ASAN
    __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

void Fiber::stop() {
    Machine& machine = *machine_;
#if PAL_FIBER_ASAN
    __sanitizer_start_switch_fiber(&machine.own_kept, machine.caller_bottom, machine.caller_bytes);
#endif
#if PAL_FIBER_TSAN
    __tsan_switch_to_fiber(machine.caller_tsan, 0);
#endif
    switch_stack(machine.own, machine.caller);
#if PAL_FIBER_ASAN
    __sanitizer_finish_switch_fiber(machine.own_kept, &machine.caller_bottom,
                                    &machine.caller_bytes);
#endif
}

std::unique_ptr<Fiber> FiberPool::take() {
    {
        const std::scoped_lock lock(mutex_);
        if (!idle_.empty()) {
            auto fiber = std::move(idle_.back());
            idle_.pop_back();
            return fiber;
        }
    }
    return std::make_unique<Fiber>();
}

void FiberPool::give(std::unique_ptr<Fiber> fiber) {
    const std::scoped_lock lock(mutex_);
    if (idle_.size() < kept_max) idle_.push_back(std::move(fiber));
}

}  // namespace palimpsest
