// Two ways to the same bytes: the arguments of most calls are one flat object without escapes,
// which needs no tape; everything else is parsed and written again.
#include "format/canonical.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

// Fields that differ between two copies of the same thing.
bool is_volatile(std::string_view key) {
    return key == "id" || key == "status" || key == "cache_control" || key == "annotations";
}

void write_canonical(JsonWriter& out, JsonValue value, JsonKeep keep);

void write_canonical_object(JsonWriter& out, JsonValue value, JsonKeep keep) {
    std::vector<JsonMember> members;
    for (const JsonMember& member : value.members())
        if (keep == JsonKeep::all || !is_volatile(member.key)) members.push_back(member);
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
void write_canonical(JsonWriter& out, JsonValue value, JsonKeep keep) {
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

struct FlatMember {
    std::string_view key, value;  // as they are written; the key with its quotes
};

// Reads an object of plain scalars; gives up, without a verdict, at anything else.
class FlatObject {
public:
    explicit FlatObject(std::string_view json) : rest_(json) {}

    bool read() {
        if (!take('{')) return false;
        do {
            skip_space();
            FlatMember member;
            if (!string(member.key) || !take(':')) return false;
            skip_space();
            if (!string(member.value) && !scalar(member.value)) return false;
            if (!insert(member)) return false;
        } while (take(','));
        if (!take('}')) return false;
        skip_space();
        return rest_.empty();
    }

    void append_to(std::string& out) const {
        for (std::size_t i = 0; i < size_; ++i) {
            out += i == 0 ? '{' : ',';
            out.append(members_[i].key).append(1, ':').append(members_[i].value);
        }
        out += '}';
    }

private:
    void skip_space() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
    }

    bool take(char c) {
        skip_space();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    // Printable ASCII without a backslash: there is only one way to write it.
    bool string(std::string_view& found) {
        if (!rest_.starts_with('"')) return false;
        std::size_t end = 1;
        while (end < rest_.size() && rest_[end] >= ' ' && rest_[end] != '"' && rest_[end] != '\\')
            ++end;
        if (end >= rest_.size() || rest_[end] != '"') return false;
        found = rest_.substr(0, end + 1);
        rest_.remove_prefix(end + 1);
        return true;
    }

    // A word, or a short integer.
    bool scalar(std::string_view& found) {
        std::size_t size = 0;
        while (size < rest_.size() && size < 10 && rest_[size] >= '0' && rest_[size] <= '9') ++size;
        if (size > 1 && rest_[0] == '0') return false;
        for (const std::string_view word : {"true", "false", "null"})
            if (rest_.starts_with(word)) size = word.size();
        found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return size > 0;
    }

    // Puts it where its key belongs. Not so if there is no room or the key is there already.
    bool insert(const FlatMember& member) {
        if (size_ == members_.size()) return false;
        std::size_t at = size_;
        for (; at > 0 && name(member) < name(members_[at - 1]); --at)
            members_[at] = members_[at - 1];
        members_[at] = member;
        ++size_;
        return at == 0 || name(members_[at - 1]) != name(member);
    }

    // Without the quotes: the closing one would sort before what a longer key goes on with.
    static std::string_view name(const FlatMember& member) {
        return member.key.substr(1, member.key.size() - 2);
    }

    std::string_view rest_;
    std::array<FlatMember, 8> members_;
    std::size_t size_ = 0;
};

}  // namespace

void append_canonical(std::string& out, std::string_view json, JsonKeep keep) {
    if (keep == JsonKeep::all)
        if (FlatObject flat(json); flat.read()) return flat.append_to(out);
    const auto document = parse_json(json, {.duplicate_keys = true});
    if (!document) {
        out += json;
        return;
    }
    JsonWriter writer(out);
    write_canonical(writer, document->root(), keep);
}

}  // namespace palimpsest
