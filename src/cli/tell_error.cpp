#include "cli/tell_error.h"

#include <algorithm>
#include <cstdio>

#include "cli/terminal.h"

namespace palimpsest {
namespace {

bool is_of_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// As a word of its own.
bool names(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        const bool begins = at == 0 || !is_of_word(text[at - 1]);
        if (begins && (end == text.size() || !is_of_word(text[end]))) return true;
    }
    return false;
}

// The setting a_b is also named by its flag, --a-b.
bool names_param(const Error& error) {
    std::string flag = error.param;
    std::ranges::replace(flag, '_', '-');
    return names(error.message, error.param) || names(error.message, flag);
}

}  // namespace

std::string error_line(const Error& error) {
    std::string line = "pal: " + std::string(error_info(error.code).name) + ": ";
    if (!error.param.empty() && !names_param(error)) line += printable(error.param) + ": ";
    return line + printable(error.message);
}

void tell_error(const Error& error) {
    std::fprintf(stderr, "%s\n", error_line(error).c_str());
}

}  // namespace palimpsest
