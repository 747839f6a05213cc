#include "engine/storing.h"

#include <utility>

#include "net/errand.h"

namespace palimpsest {

void Storing::when_stored(std::function<void()> then) {
    {
        const std::scoped_lock lock(mutex_);
        if (!ended_) {
            then_ = std::move(then);
            return;
        }
        if (error_) return;
    }
    then();
}

// The work of the errand runs beside this: it may say what is to be done only now.
void Storing::end(std::optional<Error> error) {
    std::function<void()> then, go_on;
    for (bool done = false; !done;) {
        if (then) then();
        const std::scoped_lock lock(mutex_);
        then = error ? nullptr : std::exchange(then_, nullptr);
        if (then) continue;
        then_ = nullptr;
        error_ = std::move(error);
        ended_ = done = true;
        go_on = std::exchange(go_on_, nullptr);
    }
    changed_.notify_all();
    if (go_on) go_on();
}

Result<void> Storing::wait() {
    Errand* const errand = Errand::current();
    if (errand && !ended()) errand->wait_for([this](auto go_on) { keep(std::move(go_on)); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    if (error_) return std::unexpected(*error_);
    return {};
}

bool Storing::ended() {
    const std::scoped_lock lock(mutex_);
    return ended_;
}

void Storing::keep(std::function<void()> go_on) {
    {
        const std::scoped_lock lock(mutex_);
        if (!ended_) {
            go_on_ = std::move(go_on);
            return;
        }
    }
    go_on();
}

namespace {

bool on_worker() {
    const Errand* const errand = Errand::current();
    return errand && !errand->on_network();
}

Result<WrittenBatch> store_ahead(Store& store, const ConversationId& name,
                                 std::shared_ptr<const Batch> batch) {
    const auto storing = std::make_shared<Storing>();
    std::optional<Appended> written;
    Result<Appended> stored = Appended{};
    Errand::current()->do_aside([&, name, batch = std::move(batch), storing](const auto& go_on) {
        bool gone = false;
        auto done = store.append_ahead(name, *batch, [&](const Appended& so_far) {
            written = so_far;
            gone = true;
            go_on();
        });
        // Whoever waits may have gone on: what is theirs is not touched any more.
        if (gone)
            storing->end(done ? std::nullopt : std::optional(std::move(done).error()));
        else
            stored = std::move(done);
    });
    if (written) return WrittenBatch{*std::move(written), storing};
    if (!stored) return std::unexpected(std::move(stored).error());
    return WrittenBatch{*std::move(stored), nullptr};
}

}  // namespace

Result<WrittenBatch> store_batch(Store& store, const ConversationId& name,
                                 std::shared_ptr<const Batch> batch, bool ahead) {
    if (ahead && on_worker()) return store_ahead(store, name, std::move(batch));
    PAL_TRY(appended, store.append(name, *batch));
    return WrittenBatch{std::move(appended), nullptr};
}

}  // namespace palimpsest
