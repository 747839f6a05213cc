// incoming: the body of a model's answer while it arrives.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/model.h"

namespace palimpsest {

// The body of a 2xx answer. A server that was asked for a stream may send a plain reply all the
// same. No more is kept of it than an answer of `bytes_max` bytes has.
class Incoming {
public:
    using OnBytes = std::function<bool(std::string_view)>;
    // What they refer to must live as long.
    Incoming(FormatId format, std::size_t bytes_max, const OnPiece& on_piece,
             const OnBytes& on_bytes);

    bool take(std::string_view bytes);  // false: no more of it is wanted

    bool begun() const { return begun_; }
    bool stopped() const { return !wanted_; }  // by whoever hears it
    bool too_long() const { return too_long_; }
    const std::optional<Error>& fault() const { return fault_; }
    std::string_view head() const { return head_; }  // the first bytes, whatever they are
    std::size_t size() const { return size_; }

    Result<Reply> finish();

private:
    void hear(const StreamDelta& delta);
    bool take_whole(std::string_view bytes);
    void read_lines(std::string_view bytes);
    void pass_on(std::string_view bytes);

    FormatId format_;
    const std::size_t bytes_max_;
    const OnPiece& on_piece_;
    const OnBytes& on_bytes_;
    std::unique_ptr<StreamReader> reader_;
    std::string body_, head_;
    std::size_t size_ = 0;
    std::size_t said_ = 0;  // bytes of what was said, as a message has them
    std::size_t line_ = 0;  // bytes of the line that has not ended
    std::optional<Error> fault_;
    bool kind_known_ = false, plain_ = false, begun_ = false, wanted_ = true, too_long_ = false;
    bool page_ = false;  // of another kind: nobody hears it
};

// The same for an answer that nobody reads here.
class RelayedBody {
public:
    static constexpr std::size_t bytes_max = 64u << 20;  // in one piece

    explicit RelayedBody(const std::function<bool(std::string_view)>& on_bytes)
        : on_bytes_(on_bytes) {}

    bool take(std::string_view bytes);
    bool begun() const { return begun_; }  // events were passed on
    bool too_long() const { return body_.size() > bytes_max; }
    std::string body() { return std::move(body_); }

private:
    const std::function<bool(std::string_view)>& on_bytes_;
    std::string body_;
    bool begun_ = false;
};

}  // namespace palimpsest
