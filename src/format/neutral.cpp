#include "format/neutral.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {

Shape shape_of(const NeutralMessage& message) {
    Shape shape{.role = message.role};
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
                break;
            case PartKind::tool_result:
                if (!part.server) shape.results.emplace_back(part.id);
                for (const NeutralPart& inner : part.inner)
                    if (inner.kind >= PartKind::image && inner.kind <= PartKind::audio &&
                        shape.media < UINT16_MAX)
                        ++shape.media;
                break;
            case PartKind::reasoning:
                shape.reasoning = true;
                break;
            case PartKind::compaction:
            case PartKind::opaque:
                break;
        }
    }
    return shape;
}

namespace {

// Fields that differ between two copies of the same thing.
bool is_volatile(std::string_view key) {
    return key == "id" || key == "status" || key == "cache_control" || key == "annotations";
}

enum class Keep : std::uint8_t { all, lasting };

void write_canonical(JsonWriter& out, JsonValue value, Keep keep);

void write_canonical_object(JsonWriter& out, JsonValue value, Keep keep) {
    std::vector<JsonMember> members;
    for (const JsonMember& member : value.members())
        if (keep == Keep::all || !is_volatile(member.key)) members.push_back(member);
    std::sort(members.begin(), members.end(),
              [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
    out.begin_object();
    for (const JsonMember& member : members) {
        out.key(member.key);
        write_canonical(out, member.value, keep);
    }
    out.end_object();
}

// Recurses no deeper than the parser's limit.
void write_canonical(JsonWriter& out, JsonValue value, Keep keep) {
    switch (value.kind()) {
        case JsonKind::object:
            write_canonical_object(out, value, keep);
            break;
        case JsonKind::array:
            out.begin_array();
            for (const JsonValue element : value.elements()) write_canonical(out, element, keep);
            out.end_array();
            break;
        case JsonKind::string:
            out.string(value.string());
            break;
        default:
            out.raw(value.raw());
    }
}

std::string canonical(std::string_view json, Keep keep) {
    const auto document = parse_json(json, {.duplicate_keys = true});
    if (!document) return std::string(json);
    std::string out;
    out.reserve(json.size());
    JsonWriter writer(out);
    write_canonical(writer, document->root(), keep);
    return out;
}

// What a fingerprint is made of, gathered and hashed at once: messages are short, and setting up an
// incremental hash would cost more than the copy.
class Gathered {
public:
    void add(std::string_view bytes) { bytes_ += bytes; }
    void field(std::string_view bytes) {
        for (unsigned i = 0; i < 8; ++i) bytes_ += static_cast<char>(bytes.size() >> (8 * i));
        bytes_ += bytes;
    }
    void reserve(std::size_t size) { bytes_.reserve(size); }
    Fingerprint digest() const { return hash_bytes(bytes_); }

private:
    std::string bytes_;
};

void add_part(Gathered& hasher, const NeutralPart& part) {
    switch (part.kind) {
        case PartKind::tool_call:
            hasher.add("C");
            hasher.field(part.id);
            hasher.field(part.name);
            hasher.field(part.custom ? std::string(part.arguments)
                                     : canonical_json(part.arguments));
            break;
        case PartKind::tool_result:
            hasher.add("R");
            hasher.field(part.id);
            break;
        case PartKind::image:
        case PartKind::document:
        case PartKind::audio:
            hasher.add("M");
            hasher.field(part.source);
            break;
        case PartKind::compaction:
            hasher.add("Z");
            hasher.field(part.signature);
            hasher.field(part.text);
            break;
        case PartKind::opaque:
            hasher.add("O");
            hasher.field(canonical(part.json, Keep::lasting));
            break;
        case PartKind::text:
        case PartKind::refusal:
        case PartKind::reasoning:
            break;
    }
}

}  // namespace

std::string canonical_json(std::string_view json) {
    return canonical(json, Keep::all);
}

Fingerprint fingerprint_of(const NeutralMessage& message) {
    Gathered hasher;
    std::size_t size = 64;
    for (const NeutralPart& part : message.parts) size += part.text.size() + 16;
    hasher.reserve(size);
    const char role = static_cast<char>('0' + static_cast<int>(message.role));
    hasher.add({&role, 1});
    if (message.role == Role::other) hasher.field(message.role_text);
    std::size_t run = 0;  // bytes of the current run of texts
    const auto end_run = [&] {
        if (run > 0) hasher.field(std::to_string(run));
        run = 0;
    };
    for (const NeutralPart& part : message.parts) {
        if (part.kind == PartKind::reasoning) continue;
        if (part.kind == PartKind::text || part.kind == PartKind::refusal) {
            hasher.add(part.text);
            run += part.text.size();
            continue;
        }
        end_run();
        add_part(hasher, part);
    }
    end_run();
    return hasher.digest();
}

}  // namespace palimpsest
