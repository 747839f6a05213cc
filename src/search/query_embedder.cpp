#include "search/query_embedder.h"

#include <system_error>
#include <thread>

#include "base/utf8.h"
#include "core/vectors.h"

namespace palimpsest {
namespace {

constexpr std::size_t out_max = 8;
// About what a model with room for 512 tokens reads. It would take the front alone, and a long text
// asks at its begin or its end.
constexpr std::size_t asked_bytes_max = 1600;

std::string asked_text(std::string_view text) {
    if (text.size() <= asked_bytes_max) return std::string(text);
    constexpr std::size_t half = asked_bytes_max / 2;
    return std::string(utf8_prefix(text, half)) + "\n" + std::string(utf8_suffix(text, half));
}

}  // namespace

QueryEmbedder::~QueryEmbedder() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return out_ == 0; });
}

Result<QueryEmbedder::Vector> QueryEmbedder::embed_now(const std::string& text) const {
    const std::string asked = asked_text(text);
    PAL_TRY(made, embedder_->embed_queries({&asked, 1}));
    if (made.size() != 1 || !has_direction(made.front()))
        return fail(ErrorCode::upstream_failed, "the embedder gave no vector for the query");
    normalize(made.front());
    return std::move(made.front());
}

// The thread tells that it is done as its last act, under the lock: nothing of this object is used
// after that.
bool QueryEmbedder::start(const std::shared_ptr<Asked>& asked) {
    try {
        std::thread([this, asked] {
            auto made = embed_now(asked->text);
            const std::lock_guard lock(mutex_);
            asked->made = std::move(made);
            --out_;
            changed_.notify_all();
        }).detach();
    } catch (const std::system_error&) {
        return false;
    }
    ++out_;
    return true;
}

Result<QueryEmbedder::Vector> QueryEmbedder::embed(const std::string& text, Patience patience) {
    if (!patience) return embed_now(text);
    const auto asked = std::make_shared<Asked>(Asked{text, {}});
    std::unique_lock lock(mutex_);
    if (out_ >= out_max || !start(asked))
        return fail(ErrorCode::unavailable, "the embedder is busy with other questions");
    if (!changed_.wait_for(lock, *patience, [&] { return asked->made.has_value(); }))
        return fail(ErrorCode::unavailable, "the embedder gave no vector within " +
                                                std::to_string(patience->count()) + " ms");
    return *std::move(asked->made);
}

}  // namespace palimpsest
