#include "format/json_edit.h"

#include "base/json_write.h"

namespace palimpsest {

std::string json_list(const std::vector<std::string>& values) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_array();
    for (const std::string& value : values) writer.raw(value);
    writer.end_array();
    return out;
}

std::string with_member(JsonValue object, std::string_view key,
                        const std::optional<std::string>& value) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    bool written = false;
    for (const JsonMember& member : object.members()) {
        const bool match = member.key == key;
        written = written || match;
        if (match && !value) continue;
        writer.key(member.key).raw(match ? std::string_view(*value) : member.value.raw());
    }
    if (!written && value) writer.key(key).raw(*value);
    writer.end_object();
    return out;
}

}  // namespace palimpsest
