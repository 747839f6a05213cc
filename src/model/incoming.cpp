#include "model/incoming.h"

#include <algorithm>

#include "format/sse.h"

namespace palimpsest {
namespace {

constexpr std::size_t head_bytes_max = 200;
// What stands around an answer: the reply's other fields, those of an event.
constexpr std::size_t around_bytes_max = 4u << 20;
// Of a message, around what was said, and what one more piece may bring.
constexpr std::size_t spare_bytes_max = 64u << 10;

// As a JSON string has it.
std::size_t escaped_bytes(std::string_view text) {
    std::size_t bytes = text.size();
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t')
            bytes += 1;
        else if (static_cast<unsigned char>(c) < 0x20)
            bytes += 5;
    }
    return bytes;
}

}  // namespace

Incoming::Incoming(FormatId format, std::size_t bytes_max, const OnPiece& on_piece,
                   const OnBytes& on_bytes)
    : format_(format), bytes_max_(bytes_max), on_piece_(on_piece), on_bytes_(on_bytes) {
    reader_ = make_stream_reader(format, [this](const StreamDelta& delta) { hear(delta); });
}

void Incoming::hear(const StreamDelta& delta) {
    begun_ = true;
    said_ += escaped_bytes(delta.text) + delta.id.size() + delta.name.size();
    too_long_ = too_long_ || said_ > bytes_max_ - std::min(bytes_max_ / 8, spare_bytes_max);
    if (wanted_ && on_piece_) wanted_ = on_piece_(delta);
}

bool Incoming::take(std::string_view bytes) {
    head_ += bytes.substr(0, head_bytes_max - head_.size());
    size_ += bytes.size();
    if (!kind_known_) {
        const std::size_t first = bytes.find_first_not_of(" \t\r\n");
        if (first == std::string_view::npos) return true;
        kind_known_ = true;
        plain_ = bytes[first] == '{';
        page_ = !plain_ && !may_begin_events(bytes.substr(first));
    }
    if (plain_ || page_) return take_whole(bytes);
    read_lines(bytes);
    return wanted_ && !fault_ && !too_long_;
}

bool Incoming::take_whole(std::string_view bytes) {
    too_long_ = size_ > bytes_max_ + around_bytes_max;
    if (plain_ && !too_long_) body_ += bytes;
    return !too_long_;
}

// What stands before a fault is still of the answer, what follows is not: nobody hears what is not
// kept. So it is read line by line, and then passed on.
void Incoming::read_lines(std::string_view bytes) {
    std::size_t read = 0;
    while (read < bytes.size() && !too_long_) {
        const std::size_t end = std::min(bytes.find('\n', read), bytes.size() - 1) + 1;
        if (auto fed = reader_->feed(bytes.substr(read, end - read)); !fed) {
            fault_ = std::move(fed).error();
            break;
        }
        line_ = bytes[end - 1] == '\n' ? 0 : line_ + (end - read);
        too_long_ = too_long_ || line_ > bytes_max_ + around_bytes_max;
        read = end;
    }
    if (!fault_ || begun_) pass_on(bytes.substr(0, read));
}

void Incoming::pass_on(std::string_view bytes) {
    if (wanted_ && on_bytes_) wanted_ = on_bytes_(bytes);
}

Result<Reply> Incoming::finish() {
    if (!plain_) return reader_->finish();
    PAL_TRY(reply, read_reply(format_, body_));
    if (!on_piece_) return reply;
    const auto lost = tell_messages(format_, reply.messages, [&](const StreamDelta& delta) {
        if (wanted_) wanted_ = on_piece_(delta);
    });
    if (!lost) return std::unexpected(lost.error());
    return reply;
}

bool RelayedBody::take(std::string_view bytes) {
    if (!begun_ && body_.empty()) {
        bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
        begun_ = !bytes.empty() && bytes.front() != '{' && bytes.front() != '[' && on_bytes_;
    }
    if (begun_) return on_bytes_(bytes);
    body_ += bytes;
    return !too_long();
}

}  // namespace palimpsest
