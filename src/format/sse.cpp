#include "format/sse.h"

namespace palimpsest {

void SseParser::take_line() {
    std::string_view rest = line_;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    const std::size_t colon = rest.find(':');
    const std::string_view field = rest.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") {
        name_ = value;
    } else if (field == "data") {
        if (has_data_) data_ += '\n';
        data_ += value;
        has_data_ = true;
    }
    line_.clear();
}

bool may_begin_events(std::string_view bytes) {
    for (const std::string_view field : {"data", "event", "id", "retry", ":", "\xEF\xBB\xBF"})
        if (bytes.substr(0, field.size()) == field.substr(0, bytes.size())) return true;
    return false;
}

std::string sse_event(std::string_view name, std::string_view data) {
    std::string out;
    if (!name.empty()) out.append("event: ").append(name).append("\n");
    return out.append("data: ").append(data).append("\n\n");
}

}  // namespace palimpsest
