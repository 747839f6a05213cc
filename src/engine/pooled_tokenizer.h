// A tokenizer that many threads share and that counts at the speed of a warm cache. It keeps a few
// idle counters of another tokenizer: a thread takes one, counts, and gives it back, so no two
// threads ever share a cache and nothing is locked. When all are taken a new one is made; when all
// places are full it is let go.
#pragma once
#include <array>
#include <atomic>
#include <memory>

#include "palimpsest/tokenizer.h"

namespace palimpsest {

class PooledTokenizer final : public Tokenizer {
public:
    explicit PooledTokenizer(std::shared_ptr<const Tokenizer> inner) : inner_(std::move(inner)) {}
    ~PooledTokenizer() override;

    std::string_view name() const override { return inner_->name(); }
    std::uint16_t scheme() const override { return inner_->scheme(); }
    std::uint64_t count(std::string_view text) const override;
    std::unique_ptr<TokenCounter> counter() const override { return inner_->counter(); }

private:
    static constexpr std::size_t idle_max = 8;
    std::unique_ptr<TokenCounter> take() const;
    void give_back(std::unique_ptr<TokenCounter> counter) const;

    std::shared_ptr<const Tokenizer> inner_;
    mutable std::array<std::atomic<TokenCounter*>, idle_max> idle_ = {};
};

}  // namespace palimpsest
