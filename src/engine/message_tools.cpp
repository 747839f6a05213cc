#include "engine/message_tools.h"

#include <algorithm>

#include "engine/count.h"
#include "format/content.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

class FormatTools final : public MessageTools {
public:
    explicit FormatTools(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    Result<Content> read(const Message& message) const override { return read_content_of(message); }
    bool may_hold_results(const Message& message) const override {
        return palimpsest::may_hold_results(message);
    }
    bool has_error(const Message& message) const override { return has_error_result(message); }
    bool is_sealed_past(const Message& message) const override {
        return palimpsest::is_sealed_past(message);
    }

    Result<Message> rewrite(const Message& message,
                            std::span<const PartChange> changes) const override {
        PAL_TRY(raw, change_content(message, changes));
        if (!raw) return Message{.format = message.format};
        PAL_TRY(changed, read_message(message.format, std::move(raw)));
        return counted(std::move(changed));
    }
    Result<Message> make_text(FormatId format, Role role, std::string_view text) const override {
        PAL_TRY(message, make_message(format, role, text));
        return counted(std::move(message));
    }
    std::uint32_t count_text(std::string_view text) const override {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(tokenizer_.count(text), UINT32_MAX));
    }
    std::uint16_t scheme() const override { return tokenizer_.scheme(); }

private:
    Result<Message> counted(Message message) const {
        PAL_TRY(count, count_message(tokenizer_, message));
        message.count = count;
        return message;
    }
    const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<const MessageTools> make_message_tools(const Tokenizer& tokenizer) {
    return std::make_unique<FormatTools>(tokenizer);
}

}  // namespace palimpsest
