// lookout: what an errand on the loop's thread has seen of a descriptor that it waits for.
//
// Invariant: it goes before the descriptor is closed; on the loop's thread, or at rest.
#pragma once
#include <memory>

#include "net/errand.h"
#include "net/loop.h"

namespace palimpsest {

class Lookout {
public:
    Lookout() = default;
    ~Lookout() { close(); }
    Lookout(Lookout&&) noexcept = default;
    Lookout& operator=(Lookout&&) noexcept = default;

    // Looks for poll events (POLLIN, POLLOUT) and rings the errand's bell when one comes.
    void look(Errand& errand, int descriptor, short events);
    // Those that have come since look() asked for them.
    short seen() const;
    // The errand looks no more. The next one of this loop finds the descriptor known already.
    void rest();
    void close();

private:
    struct Sight;
    void look(Readiness readiness, short event);

    std::shared_ptr<Sight> sight_;
    std::unique_ptr<Watch> watch_;
};

}  // namespace palimpsest
