// The small words that every other header uses: positions, times, names, shared bytes.
#pragma once
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace palimpsest {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;
using Duration = std::chrono::milliseconds;

// Immutable bytes, shared and never copied: a view and what keeps it alive, which may hold more
// than the view shows (the messages of a request share its bytes). Null means "none".
class Bytes {
public:
    Bytes() = default;
    Bytes(std::nullptr_t) {}
    Bytes(std::shared_ptr<const void> owner, std::string_view view)
        : owner_(std::move(owner)), view_(view) {}

    explicit operator bool() const { return owner_ != nullptr; }
    const std::string_view& operator*() const { return view_; }
    const std::string_view* operator->() const { return &view_; }

    // `part` of the same memory.
    Bytes part(std::string_view part) const { return {owner_, part}; }
    bool shares_memory(const Bytes& other) const { return owner_.get() == other.owner_.get(); }
    // Bytes of their own, for what outlives the rest of the memory.
    Bytes own() const;
    // The very same bytes, not equal ones.
    bool operator==(const Bytes& other) const {
        return shares_memory(other) && view_.data() == other.view_.data() &&
               view_.size() == other.view_.size();
    }

private:
    std::shared_ptr<const void> owner_;
    std::string_view view_;
};
inline Bytes make_bytes(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const std::string_view view = *owner;
    return {std::move(owner), view};
}
inline Bytes Bytes::own() const {
    return owner_ ? make_bytes(std::string(view_)) : Bytes();
}
inline std::string_view view_of(const Bytes& bytes) {
    return *bytes;
}

// A position in a log: 1 is the first entry, 0 is before it. Along a lineage (a conversation and
// what it was forked from) a seq means one entry only.
struct Seq {
    std::uint64_t value = 0;
    auto operator<=>(const Seq&) const = default;
    friend Seq operator+(Seq seq, std::uint64_t n) { return {seq.value + n}; }
    friend Seq operator-(Seq seq, std::uint64_t n) { return {seq.value < n ? 0 : seq.value - n}; }
};
constexpr Seq seq_max{UINT64_MAX >> 1};  // Stores keep seqs as signed 64-bit numbers.

// Inclusive; empty when to < from.
struct Range {
    Seq from{}, to{};
    auto operator<=>(const Range&) const = default;
    bool empty() const { return to < from; }
    bool contains(Seq seq) const { return from <= seq && seq <= to; }
};

// A conversation's name. An id is unique inside its tenant only; there is no default tenant below
// the command line and the server's settings.
struct ConversationId {
    std::string tenant;
    std::string id;
    auto operator<=>(const ConversationId&) const = default;
};

// A log's identity (its incarnation): random, never reused. Erasing a conversation and creating
// one with the same name gives another log.
struct LogId {
    std::array<std::uint8_t, 16> bytes{};
    auto operator<=>(const LogId&) const = default;
    bool empty() const { return *this == LogId{}; }
};

// 128 bits that say "the same was said"; see fingerprint() in message.h for what counts.
struct Fingerprint {
    std::uint64_t low = 0, high = 0;
    auto operator<=>(const Fingerprint&) const = default;
};

}  // namespace palimpsest
