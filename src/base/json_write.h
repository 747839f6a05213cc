// Writing JSON by appending to a string: fragments that came in pass through unchanged.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

// Appends `text` as a JSON string with its quotes. Broken UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// Puts the commas; keys, values and ends come in the order of the JSON text. It does not check
// that what is written nests well: the caller's code does.
class JsonWriter {
public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);
    JsonWriter& string(std::string_view text);
    JsonWriter& number(std::int64_t value);
    JsonWriter& number(std::uint64_t value);
    JsonWriter& number(int value) { return number(std::int64_t{value}); }
    JsonWriter& number(double value);  // shortest form that reads back equal; null if not finite
    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
    JsonWriter& null() { return raw("null"); }
    JsonWriter& raw(std::string_view json);  // a whole value, as it is

    // A key and its value.
    JsonWriter& field(std::string_view name, std::string_view text) {
        return key(name).string(text);
    }

private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    void separate() {
        if (comma_) out_ += ',';
        comma_ = false;
    }
    std::string& out_;
    bool comma_ = false;
};

}  // namespace palimpsest
