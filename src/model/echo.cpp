// The echo model: answers offline with what the user said last, word by word, and with how much it
// was sent. The same request always gives the same answer.
//
// Invariant: the pieces handed to `on_delta`, put together, are the text of the answer.
#include "palimpsest/format.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

constexpr std::string_view nothing_said = "There is no user message to repeat.";

std::string text_of(const Parts& parts) {
    std::string text;
    for (const Part& part : parts.parts) {
        const Text* piece = std::get_if<Text>(&part);
        if (!piece) continue;
        if (!text.empty()) text += '\n';
        text += piece->text;
    }
    return text;
}

Result<std::string> latest_user_text(std::span<const Message> messages) {
    for (std::size_t i = messages.size(); i-- > 0;) {
        if (messages[i].shape.role != Role::user || !messages[i].raw) continue;
        PAL_TRY(parts, read_parts(messages[i]));
        std::string text = text_of(parts);
        if (!text.empty()) return text;
    }
    return std::string(nothing_said);
}

// A message that nobody has counted counts as one token per four bytes.
std::uint64_t tokens_of(std::string_view text) {
    return (text.size() + 3) / 4;
}
std::uint64_t tokens_of(std::span<const Message> messages) {
    std::uint64_t tokens = 0;
    for (const Message& message : messages)
        tokens += message.count.scheme ? message.count.tokens : tokens_of(view_of(message.raw));
    return tokens;
}

// A word and the white space behind it. Never empty for a text that is not; cuts at ASCII only.
std::string_view next_piece(std::string_view text) {
    constexpr std::string_view blank = " \t\n\r";
    const std::size_t word = text.find_first_not_of(blank);
    const std::size_t gap = text.find_first_of(blank, word == text.npos ? text.size() : word);
    const std::size_t end = text.find_first_not_of(blank, gap == text.npos ? text.size() : gap);
    return text.substr(0, end);
}

// How much of `text` was told before the listener had enough.
std::size_t tell(std::string_view text, const OnPiece& on_piece) {
    std::size_t told = 0;
    while (told < text.size()) {
        const std::string_view piece = next_piece(text.substr(told));
        told += piece.size();
        if (on_piece && !on_piece({.kind = StreamDelta::Kind::text, .text = piece})) break;
    }
    return told;
}

class EchoModel final : public Model {
public:
    std::string_view name() const override { return "echo"; }
    FormatId format() const override { return FormatId::openai_chat; }

    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        PAL_TRY(said, latest_user_text(request.messages));
        const std::uint64_t input = tokens_of(request.messages);
        const std::string text = said + "\n\n[echo: sent " +
                                 std::to_string(request.messages.size()) + " messages, " +
                                 std::to_string(input) + " tokens]";
        const std::size_t told = tell(text, on_piece);
        const std::string_view kept = std::string_view(text).substr(0, told);
        PAL_TRY(message, make_message(format(), Role::assistant, kept));
        Reply reply;
        reply.messages.push_back(std::move(message));
        reply.stop = StopReason::end;
        reply.usage = ReplyUsage{.input_tokens = input, .output_tokens = tokens_of(kept)};
        reply.interrupted = told < text.size();
        return reply;
    }
};

}  // namespace

std::unique_ptr<Model> make_echo_model() {
    return std::make_unique<EchoModel>();
}

}  // namespace palimpsest
