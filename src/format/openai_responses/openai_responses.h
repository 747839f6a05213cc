// The functions of the row of Responses, from the files of this folder.
#pragma once
#include "format/format_table.h"

namespace palimpsest {

Result<void> read_openai_responses(JsonValue json, NeutralMessage& message);
std::vector<std::string> write_openai_responses(const NeutralMessage& message,
                                                std::vector<std::string>& lost);

void check_openai_responses(const CheckInput& input, Findings& findings);
void repair_openai_responses(RepairWork& work);
// A file that says by its type or its name that it is audio.
bool is_audio_file(const NeutralPart& part);

bool read_openai_responses_field(NeutralRequest& request, std::string_view key, JsonValue value);
std::string write_openai_responses_body(const NeutralRequest& request, std::string_view list,
                                        std::vector<std::string>& lost);
void read_openai_responses_options(JsonValue body, CheckOptions& options);

std::unique_ptr<StreamReader> make_openai_responses_reader(OnDelta on_delta);
std::unique_ptr<StreamWriter> make_openai_responses_writer(StreamIdentity identity);

}  // namespace palimpsest
