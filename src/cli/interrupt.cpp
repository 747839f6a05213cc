#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace palimpsest {
namespace {

// A signal handler can reach nothing else.
volatile sig_atomic_t interrupt_seen = 0;

void set_action(int signal, void (*action)(int)) {
    struct sigaction what{};
    what.sa_handler = action;
    sigemptyset(&what.sa_mask);
    sigaction(signal, &what, nullptr);
}

}  // namespace

void exit_on_interrupt() {
    set_action(SIGINT, [](int) { _exit(130); });
}

void catch_interrupts() {
    set_action(SIGINT, [](int) { interrupt_seen = 1; });
}

bool interrupted() {
    return interrupt_seen != 0;
}

void forget_interrupt() {
    interrupt_seen = 0;
}

}  // namespace palimpsest
