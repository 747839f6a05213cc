// What the formats' checkers see, and where they report.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/neutral.h"
#include "palimpsest/format.h"

namespace palimpsest {

struct Format;

struct CheckInput {
    std::span<const NeutralMessage> messages = {};
    CheckOptions options = {};
    std::optional<JsonValue> body = {};  // the request around the list, if there is one
    std::size_t bytes = 0;               // of the whole request, if known
};

class Findings {
public:
    // `rule` must be in the table.
    void add(std::string_view rule, std::size_t at, std::string message);
    std::vector<Violation> take();

private:
    std::vector<Violation> violations_;
};

const Rule* find_rule(std::string_view id);

// Checks that several formats share.
void check_known_role(const NeutralMessage& message, std::size_t at, Findings& findings);
void check_arguments(const NeutralMessage& message, std::size_t at, Findings& findings);

// What a request body says beside its list. The model is a view into the body's document.
void add_body_options(const Format& format, JsonValue body, CheckOptions& options);

std::string quoted(std::string_view text);  // for messages: in quotes, cut if long

}  // namespace palimpsest
