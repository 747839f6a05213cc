// The conversations and questions of the data in PAL_DATA, all in one form.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "../core/traces.h"

namespace palimpsest {

struct Unit {
    std::string id = {}, session = {}, text = {};
    Role role = Role::user;
    Time at = {};
    double tokens = 0, header = 0;  // header: once for each session of which a turn is chosen
};
struct Question {
    std::string text = {}, kind = {};
    std::set<std::string> evidence = {};
    std::vector<std::string> answers = {};
};
struct Case {
    std::string name = {};
    std::vector<Unit> units = {};
    std::vector<Question> questions = {};
};

inline std::string as_text(const JsonValue& value) {
    return value.is_string() ? std::string(value.string()) : std::string(value.raw());
}
inline std::string field(const JsonValue& value, std::string_view key) {
    const auto found = value.find(key);
    return found ? as_text(*found) : std::string();
}
inline double number(const JsonValue& value, std::string_view key) {
    const auto found = value.find(key);
    return found ? found->number().value_or(0) : 0;
}
inline Role role_of(std::string_view role) {
    return role == "user" ? Role::user : Role::assistant;
}
inline Time moment(std::size_t session, std::size_t turn) {
    return Time(std::chrono::hours(24 * session) + std::chrono::minutes(turn));
}
inline void read_evidence(const JsonValue& from, std::string_view key, Question& question) {
    if (const auto list = from.find(key))
        for (const JsonValue& id : list->elements()) question.evidence.insert(as_text(id));
}

inline std::vector<Case> read_locomo(const std::string& folder) {
    std::vector<Case> cases;
    std::string all;
    for (const std::string& line : read_gzip_lines(folder + "/locomo_dev.json.gz")) all += line;
    const auto document = parse_json(all);
    if (!document) return cases;
    for (const JsonValue& sample : document->root().elements()) {
        Case one;
        const std::string first = field(sample, "speaker_a");
        std::size_t s = 0;
        const auto sessions = *sample.find("sessions");
        for (const JsonValue& session : sessions.elements()) {
            ++s;
            std::size_t t = 0;
            const auto turns = *session.find("turns");
            for (const JsonValue& turn : turns.elements()) {
                Unit unit;
                unit.id = field(turn, "id");
                unit.session = field(session, "session");
                unit.text = field(turn, "speaker") + ": " + field(turn, "text");
                if (const std::string caption = field(turn, "image_caption"); !caption.empty())
                    unit.text += " [image: " + caption + "]";
                unit.role = field(turn, "speaker") == first ? Role::user : Role::assistant;
                unit.at = moment(s, t++);
                unit.tokens = number(turn, "tok");
                unit.header = number(session, "header_tok");
                one.units.push_back(std::move(unit));
            }
        }
        const auto qa = *sample.find("qa");
        for (const JsonValue& asked : qa.elements()) {
            Question question{field(asked, "question"), field(asked, "category"), {}, {}};
            read_evidence(asked, "evidence", question);
            if (!question.evidence.empty()) one.questions.push_back(std::move(question));
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

inline std::vector<Case> read_messages_file(const std::string& path) {
    std::vector<Case> cases;
    for (const std::string& line : read_gzip_lines(path)) {
        const auto document = parse_json(line);
        if (!document) continue;
        Case one;
        one.name = field(document->root(), "chat_id");
        std::size_t n = 0;
        const auto messages = *document->root().find("messages");
        for (const JsonValue& message : messages.elements()) {
            Unit unit;
            unit.id = field(message, "id");
            unit.session = field(message, "session");
            unit.text = field(message, "content");
            unit.role = role_of(field(message, "role"));
            unit.at = moment(static_cast<std::size_t>(number(message, "session")), n++ % 1000);
            unit.tokens = number(message, "tok");
            one.units.push_back(std::move(unit));
        }
        const auto questions = *document->root().find("questions");
        for (const JsonValue& asked : questions.elements()) {
            Question question{field(asked, "question"), field(asked, "type"), {}, {}};
            read_evidence(asked, "evidence", question);
            if (!question.evidence.empty()) one.questions.push_back(std::move(question));
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

inline std::vector<Case> read_longmemeval(const std::string& folder) {
    std::vector<Case> cases;
    std::string all;
    for (const std::string& line : read_gzip_lines(folder + "/longmemeval_dev.json.gz"))
        all += line;
    const auto document = parse_json(all);
    if (!document) return cases;
    for (const JsonValue& history : document->root().elements()) {
        Case one;
        std::size_t s = 0;
        const auto sessions = *history.find("sessions");
        for (const JsonValue& session : sessions.elements()) {
            ++s;
            std::size_t t = 0;
            const auto messages = *session.find("messages");
            for (const JsonValue& message : messages.elements()) {
                Unit unit;
                unit.id = unit.session = field(session, "session_id");
                unit.text = field(message, "content");
                unit.role = role_of(field(message, "role"));
                unit.at = moment(s, t++);
                one.units.push_back(std::move(unit));
            }
        }
        const auto questions = *history.find("questions");
        for (const JsonValue& asked : questions.elements()) {
            Question question{field(asked, "question"), "all", {}, {}};
            read_evidence(asked, "evidence_sessions", question);
            one.questions.push_back(std::move(question));
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

}  // namespace palimpsest
