// A tokenizer that many threads share and that counts at the speed of a warm cache. It keeps a few
// idle counters of another tokenizer: a thread takes one, counts, and gives it back, so no two
// threads ever share a cache and nothing is locked. When all are taken a new one is made; when all
// places are full it is let go. Media are counted by the rule of a model.
#pragma once
#include <array>
#include <atomic>
#include <memory>

#include "palimpsest/tokenizer.h"
#include "token/media_tokens.h"

namespace palimpsest {

class PooledTokenizer final : public Tokenizer {
public:
    explicit PooledTokenizer(std::shared_ptr<const Tokenizer> inner, const ImageRule& images = {})
        : inner_(std::move(inner)), images_(images) {}
    ~PooledTokenizer() override;

    std::string_view name() const override { return inner_->name(); }
    std::uint16_t scheme() const override { return inner_->scheme(); }
    std::uint64_t count(std::string_view text) const override;
    std::uint64_t count_media(const Media& media) const override {
        return media_tokens(images_, *inner_, media);
    }
    std::unique_ptr<TokenCounter> counter() const override { return inner_->counter(); }
    const ImageRule& images() const { return images_; }

private:
    static constexpr std::size_t idle_max = 8;
    std::unique_ptr<TokenCounter> take() const;
    void give_back(std::unique_ptr<TokenCounter> counter) const;

    std::shared_ptr<const Tokenizer> inner_;
    ImageRule images_;
    mutable std::array<std::atomic<TokenCounter*>, idle_max> idle_ = {};
};

}  // namespace palimpsest
