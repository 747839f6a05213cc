// Whatever parses: values lie inside the text, strings are UTF-8, and the text parses again.
#include <cstdint>
#include <cstdlib>

#include "base/json.h"
#include "base/utf8.h"

using namespace palimpsest;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void walk(JsonValue value, std::string_view text) {
    const std::string_view raw = value.raw();
    require(raw.data() >= text.data() && raw.data() + raw.size() <= text.data() + text.size());
    require(is_utf8(value.string()));
    std::size_t children = 0;
    for (const JsonValue element : value.elements()) {
        walk(element, text);
        ++children;
    }
    for (const JsonMember& member : value.members()) {
        require(value.find(member.key).has_value());
        walk(member.value, text);
        ++children;
    }
    require(children == value.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const auto document = parse_json(text);
    if (!document) return 0;
    walk(document->root(), text);
    require(parse_json(document->root().raw()).has_value());
    return 0;
}
