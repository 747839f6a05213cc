// The summariser over models: one call for each text, without tools, with a limit on the answer.
//
// What is quoted in the material asks for nothing here: whoever asks has marked it as quoted. An
// answer that was cut off or is empty has a fault; the caller has a deterministic text.
#include <fstream>
#include <sstream>

#include "model/dialects.h"
#include "palimpsest/model.h"
#include "token/models.h"

namespace palimpsest {
namespace {

std::string limit_parameter(FormatId format, std::uint32_t tokens) {
    return "{\"" + std::string(dialect_of(format).cap_field) + "\":" + std::to_string(tokens) + "}";
}

Result<std::string> text_of(const Reply& reply) {
    std::string text;
    for (const Message& message : reply.messages) {
        PAL_TRY(parts, read_parts(message));
        for (const Part& part : parts.parts)
            if (const auto* piece = std::get_if<Text>(&part)) text += piece->text;
    }
    constexpr std::string_view blank = " \t\r\n";
    text.erase(0, std::min(text.find_first_not_of(blank), text.size()));
    text.erase(std::min(text.find_last_not_of(blank) + 1, text.size()));
    return text;
}

class ModelSummarizer final : public Summarizer {
public:
    ModelSummarizer(std::vector<std::shared_ptr<Model>> models, std::string prompt,
                    std::uint64_t window)
        : models_(std::move(models)), prompt_(std::move(prompt)), window_(window) {}

    std::uint64_t window_tokens() const override { return window_; }

    Result<SummaryText> summarize(const SummaryCall& call) override {
        Model& model = choose(call.model);
        const std::string_view system = prompt_.empty() ? call.system : std::string_view(prompt_);
        PAL_TRY(told, make_message(model.format(), Role::system, system));
        PAL_TRY(material, make_message(model.format(), Role::user, call.user));
        const std::vector<Message> messages = {std::move(told), std::move(material)};
        const std::string parameters = limit_parameter(model.format(), call.max_tokens);
        PAL_TRY(reply, model.call({.messages = messages,
                                   .parameters = parameters,
                                   .fields_format = model.format(),
                                   .stop = call.stop},
                                  {}));
        SummaryText summary{.model = std::string(model.name())};
        if (reply.usage) summary.usage = *reply.usage;
        PAL_TRY(text, text_of(reply));
        if (text.empty() || reply.interrupted)
            summary.fault = "the model " + summary.model +
                            (text.empty() ? " wrote no summary" : " did not finish its summary");
        summary.text = std::move(text);
        return summary;
    }

private:
    // The one that the policy asks for, where we have it.
    Model& choose(std::string_view name) const {
        for (const auto& model : models_)
            if (model->name() == name) return *model;
        return *models_.front();
    }

    const std::vector<std::shared_ptr<Model>> models_;
    const std::string prompt_;
    const std::uint64_t window_;
};

Result<std::string> read_prompt(const std::string& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::ostringstream text;
    if (!(text << file.rdbuf()))
        return fail(ErrorCode::not_found, "the prompt file " + path + " is not there or empty",
                    "prompt_file");
    return text.str();
}

}  // namespace

Result<std::shared_ptr<Summarizer>> make_summarizer(std::vector<std::shared_ptr<Model>> models,
                                                    const SummarizerOptions& options) {
    if (models.empty())
        return fail(ErrorCode::invalid_request, "a summariser needs a model", "models");
    PAL_TRY(prompt, read_prompt(options.prompt_file));
    std::uint64_t window = options.window_tokens;
    if (window == 0)
        for (const auto& model : models) {
            const std::uint64_t own = find_model(model->name()).spec->window_tokens;
            window = window == 0 ? own : std::min(window, own);
        }
    return std::make_shared<ModelSummarizer>(std::move(models), std::move(prompt), window);
}

}  // namespace palimpsest
