// Reads the stream of Chat Completions: chunks whose deltas are joined per choice and call.
//
// Fields of a delta that we do not know are joined when they are strings and lists, else replaced,
// which is what the servers that invent them expect. Objects that OpenAI sends in pieces grow.
#include <algorithm>
#include <map>

#include "base/json_write.h"
#include "format/fields.h"
#include "format/json_edit.h"
#include "format/openai_chat/openai_chat.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

// A field that grows. Insertion order is kept by the owner.
struct Field {
    std::string key;
    JsonKind kind = JsonKind::null;
    std::string text;                // of a string
    std::vector<std::string> items;  // of a list
    std::string raw;                 // of anything else

    std::string json() const {
        if (kind == JsonKind::string) return json_string(text);
        if (kind == JsonKind::array) return json_list(items);
        return raw.empty() ? "null" : raw;
    }
};

struct Fields {
    std::vector<Field> list;

    Field& at(std::string_view key) {
        for (Field& field : list)
            if (field.key == key) return field;
        return list.emplace_back(
            Field{.key = std::string(key), .text = {}, .items = {}, .raw = {}});
    }
    const Field* find(std::string_view key) const {
        for (const Field& field : list)
            if (field.key == key) return &field;
        return nullptr;
    }
    void join(std::string_view key, JsonValue value) {
        Field& field = at(key);
        if (value.is_null()) return;
        field.kind = value.kind();
        if (value.is_string())
            field.text += value.string();
        else if (value.is_array())
            for (const JsonValue each : value.elements()) field.items.emplace_back(each.raw());
        else
            field.raw = value.raw();
    }
    void replace(std::string_view key, JsonValue value) {
        Field& field = at(key);
        if (value.is_null() && !field.raw.empty()) return;
        field.kind = JsonKind::null;
        field.raw = value.raw();
    }
};

// An object whose texts come in pieces; its id stands for all of it.
void grow_object(Fields& object, JsonValue more) {
    for (const JsonMember& member : more.members())
        if (member.value.is_string() && member.key != "id")
            object.join(member.key, member.value);
        else
            object.replace(member.key, member.value);
}

std::string object_json(const Fields& object) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    for (const Field& field : object.list) out.key(field.key).raw(field.json());
    out.end_object();
    return text;
}

struct Call {
    Fields fields;               // id, type and what else there is
    std::string id, name, body;  // of the function or custom tool
    bool custom = false;
    bool announced = false;
};

struct Choice {
    Fields message;                              // role, content, refusal, ...
    Fields audio, function_call;                 // of the message
    std::vector<Call> calls;                     // in the order in which they began
    std::map<std::int64_t, std::size_t> newest;  // by the index that the server gives
    std::vector<std::string> logprobs;
    Fields rest;  // finish_reason and what else there is
};

class ChatReader final : public StreamReader {
public:
    explicit ChatReader(OnDelta on_delta) : on_delta_(std::move(on_delta)) {}

    Result<void> feed(std::string_view bytes) override {
        return sse_.feed(bytes, [this](auto, std::string_view data) { return event(data); });
    }

    Result<Reply> finish() override {
        PAL_CHECK(sse_.finish([this](auto, std::string_view data) { return event(data); }));
        if (choices_.empty())
            return fail(ErrorCode::upstream_failed, "the stream ended before it began");
        const bool whole = is_finished();
        PAL_TRY(reply, read_reply(FormatId::openai_chat, body(whole)));
        reply.interrupted = !whole;
        if (!whole)
            PAL_CHECK(keep_unfinished(reply, FormatId::openai_chat,
                                      unfinished_of(choices_.begin()->second)));
        return reply;
    }

private:
    bool is_finished() const {
        for (const auto& [index, choice] : choices_) {
            const Field* reason = choice.rest.find("finish_reason");
            if (!reason || reason->raw.empty() || reason->raw == "null") return false;
        }
        return true;
    }

    Result<void> event(std::string_view data) {
        if (data == "[DONE]") return {};
        PAL_TRY(document, parse_json(data));
        const JsonValue root = document.root();
        PAL_CHECK(refuse_error_event(root));
        for (const JsonMember& member : root.members())
            if (member.key != "choices" && member.key != "object" && member.key != "obfuscation")
                top_.replace(member.key, member.value);
        if (const auto choices = root.find("choices"))
            for (const JsonValue choice : choices->elements()) add_choice(choice);
        return {};
    }

    void add_choice(JsonValue json) {
        const auto index = json.find("index");
        Choice& choice = choices_[index ? index->integer().value_or(0) : 0];
        for (const JsonMember& member : json.members()) {
            if (member.key == "delta")
                add_delta(choice, member.value);
            else if (member.key != "index")
                choice.rest.replace(member.key, member.value);
        }
        const auto logprobs = json.find("logprobs");
        const auto content = logprobs ? logprobs->find("content") : std::nullopt;
        if (content)
            for (const JsonValue each : content->elements())
                choice.logprobs.emplace_back(each.raw());
    }

    void add_delta(Choice& choice, JsonValue delta) {
        for (const JsonMember& member : delta.members()) {
            if (member.key == "tool_calls") {
                std::int64_t position = 0;
                for (const JsonValue call : member.value.elements()) {
                    const auto index = call.find("index");
                    const auto given = index ? index->integer() : std::nullopt;
                    add_call(choice, given.value_or(position++), call);
                }
            } else if (member.key == "role") {
                choice.message.replace("role", member.value);
            } else if (Fields* const object = grown_object(choice, member)) {
                choice.message.at(member.key);  // Its place among the others.
                grow_object(*object, member.value);
                announce_transcript(member);
            } else {
                choice.message.join(member.key, member.value);
                announce_text(member);
            }
        }
    }

    static Fields* grown_object(Choice& choice, const JsonMember& member) {
        if (!member.value.is_object()) return nullptr;
        if (member.key == "audio") return &choice.audio;
        return member.key == "function_call" ? &choice.function_call : nullptr;
    }

    // What is spoken is said, too.
    void announce_transcript(const JsonMember& member) {
        const std::string_view said = any_string(member.value, "transcript");
        if (member.key == "audio" && !said.empty())
            send({.kind = StreamDelta::Kind::text, .text = said});
    }

    void announce_text(const JsonMember& member) {
        if (member.value.string().empty()) return;
        using Kind = StreamDelta::Kind;
        if (member.key == "content") send({.kind = Kind::text, .text = member.value.string()});
        if (member.key == "refusal") send({.kind = Kind::refusal, .text = member.value.string()});
        if (member.key == "reasoning_content" || member.key == "reasoning")
            send({.kind = Kind::reasoning, .text = member.value.string()});
    }

    // Some servers send every call under the same index. With another id and a name it is another
    // call; another id alone is a server's that invents one for each piece.
    static Call& call_at(Choice& choice, std::int64_t index, JsonValue json, JsonValue inner) {
        const auto [known, fresh] = choice.newest.try_emplace(index, choice.calls.size());
        const std::string_view id = any_string(json, "id");
        if (!fresh) {
            const Call& call = choice.calls[known->second];
            const bool begins = !id.empty() && !call.id.empty() && id != call.id &&
                                !call.name.empty() && !any_string(inner, "name").empty();
            if (!begins) return choice.calls[known->second];
            known->second = choice.calls.size();
        }
        return choice.calls.emplace_back();
    }

    void add_call(Choice& choice, std::int64_t index, JsonValue json) {
        const auto custom = json.find("custom"), function = json.find("function");
        const JsonValue inner = custom ? *custom : function.value_or(json);
        Call& call = call_at(choice, index, json, inner);
        for (const JsonMember& member : json.members())
            if (member.key != "index" && member.key != "function" && member.key != "custom" &&
                !(member.value.is_string() && member.value.string().empty()) &&
                !(member.key == "id" && !call.id.empty()))
                call.fields.replace(member.key, member.value);
        if (call.id.empty()) call.id = any_string(json, "id");
        call.custom = call.custom || custom.has_value();
        if (!custom && !function) return;
        tell_call(call, static_cast<std::size_t>(&call - choice.calls.data()), inner);
    }

    void tell_call(Call& call, std::size_t place, JsonValue inner) {
        call.name += any_string(inner, "name");
        const std::string_view more = any_string(inner, call.custom ? "input" : "arguments");
        call.body += more;
        if (!call.announced && !call.name.empty())
            send({.kind = StreamDelta::Kind::call,
                  .index = place,
                  .id = call.id,
                  .name = call.name});
        call.announced = call.announced || !call.name.empty();
        if (!more.empty())
            send({.kind = StreamDelta::Kind::arguments, .index = place, .text = more});
    }

    enum class Calls : std::uint8_t { all, finished, unfinished };

    static std::vector<std::string> calls_of(const Choice& choice, Calls wanted) {
        std::vector<std::string> calls;
        for (const Call& call : choice.calls) {
            const bool finished = call.custom || is_whole_json(call.body);
            if (wanted != Calls::all && finished != (wanted == Calls::finished)) continue;
            std::string text;
            JsonWriter writer(text);
            writer.begin_object();
            for (const Field& field : call.fields.list) writer.key(field.key).raw(field.json());
            writer.key(call.custom ? "custom" : "function").begin_object();
            writer.field("name", call.name).field(call.custom ? "input" : "arguments", call.body);
            writer.end_object().end_object();
            calls.push_back(std::move(text));
        }
        return calls;
    }

    static bool is_half_a_call(const Fields& function_call) {
        const Field* const arguments = function_call.find("arguments");
        return !function_call.list.empty() && !is_whole_json(arguments ? arguments->text : "");
    }

    // Of an answer that broke off: what was spoken cannot be referred to, its words stand alone.
    static Choice finished_part(Choice choice) {
        const Field* const spoken = choice.audio.find("transcript");
        Field& content = choice.message.at("content");
        if (spoken && content.text.empty()) {
            content.kind = JsonKind::string;
            content.text = spoken->text;
        }
        const bool half = is_half_a_call(choice.function_call);
        std::erase_if(choice.message.list, [&](const Field& field) {
            return (field.key == "audio" && !choice.audio.list.empty()) ||
                   (field.key == "function_call" && half);
        });
        return choice;
    }

    static std::vector<std::string> unfinished_of(const Choice& choice) {
        std::vector<std::string> list = calls_of(choice, Calls::unfinished);
        if (!choice.audio.list.empty())
            list.push_back("{\"audio\":" + object_json(choice.audio) + "}");
        if (is_half_a_call(choice.function_call))
            list.push_back("{\"function_call\":" + object_json(choice.function_call) + "}");
        return list;
    }

    static std::string field_json(const Choice& choice, const Field& field) {
        if (field.key == "audio" && !choice.audio.list.empty()) return object_json(choice.audio);
        if (field.key == "function_call" && !choice.function_call.list.empty())
            return object_json(choice.function_call);
        return field.json();
    }

    static void write_calls(JsonWriter& out, const Choice& choice, bool whole) {
        const auto calls = calls_of(choice, whole ? Calls::all : Calls::finished);
        if (!calls.empty()) out.key("tool_calls").raw(json_list(calls));
    }

    void write_choice(JsonWriter& out, std::int64_t index, const Choice& choice, bool whole) const {
        out.begin_object().key("index").number(index).key("message").begin_object();
        if (!choice.message.find("role")) out.field("role", "assistant");
        if (!choice.message.find("content")) out.key("content").null();
        for (const Field& field : choice.message.list)
            out.key(field.key).raw(field_json(choice, field));
        write_calls(out, choice, whole);
        out.end_object();
        for (const Field& field : choice.rest.list) {
            const bool probabilities = field.key == "logprobs" && !choice.logprobs.empty();
            out.key(field.key);
            if (probabilities)
                out.begin_object().key("content").raw(json_list(choice.logprobs)).end_object();
            else
                out.raw(field.json());
        }
        out.end_object();
    }

    std::string body(bool whole) const {
        std::string text;
        JsonWriter out(text);
        out.begin_object();
        for (const Field& field : top_.list) {
            out.key(field.key).raw(field.json());
            if (field.key == "id") out.field("object", "chat.completion");
        }
        out.key("choices").begin_array();
        for (const auto& [index, choice] : choices_)
            write_choice(out, index, whole ? choice : finished_part(choice), whole);
        out.end_array().end_object();
        return text;
    }

    void send(const StreamDelta& delta) {
        if (on_delta_) on_delta_(delta);
    }

    OnDelta on_delta_;
    SseParser sse_;
    Fields top_;
    std::map<std::int64_t, Choice> choices_;
};

}  // namespace

std::unique_ptr<StreamReader> make_openai_chat_reader(OnDelta on_delta) {
    return std::make_unique<ChatReader>(std::move(on_delta));
}

}  // namespace palimpsest
