// JSON, strictly RFC 8259, read into a tape that keeps the exact bytes of every value.
//
// Why our own: a message must leave byte for byte as it came (so raw() of any value), what we
// checked must be what the provider reads (so duplicate keys are refused), an error in a part that
// nobody visits must not go unnoticed (so all of it is parsed at once), and numbers keep their
// spelling. The parser does not recurse; nesting above the limit is refused as it is met, before
// memory for it is taken.
//
// Refused: a byte order mark, broken UTF-8 (overlong forms, surrogates), raw control characters in
// strings, duplicate keys, texts above json_max_bytes. A \u escape of a lone surrogate is legal
// JSON and accepted: raw() keeps it, string() shows U+FFFD in its place.
//
// A JsonValue is a cursor into its JsonDocument (which may be moved meanwhile, not destroyed); both
// point into the text, which must outlive them. All of it is read-only, so any thread may read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };
std::string_view json_kind_name(JsonKind kind);

constexpr std::size_t json_max_bytes = std::size_t{1} << 29;  // A tape's lengths have 29 bits.

struct JsonLimits {
    std::size_t depth = 64;
    bool duplicate_keys = false;  // true: accepted, and find() gives the first one
};

// One value on the tape. Containers are followed by their content; in objects the keys are string
// nodes before their values.
struct JsonNode {
    std::uint32_t begin, end;  // the value's bytes in the text
    // Containers: the node after their content. Strings with escapes: where they are in the arena.
    std::uint32_t link;
    std::uint32_t size : 29;  // members or elements; length of an unescaped string
    std::uint32_t kind : 3;
};

constexpr std::uint32_t json_not_in_arena = UINT32_MAX;  // The link of a string without escapes.

struct JsonTape {
    std::string_view text;
    std::unique_ptr<JsonNode[]> nodes;
    std::unique_ptr<char[]> arena;
};

class JsonMembers;
class JsonElements;
struct JsonMember;

class JsonValue {
public:
    JsonValue(const JsonTape* tape, std::uint32_t index) : tape_(tape), index_(index) {}

    JsonKind kind() const { return static_cast<JsonKind>(node().kind); }
    std::string_view raw() const {
        return tape_->text.substr(node().begin, node().end - node().begin);
    }
    std::size_t offset() const { return node().begin; }  // of raw() in the text

    bool is_null() const { return kind() == JsonKind::null; }
    bool is_string() const { return kind() == JsonKind::string; }
    bool is_object() const { return kind() == JsonKind::object; }
    bool is_array() const { return kind() == JsonKind::array; }

    std::string_view string() const;              // unescaped; "" if it is not a string
    std::optional<bool> boolean() const;          // none if it is not a boolean
    std::optional<double> number() const;         // none if it is not a number or out of range
    std::optional<std::int64_t> integer() const;  // none unless written as an integer that fits

    // Where it is on the tape: a smaller thing to keep than the value. 0 is the root.
    std::uint32_t place() const { return index_; }
    JsonValue at_place(std::uint32_t place) const { return {tape_, place}; }

    std::size_t size() const;                                   // members or elements; else 0
    std::optional<JsonValue> find(std::string_view key) const;  // none if it is not an object
    JsonMembers members() const;                                // empty if it is not an object
    JsonElements elements() const;                              // empty if it is not an array

private:
    friend class JsonMembers;
    friend class JsonElements;
    const JsonNode& node() const { return tape_->nodes[index_]; }
    std::uint32_t after() const { return kind() >= JsonKind::array ? node().link : index_ + 1; }
    const JsonTape* tape_;
    std::uint32_t index_;
};

struct JsonMember {
    std::string_view key;
    JsonValue value;
};

class JsonElements {
public:
    class Iterator {
    public:
        using value_type = JsonValue;
        using difference_type = std::ptrdiff_t;
        explicit Iterator(JsonValue at) : at_(at) {}
        JsonValue operator*() const { return at_; }
        Iterator& operator++() {
            at_.index_ = at_.after();
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at_.index_ != other.at_.index_; }

    private:
        friend class JsonElements;
        JsonValue at_;
    };
    explicit JsonElements(JsonValue value) : value_(value) {}
    Iterator begin() const { return Iterator({value_.tape_, value_.index_ + 1}); }
    Iterator end() const {
        return value_.is_array() ? Iterator({value_.tape_, value_.node().link}) : begin();
    }

private:
    friend class JsonValue;
    JsonValue value_;
};

class JsonMembers {
public:
    class Iterator {
    public:
        using value_type = JsonMember;
        using difference_type = std::ptrdiff_t;
        explicit Iterator(JsonValue key) : key_(key) {}
        JsonMember operator*() const { return {key_.string(), value()}; }
        Iterator& operator++() {
            key_.index_ = value().after();
            return *this;
        }
        bool operator!=(const Iterator& other) const { return key_.index_ != other.key_.index_; }
        JsonValue key_value() const { return key_; }

    private:
        JsonValue value() const { return {key_.tape_, key_.index_ + 1}; }
        friend class JsonMembers;
        JsonValue key_;
    };
    explicit JsonMembers(JsonValue value) : value_(value) {}
    Iterator begin() const { return Iterator({value_.tape_, value_.index_ + 1}); }
    Iterator end() const {
        return value_.is_object() ? Iterator({value_.tape_, value_.node().link}) : begin();
    }

private:
    JsonValue value_;
};

inline std::string_view JsonValue::string() const {
    const JsonNode& at = node();
    if (kind() != JsonKind::string) return {};
    const char* from = at.link == json_not_in_arena ? tape_->text.data() + at.begin + 1
                                                    : tape_->arena.get() + at.link;
    return {from, at.size};
}
inline JsonMembers JsonValue::members() const {
    return JsonMembers(*this);
}
inline std::optional<JsonValue> JsonValue::find(std::string_view key) const {
    if (!is_object()) return std::nullopt;
    const std::uint32_t end = node().link;
    for (JsonValue at(tape_, index_ + 1); at.index_ != end;) {
        const JsonValue value(tape_, at.index_ + 1);
        if (at.node().size == key.size() && at.string() == key) return value;
        at.index_ = value.after();
    }
    return std::nullopt;
}
inline JsonElements JsonValue::elements() const {
    return JsonElements(*this);
}

class JsonDocument {
public:
    explicit JsonDocument(std::unique_ptr<const JsonTape> tape) : tape_(std::move(tape)) {}
    JsonValue root() const { return {tape_.get(), 0}; }

private:
    std::unique_ptr<const JsonTape> tape_;
};

// `text` must outlive the document. Fails with invalid_request, naming the byte offset and what
// was expected there, or with too_large.
Result<JsonDocument> parse_json(std::string_view text, JsonLimits limits = {});

}  // namespace palimpsest
