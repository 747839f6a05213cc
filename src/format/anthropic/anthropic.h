// The functions of the row of Messages, from the files of this folder.
#pragma once
#include "format/format_table.h"

namespace palimpsest {

Result<void> read_anthropic(JsonValue json, NeutralMessage& message);
std::vector<std::string> write_anthropic(const NeutralMessage& message,
                                         std::vector<std::string>& lost);

// A text that the service refuses: it has nothing but white space.
bool is_blank(std::string_view text);

void read_anthropic_options(JsonValue body, CheckOptions& options);
void check_anthropic(const CheckInput& input, Findings& findings);
void repair_anthropic(RepairWork& work);

bool read_anthropic_field(NeutralRequest& request, std::string_view key, JsonValue value);
std::string write_anthropic_body(const NeutralRequest& request, std::string_view list,
                                 std::vector<std::string>& lost);

std::unique_ptr<StreamReader> make_anthropic_reader(OnDelta on_delta);
std::unique_ptr<StreamWriter> make_anthropic_writer(StreamIdentity identity);

}  // namespace palimpsest
