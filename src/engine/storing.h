// storing: a batch that is written and not yet synced, whose author goes on meanwhile.
//
// The store's append runs where the work of an errand (net/errand.h) was; the work goes on on
// another worker as soon as the store says that the batch is written (Store::append_ahead). Whoever
// is in no errand, or has a store that does not say so, gets what is stored.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "palimpsest/store.h"

namespace palimpsest {

class Storing {
public:
    // Until it is stored, or is not: its error then. An errand holds no thread meanwhile, and goes
    // on on the one that has stored it. At most one at a time.
    Result<void> wait();
    // Done once, as soon as it is stored and before anybody who waits goes on; never if it is not.
    void when_stored(std::function<void()> then);
    void end(std::optional<Error> error);

private:
    bool ended();
    void keep(std::function<void()> go_on);

    std::mutex mutex_;  // Guards all below.
    std::condition_variable changed_;
    bool ended_ = false;
    std::optional<Error> error_ = {};
    std::function<void()> then_ = {};
    std::function<void()> go_on_ = {};  // of the errand that waits
};

struct WrittenBatch {
    Appended appended = {};
    std::shared_ptr<Storing> storing = {};  // null: it is
};
// The store must outlive what is stored. `ahead` is heard where work of an errand is on a worker.
Result<WrittenBatch> store_batch(Store& store, const ConversationId& name,
                                 std::shared_ptr<const Batch> batch, bool ahead);

}  // namespace palimpsest
