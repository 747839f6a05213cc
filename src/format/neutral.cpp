#include "format/neutral.h"

#include "base/hash.h"
#include "format/canonical.h"

namespace palimpsest {
namespace {

void count_media(Shape& shape, const std::vector<NeutralPart>& parts) {
    for (const NeutralPart& part : parts)
        if (part.kind >= PartKind::image && part.kind <= PartKind::audio &&
            shape.media < UINT16_MAX)
            ++shape.media;
}

}  // namespace

void set_shape(Shape& shape, const NeutralMessage& message) {
    shape.role = message.role;
    for (const NeutralPart& part : message.parts) {
        switch (part.kind) {
            case PartKind::text:
            case PartKind::refusal:
                shape.text = shape.text || !part.text.empty();
                break;
            case PartKind::image:
            case PartKind::document:
            case PartKind::audio:
                if (shape.media < UINT16_MAX) ++shape.media;
                break;
            case PartKind::tool_call:
                if (!part.server) shape.calls.emplace_back(part.id);
                count_media(shape, part.inner);
                break;
            case PartKind::tool_result:
                if (!part.server) shape.results.emplace_back(part.id);
                count_media(shape, part.inner);
                break;
            case PartKind::reasoning:
                shape.reasoning = true;
                break;
            case PartKind::speech:
                shape.text = true;
                break;
            case PartKind::compaction:
            case PartKind::opaque:
                break;
        }
    }
}

namespace {

// What a fingerprint is made of, gathered and hashed at once. Texts and media, which may be long,
// stand in it as their hashes. Texts that follow each other are one text.
class Gathered {
public:
    explicit Gathered(std::string& room) : bytes_(room) { bytes_.clear(); }

    void text(std::string_view more) {
        if (text_.empty()) {
            text_ = more;
        } else if (!more.empty()) {
            if (!joined_) {
                size_ = bytes_.size();
                bytes_ += text_;
            }
            joined_ = true;
            bytes_ += more;
        }
    }
    void add(char mark) {
        end_text();
        bytes_ += mark;
    }
    void field(std::string_view bytes) {
        const std::size_t at = begin_field();
        bytes_ += bytes;
        end_field(at);
    }
    void canonical_field(std::string_view json, JsonKeep keep) {
        const std::size_t at = begin_field();
        append_canonical(bytes_, json, keep);
        end_field(at);
    }
    void hash_field(std::string_view bytes) {
        const Fingerprint hash = hash_bytes(bytes);
        number(hash.low);
        number(hash.high);
    }
    Fingerprint digest() {
        end_text();
        return hash_bytes(bytes_);
    }

private:
    // Pieces of a text are put behind what is gathered, until it is known where they end.
    void end_text() {
        if (text_.empty()) return;
        const Fingerprint hash =
            hash_bytes(joined_ ? std::string_view(bytes_).substr(size_) : text_);
        if (joined_) bytes_.resize(size_);
        bytes_ += 'T';
        number(hash.low);
        number(hash.high);
        text_ = {};
        joined_ = false;
    }
    void number(std::uint64_t value) {
        char bytes[8];
        for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
        bytes_.append(bytes, sizeof bytes);
    }
    std::size_t begin_field() {
        bytes_.append(8, '\0');
        return bytes_.size();
    }
    // The length stands before the bytes, lowest byte first.
    void end_field(std::size_t at) {
        const std::size_t size = bytes_.size() - at;
        for (unsigned i = 0; i < 8; ++i) bytes_[at - 8 + i] = static_cast<char>(size >> (8 * i));
    }

    std::string& bytes_;
    std::string_view text_;  // of the current run
    std::size_t size_ = 0;   // of what is gathered, while pieces stand behind it
    bool joined_ = false;
};

void add_part(Gathered& hasher, const NeutralPart& part) {
    switch (part.kind) {
        case PartKind::tool_call:
            hasher.add('C');
            hasher.field(part.id);
            hasher.field(part.name);
            if (part.custom)
                hasher.field(part.arguments);
            else
                hasher.canonical_field(part.arguments, JsonKeep::all);
            break;
        case PartKind::tool_result:
            hasher.add('R');
            hasher.field(part.id);
            break;
        case PartKind::image:
        case PartKind::document:
        case PartKind::audio:
        case PartKind::speech:
            hasher.add('M');
            hasher.hash_field(part.source);
            break;
        case PartKind::compaction:
            hasher.add('Z');
            hasher.field(part.signature);
            hasher.field(part.text);
            break;
        case PartKind::opaque:
            hasher.add('O');
            hasher.canonical_field(part.json, JsonKeep::lasting);
            break;
        case PartKind::text:
        case PartKind::refusal:
        case PartKind::reasoning:
            break;
    }
}

}  // namespace

Fingerprint fingerprint_of(const NeutralMessage& message, std::string& room) {
    Gathered hasher(room);
    hasher.add(static_cast<char>('0' + static_cast<int>(message.role)));
    if (message.role == Role::other) hasher.field(message.role_text);
    for (const NeutralPart& part : message.parts) {
        if (part.kind == PartKind::text || part.kind == PartKind::refusal)
            hasher.text(part.text);
        else
            add_part(hasher, part);
    }
    return hasher.digest();
}

}  // namespace palimpsest
