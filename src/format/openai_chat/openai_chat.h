// The functions of the row of Chat Completions, from the files of this folder.
#pragma once
#include "format/format_table.h"

namespace palimpsest {

Result<void> read_openai_chat(JsonValue json, NeutralMessage& message);
std::vector<std::string> write_openai_chat(const NeutralMessage& message,
                                           std::vector<std::string>& lost);

void check_openai_chat(const CheckInput& input, Findings& findings);
void repair_openai_chat(RepairWork& work);

// Rules that hang on the model, which OpenAI's own names tell: recorded refusals.
bool takes_no_system(std::string_view model);
bool takes_no_audio(std::string_view model);
// What was spoken, as a request may have it: the id and nothing else.
bool is_id_alone(const NeutralPart& speech);
bool takes_no_search(std::string_view model);

bool read_openai_chat_field(NeutralRequest& request, std::string_view key, JsonValue value);
std::string write_openai_chat_body(const NeutralRequest& request, std::string_view list,
                                   std::vector<std::string>& lost);

std::unique_ptr<StreamReader> make_openai_chat_reader(OnDelta on_delta);
std::unique_ptr<StreamWriter> make_openai_chat_writer(StreamIdentity identity);

}  // namespace palimpsest
