// Holds the formats against recorded traffic: JSON suite, requests, mutations, streams, round
// trips. Reads the folder that PAL_DATA names; prints one line per check, and what is left over.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "palimpsest/format.h"
#include "palimpsest/stream.h"
#include "stream_deltas.h"

using namespace palimpsest;

namespace {

std::vector<std::string> read_lines(const std::string& name) {
    const std::string command =
        "gzip -dc '" + std::string(std::getenv("PAL_DATA")) + "/" + name + "'";
    std::vector<std::string> lines(1);
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return {};
    char buffer[65536];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        for (std::size_t i = 0; i < n; ++i) {
            if (buffer[i] == '\n')
                lines.emplace_back();
            else
                lines.back() += buffer[i];
        }
    pclose(pipe);
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

std::string text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value ? std::string(value->string()) : std::string();
}

std::string decode_base64(const std::string& text) {
    static const std::string letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    unsigned bits = 0, count = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = (bits << 6) | static_cast<unsigned>(letters.find(c));
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>((bits >> count) & 255U);
    }
    return out;
}

int failures = 0;
void result(const std::string& name, std::size_t good, std::size_t all) {
    std::cout << name << ": " << good << " of " << all << (good == all ? "" : "  <-- not all")
              << "\n";
    if (good != all) ++failures;
}

void eval_json_suite() {
    std::size_t accepted = 0, accept = 0, refused = 0, reject = 0;
    for (const std::string& line : read_lines("json_test_suite.jsonl.gz")) {
        const auto row = parse_json(line);
        const std::string bytes = decode_base64(text_at(row->root(), "b64"));
        const std::string expect = text_at(row->root(), "expect");
        // The suite accepts duplicate keys; we do so only when asked to.
        const bool good = parse_json(bytes, {.duplicate_keys = true}).has_value();
        accept += expect == "accept";
        reject += expect == "reject";
        accepted += expect == "accept" && good;
        refused += expect == "reject" && !good;
    }
    result("json suite, accepted", accepted, accept);
    result("json suite, refused", refused, reject);
}

std::optional<FormatId> format_of_url(const std::string& url) {
    if (url.find("/chat/completions") != std::string::npos) return FormatId::openai_chat;
    if (url.find("/v1/messages") != std::string::npos) return FormatId::anthropic;
    if (url.find("/v1/responses") != std::string::npos) return FormatId::openai_responses;
    return std::nullopt;
}

std::string body_with(const std::string& body, JsonValue list,
                      const std::vector<std::string>& messages) {
    std::string joined = "[";
    for (const std::string& message : messages) joined += (joined.size() > 1 ? "," : "") + message;
    std::string out = body;
    return out.replace(list.offset(), list.raw().size(), joined + "]");
}

struct Mutation {
    std::string what;
    std::vector<std::string> rules;  // one of them must be named
    std::vector<std::string> messages;
};

std::vector<Mutation> mutations(FormatId format, const std::vector<Message>& messages) {
    const bool chat = format == FormatId::openai_chat, items = format == FormatId::openai_responses;
    std::vector<std::string> raws;
    for (const Message& message : messages) raws.emplace_back(*message.raw);
    std::vector<Mutation> out;
    const auto without = [&](std::size_t i) {
        std::vector<std::string> rest = raws;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        return rest;
    };
    const auto moved_first = [&](std::size_t i) {
        std::vector<std::string> rest = without(i);
        rest.insert(rest.begin(), raws[i]);
        return rest;
    };
    const std::vector<std::string> no_call{chat ? "C1" : items ? "R2" : "A1", "R4"};
    const std::vector<std::string> no_result{chat ? "C2" : items ? "R1" : "A1"};
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Shape& shape = messages[i].shape;
        if (!shape.results.empty()) {
            out.push_back({"result removed", no_result, without(i)});
            out.push_back({"result moved before its call", no_call, moved_first(i)});
        }
        if (!shape.calls.empty()) out.push_back({"call removed", no_call, without(i)});
        const bool reasoning = items && shape.reasoning && i + 1 < messages.size();
        const bool last = i + 2 >= messages.size() || messages[i + 2].shape.role != Role::assistant;
        if (reasoning && last && !messages[i + 1].shape.reasoning)
            out.push_back({"follower removed", {"R4", "R2"}, without(i + 1)});
    }
    return out;
}

struct RequestCounts {
    std::size_t requests = 0, parsed = 0, same = 0, valid = 0;
    std::size_t mutated = 0, named = 0, mended = 0;
    std::map<std::string, std::size_t> left;
};

void eval_mutations(FormatId format, const std::string& body, JsonValue list,
                    const std::vector<Message>& messages, RequestCounts& counts) {
    for (const Mutation& mutation : mutations(format, messages)) {
        const std::string broken = body_with(body, list, mutation.messages);
        const auto violations = validate_json(format, broken);
        if (!violations) continue;
        // A continued conversation may have its calls elsewhere: nothing is broken then.
        if (is_sendable(*violations) && body.find("\"previous_response_id\"") != std::string::npos)
            continue;
        ++counts.mutated;
        bool named = false;
        for (const Violation& violation : *violations)
            for (const std::string& rule : mutation.rules) named = named || violation.rule == rule;
        counts.named += named;
        if (!named) ++counts.left["not refused: " + mutation.what];
        const auto repaired = repair_json(format, broken);
        const auto after = repaired ? validate_json(format, repaired->json)
                                    : Result<std::vector<Violation>>(std::vector<Violation>());
        const bool mended = repaired && after && is_sendable(*after);
        counts.mended += mended;
        if (!mended) ++counts.left["not mended: " + mutation.what];
    }
}

void eval_request(FormatId format, const std::string& body, const std::string& where,
                  RequestCounts& counts) {
    ++counts.requests;
    const auto document = parse_json(body);
    const auto messages = read_messages(format, make_bytes(body));
    if (!document || !messages) {
        ++counts.left["unread " + where + ": " + (messages ? "" : messages.error().message)];
        return;
    }
    ++counts.parsed;
    const auto list =
        document->root().find(format == FormatId::openai_responses ? "input" : "messages");
    bool same = true;
    std::size_t i = 0;
    if (list && list->is_array())
        for (const JsonValue element : list->elements())
            same = same && i < messages->size() && *(*messages)[i++].raw == element.raw();
    counts.same += same;
    const auto violations = validate_json(format, body);
    const bool valid = violations && is_sendable(*violations);
    counts.valid += valid;
    if (!valid)
        ++counts.left["refused though accepted by the service: " +
                      std::string(violations->front().rule) + " " + violations->front().message];
    if (valid && list && list->is_array()) eval_mutations(format, body, *list, *messages, counts);
}

void report(const std::map<std::string, std::size_t>& left) {
    for (const auto& [what, count] : left)
        std::cout << "    left over, " << count << ": " << what << "\n";
}

void eval_requests(const std::vector<std::string>& exchanges) {
    RequestCounts counts;
    std::size_t refused = 0, refused_by_us = 0;
    for (const std::string& line : exchanges) {
        const auto row = parse_json(line);
        const auto format = format_of_url(text_at(row->root(), "url"));
        const auto request = row->root().find("request");
        if (!format || !request || !request->is_object()) continue;
        const auto status = row->root().find("status")->integer();
        const std::string body(request->raw());
        if (status == 200) eval_request(*format, body, text_at(row->root(), "cassette"), counts);
        if (status != 400) continue;
        ++refused;
        const auto violations = validate_json(*format, body);
        const bool found = violations && !is_sendable(*violations);
        refused_by_us += found;
        const auto response = row->root().find("response");
        std::string why(response ? response->raw() : "");
        ++counts
              .left[found ? "answered 400, refused by rule " + std::string(violations->front().rule)
                          : "answered 400 for a reason outside the rules: " + why.substr(0, 160)];
    }
    result("recorded requests answered 200, read", counts.parsed, counts.requests);
    result("  messages byte for byte", counts.same, counts.parsed);
    result("  sendable", counts.valid, counts.parsed);
    std::cout << "recorded requests answered 400, refused by a rule: " << refused_by_us << " of "
              << refused << "\n";
    result("mutations refused with their rule", counts.named, counts.mutated);
    result("mutations sendable after repair", counts.mended, counts.mutated);
    report(counts.left);
}

std::string said(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& message : messages) {
        const auto parts = read_parts(message);
        if (!parts) return "unreadable";
        for (const Part& part : parts->parts) {
            if (const auto* text = std::get_if<Text>(&part)) out += std::string(text->text);
            if (const auto* call = std::get_if<ToolCall>(&part))
                out += "\nC " + std::string(call->id) + std::string(call->name) +
                       std::string(call->arguments) + "\n";
        }
    }
    return out;
}

Result<Reply> read_stream(FormatId format, std::string_view bytes, std::size_t piece) {
    const auto reader = make_stream_reader(format);
    while (!bytes.empty()) {
        PAL_CHECK(reader->feed(bytes.substr(0, piece)));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    return reader->finish();
}

// The events without the last of Responses, which carries the whole answer: what was assembled must
// equal what it says.
bool assembles(FormatId format, const std::string& bytes, const Reply& whole) {
    const auto slow = read_stream(format, bytes, 1);
    if (!slow || slow->body != whole.body) return false;
    if (format != FormatId::openai_responses) return !whole.interrupted;
    const std::size_t last = bytes.rfind("\"type\":\"response.completed\"");
    const std::size_t start = bytes.rfind("data:", last);
    if (last == std::string::npos || start == std::string::npos) return !whole.interrupted;
    const auto cut = read_stream(format, bytes.substr(0, start), 4096);
    return cut && said(cut->messages) == said(whole.messages);
}

struct StreamCounts {
    std::size_t streams = 0, good = 0;
    std::size_t siblings = 0, sibling_same = 0, sums = 0, sum_same = 0;
    std::map<std::string, std::size_t> left;
};

// Texts, then calls: what DeltaSum::said() gives.
std::string texts_then_calls(const std::vector<Message>& messages) {
    std::string texts, calls;
    for (const Message& message : messages) {
        const auto parts = read_parts(message);
        if (!parts) return "unreadable";
        for (const Part& part : parts->parts) {
            if (const auto* text = std::get_if<Text>(&part)) texts += text->text;
            if (const auto* call = std::get_if<ToolCall>(&part))
                calls += "\nC " + std::string(call->id) + " " + std::string(call->name) + " " +
                         std::string(call->arguments.empty() ? "{}" : call->arguments);
        }
    }
    return texts + calls;
}

std::string sum_of_deltas(FormatId format, const std::string& bytes) {
    DeltaSum sum;
    for (std::size_t from = 0; (from = bytes.find("data:", from)) != std::string::npos;) {
        from += 5;
        const std::size_t end = std::min(bytes.find_first_of("\r\n", from), bytes.size());
        const std::string data = bytes.substr(from, end - from);
        const auto document = parse_json(data);
        if (document && format == FormatId::openai_chat) sum.add_chat(document->root());
        if (document && format == FormatId::anthropic) sum.add_anthropic(document->root());
        from = end;
    }
    return sum.said();
}

// The same answer, not streamed: by id, because two answers to one question differ.
bool is_sibling(const Reply& reply, const std::string& sibling) {
    const auto ours = parse_json(reply.body);
    const auto theirs = parse_json(sibling);
    return ours && theirs && !text_at(ours->root(), "id").empty() &&
           text_at(ours->root(), "id") == text_at(theirs->root(), "id");
}

// Holds a Chat or Anthropic stream, which has no closing event that repeats it, against its sibling
// or else against the sum of its deltas.
void compare_stream(FormatId format, const std::string& bytes, const std::string& sibling,
                    const std::string& name, const Reply& reply, StreamCounts& counts) {
    if (format == FormatId::openai_responses) return;
    if (is_sibling(reply, sibling)) {
        ++counts.siblings;
        const auto whole = read_reply(format, sibling);
        const bool same = whole && whole->messages.size() == reply.messages.size() &&
                          whole->messages[0].fingerprint == reply.messages[0].fingerprint &&
                          whole->messages[0].shape == reply.messages[0].shape &&
                          whole->stop == reply.stop;
        counts.sibling_same += same;
        if (!same) ++counts.left[name + ": differs from its sibling reply"];
        return;
    }
    ++counts.sums;
    const bool same = sum_of_deltas(format, bytes) == texts_then_calls(reply.messages);
    counts.sum_same += same;
    if (!same) ++counts.left[name + ": differs from the sum of its deltas"];
}

void eval_stream(FormatId format, const std::string& bytes, const std::string& sibling,
                 const std::string& name, StreamCounts& counts) {
    const auto whole = read_stream(format, bytes, bytes.size());
    if (!whole) {
        ++counts.left[name + ": " + whole.error().message];
        return;
    }
    ++counts.streams;
    const bool good = assembles(format, bytes, *whole);
    counts.good += good;
    compare_stream(format, bytes, sibling, name, *whole, counts);
    if (!good) ++counts.left[name + (whole->interrupted ? ": has no closing event" : ": differs")];
}

std::optional<FormatId> format_of_fixture(const std::string& path) {
    const auto has = [&](const char* text) { return path.find(text) != std::string::npos; };
    if (has("google") || has("completion/") || has("speech") || has("transcription"))
        return std::nullopt;
    if (has("packages/anthropic/")) return FormatId::anthropic;
    if (has("responses/") || has("packages/azure/")) return FormatId::openai_responses;
    return FormatId::openai_chat;
}

void eval_streams(const std::vector<std::string>& exchanges) {
    StreamCounts counts;
    for (const std::string& line : exchanges) {
        const auto row = parse_json(line);
        const auto format = format_of_url(text_at(row->root(), "url"));
        const std::string bytes = text_at(row->root(), "response_sse");
        if (format && !bytes.empty())
            eval_stream(*format, bytes, "", text_at(row->root(), "cassette"), counts);
    }
    const std::vector<std::string> fixtures = read_lines("stream_fixtures.jsonl.gz");
    std::map<std::string, std::string> replies;  // those that are not streams, by path
    for (const std::string& line : fixtures) {
        const auto row = parse_json(line);
        if (const auto body = row->root().find("body"))
            replies[text_at(row->root(), "path")] = body->raw();
    }
    for (const std::string& line : fixtures) {
        const auto row = parse_json(line);
        const std::string path = text_at(row->root(), "path");
        const auto events = row->root().find("events");
        const auto format = format_of_fixture(path);
        if (!events || !format) continue;
        const std::string stem = path.substr(0, path.rfind(".chunks.txt"));
        // Some recordings hold the streams of several turns, one after the other.
        std::string bytes;
        for (const JsonValue event : events->elements()) {
            bytes += "data: " + std::string(event.raw()) + "\n\n";
            if (text_at(event, "type") != "message_stop") continue;
            eval_stream(*format, bytes, replies[stem + ".json"], path, counts);
            bytes.clear();
        }
        if (!bytes.empty()) eval_stream(*format, bytes, replies[stem + ".json"], path, counts);
    }
    result("recorded streams assembled, byte by byte and at once", counts.good, counts.streams);
    result("  equal to the same reply not streamed", counts.sibling_same, counts.siblings);
    result("  else equal to the sum of their deltas", counts.sum_same, counts.sums);
    report(counts.left);
}

// Every text, call, argument and result, in order.
std::string meaning(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& message : messages) {
        const auto parts = read_parts(message);
        if (!parts) return "unreadable";
        for (const Part& part : parts->parts) {
            if (const auto* text = std::get_if<Text>(&part); text && !text->text.empty())
                out += std::string(role_name(message.shape.role)) + " " + std::string(text->text) +
                       "\n";
            if (const auto* call = std::get_if<ToolCall>(&part))
                out += "call " + std::string(call->id) + " " + std::string(call->name) + " " +
                       std::string(call->arguments) + "\n";
            if (const auto* answer = std::get_if<ToolResult>(&part))
                out += "result " + std::string(answer->id) + " " + std::string(answer->text) + "\n";
        }
    }
    return out;
}

void eval_round_trips(const std::string& file) {
    std::size_t all = 0, good = 0, lines = 0;
    std::map<std::string, std::size_t> left;
    for (const std::string& line : read_lines(file)) {
        const auto row = parse_json(line);
        const auto list = row->root().find("messages");
        if (!list) continue;
        ++all;
        ++lines;
        const std::string chat(list->raw());
        const auto items = convert_json(FormatId::openai_chat, FormatId::openai_responses, chat);
        const auto blocks =
            items ? convert_json(FormatId::openai_responses, FormatId::anthropic, items->json)
                  : items;
        const auto back =
            blocks ? convert_json(FormatId::anthropic, FormatId::openai_chat, blocks->json)
                   : blocks;
        const auto before = read_messages(FormatId::openai_chat, make_bytes(chat));
        const auto after =
            back ? read_messages(FormatId::openai_chat, make_bytes(back->json)) : before;
        const bool same = back && before && after && meaning(*before) == meaning(*after);
        good += same;
        if (!same) {
            const std::string note = !back                 ? back.error().message
                                     : back->lost.size()   ? back->lost[0]
                                     : blocks->lost.size() ? blocks->lost[0]
                                     : items->lost.size()  ? items->lost[0]
                                                           : "differs";
            ++left[note];
        }
    }
    result(file + ": chat > responses > anthropic > chat keeps all", good, all);
    report(left);
}

}  // namespace

int main() {
    if (!std::getenv("PAL_DATA")) {
        std::cerr << "eval_formats: set PAL_DATA to the folder with the recorded data\n";
        return 2;
    }
    eval_json_suite();
    const std::vector<std::string> exchanges = read_lines("api_exchanges_dev.jsonl.gz");
    eval_requests(exchanges);
    eval_streams(exchanges);
    eval_round_trips("tau_airline.jsonl.gz");
    eval_round_trips("coding_agent_dev.jsonl.gz");
    return failures == 0 ? 0 : 1;
}
