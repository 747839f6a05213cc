// Short words for tests of the engine: messages, conversations, and what a view says.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/json_write.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"

namespace palimpsest::testing_support {

inline const ConversationId alice{"t", "alice"};
inline const ConversationId bob{"t", "bob"};

inline std::unique_ptr<Store> memory_store() {
    auto store = open_store("memory:?ttl=0&max=0");
    EXPECT_TRUE(store.has_value());
    return std::move(*store);
}

inline Memory open_memory() {
    return Memory(memory_store());
}

inline std::string message(std::string_view role, std::string_view text) {
    return R"({"role":")" + std::string(role) + R"(","content":)" + json_string(text) + "}";
}
inline std::string user(std::string_view text) {
    return message("user", text);
}
inline std::string assistant(std::string_view text) {
    return message("assistant", text);
}
inline std::string call(std::string_view id) {
    return R"({"role":"assistant","content":null,"tool_calls":[{"id":")" + std::string(id) +
           R"(","type":"function","function":{"name":"look","arguments":"{}"}}]})";
}
inline std::string result(std::string_view id, std::string_view text) {
    return R"({"role":"tool","tool_call_id":")" + std::string(id) + R"(","content":)" +
           json_string(text) + "}";
}

inline Memory memory_with(std::initializer_list<std::string> messages) {
    Memory memory = open_memory();
    for (const std::string& one : messages)
        EXPECT_TRUE(memory.append(alice, {.messages = one}).has_value());
    return memory;
}

// User and assistant take turns.
inline Memory talk(std::initializer_list<std::string_view> texts) {
    Memory memory = open_memory();
    bool is_user = true;
    for (const std::string_view text : texts) {
        const std::string one = is_user ? user(text) : assistant(text);
        EXPECT_TRUE(memory.append(alice, {.messages = one}).has_value());
        is_user = !is_user;
    }
    return memory;
}

inline std::string text_of(const Message& message) {
    std::string out;
    const auto parts = read_parts(message);
    if (!parts) return "?";
    for (const Part& part : parts->parts) {
        if (const auto* text = std::get_if<Text>(&part)) out += text->text;
        if (const auto* done = std::get_if<ToolResult>(&part)) out += done->text;
        if (const auto* asked = std::get_if<ToolCall>(&part))
            out += "call:" + std::string(asked->id);
    }
    return out;
}

// All texts of the view, blanks between; a summary in brackets.
inline std::string texts(const View& view) {
    std::string out;
    for (const Item& item : view.items) {
        if (!out.empty()) out += ' ';
        const std::string text = text_of(item.message);
        out += item.kind == ItemKind::summary ? "[" + text + "]" : text;
    }
    return out;
}

inline Edit fold(std::uint64_t from, std::uint64_t to, std::string text) {
    Edit edit;
    edit.treatment = Treatment::folded;
    edit.range = {Seq{from}, Seq{to}};
    edit.result = make_bytes(std::move(text));
    edit.reason = "test";
    return edit;
}
inline Edit drop(std::uint64_t from, std::uint64_t to) {
    Edit edit;
    edit.treatment = Treatment::dropped;
    edit.range = {Seq{from}, Seq{to}};
    return edit;
}
inline Edit clear(std::uint64_t at, std::string message) {
    Edit edit;
    edit.treatment = Treatment::cleared;
    edit.range = {Seq{at}, Seq{at}};
    edit.result = make_bytes(std::move(message));
    return edit;
}

}  // namespace palimpsest::testing_support
