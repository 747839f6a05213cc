// eval_requests: compares our counts of whole requests with the services' own, in the recorded
// exchanges of the folder named by PAL_DATA (api_exchanges_*.jsonl.gz). OpenAI chat: distribution
// of the differences, text only, with tools, with media; -v lists every request that differs.
// Claude: the calibrated estimator's mean absolute error after 20 samples (or the second argument's
// number) of the same model, each estimated before it is learned; requests with media one by one.
// Exit status 1 if a goal is missed: text exact (o1-mini and search-preview models excepted), tools
// of gpt-4o class within 2 in 90 % and within 6 in all, Claude within 3 % after 20 samples.
#include "base/json.h"
#include "token/encoding.h"
#include "token/estimator.h"
#include "token/request.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>

using namespace palimpsest;

namespace {

std::string unpack(const std::string& path) {
    std::string out;
    FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
    if (pipe == nullptr) return out;
    char buffer[65536];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    pclose(pipe);
    return out;
}

std::int64_t usage_of(JsonValue row, std::string_view field) {
    const auto response = row.find("response");
    const auto usage = response ? response->find("usage") : response;
    const auto value = usage ? usage->find(field) : usage;
    std::int64_t total = value ? value->integer().value_or(0) : 0;
    for (const std::string_view more : {"cache_read_input_tokens", "cache_creation_input_tokens"}) {
        const auto part = usage && field == "input_tokens" ? usage->find(more) : std::nullopt;
        total += part ? part->integer().value_or(0) : 0;
    }
    return total;
}

struct Tally {
    std::map<std::int64_t, int> differences;
    int all = 0, near = 0, far = 0;  // Off by at most 2; by more than 6.
    void add(std::int64_t difference) {
        ++differences[difference];
        ++all;
        near += std::abs(difference) <= 2;
        far += std::abs(difference) > 6;
    }
    bool is_exact() const {
        return differences.empty() ||
               (all == differences.begin()->second && differences.begin()->first == 0);
    }
    bool is_close() const { return far == 0 && near * 10 >= all * 9; }
    void report(const std::string& name) const {
        std::printf("%s:", name.c_str());
        for (const auto& [difference, times] : differences)
            std::printf(" %+lld x%d", static_cast<long long>(difference), times);
        std::printf("\n");
    }
};

struct Evaluation {
    std::shared_ptr<const Encoding> encoding = *open_encoding("o200k_base");
    std::unique_ptr<TokenCounter> counter = encoding->counter();
    std::map<std::string, Tally> chat;
    Tally text, tools;  // Those with a goal.
    std::map<std::string, Calibration> claude;
    std::set<std::string> seen;  // Requests to Claude: the data has some many times.
    struct Error {
        double sum = 0;
        int samples = 0;
        void add(double error) { sum += error, ++samples; }
        double percent() const { return samples == 0 ? 0 : 100 * sum / samples; }
    };
    Error claude_first, claude_learned, claude_new;
    std::uint64_t learned = 20;
    bool verbose = false;

    // `recording` names where it is from. One is excepted: its request holds a file of 12 kB that
    // no longer is what was sent (19 tokens more); the three like it are exact.
    void add_chat(JsonValue request, std::int64_t reported, std::string_view recording) {
        const auto model = request.find("model");
        const ModelMatch match = find_model(model ? model->string() : "");
        const auto counted = count_chat_request(*match.spec, *counter, request.raw());
        if (!counted || reported == 0) return;
        const auto difference = static_cast<std::int64_t>(counted->total()) - reported;
        const std::string_view name = model ? model->string() : "";
        const bool excepted = name.starts_with("o1-mini") || name.contains("search-preview") ||
                              recording.ends_with("/test_yaml_document_url_input");
        const std::string kind = excepted              ? "excepted"
                                 : counted->media != 0 ? "media"
                                 : counted->tools != 0 ? "tools"
                                                       : "text";
        chat[std::string(excepted ? name : match.spec->name) + " " + kind].add(difference);
        if (kind == "text") text.add(difference);
        if (kind == "tools" && match.spec->name.starts_with("gpt-4")) tools.add(difference);
        if (verbose && difference != 0)
            std::printf("%+lld of %lld: %s\n", static_cast<long long>(difference),
                        static_cast<long long>(reported),
                        std::string(request.raw().substr(0, 160)).c_str());
    }

    void add_claude(JsonValue request, std::int64_t reported) {
        const auto model = request.find("model");
        const ModelMatch match = find_model(model ? model->string() : "claude");
        const auto counted = count_messages_request(*match.spec, *counter, request.raw());
        if (!counted || reported <= 0 || counted->server_tools) return;
        if (counted->media != 0) {
            std::printf("%s media: about %llu of %lld\n",
                        std::string(model ? model->string() : "").c_str(),
                        static_cast<unsigned long long>(counted->total()),
                        static_cast<long long>(reported));
            return;
        }
        Calibration& calibration =
            claude.try_emplace(std::string(model ? model->string() : ""), *match.spec)
                .first->second;
        const auto truth = static_cast<double>(reported);
        const auto guess = static_cast<double>(calibration.estimate(*counted));
        if (verbose)
            std::printf("claude %.0f of %.0f: text %llu tools %llu overhead %llu %s\n", guess,
                        truth, static_cast<unsigned long long>(counted->messages),
                        static_cast<unsigned long long>(counted->tools),
                        static_cast<unsigned long long>(counted->overhead),
                        std::string(request.raw().substr(0, 120)).c_str());
        const double error = std::abs(guess - truth) / truth;
        const bool is_new = seen.emplace(request.raw()).second;
        const bool has_learned = calibration.state().samples >= learned;
        (has_learned ? claude_learned : claude_first).add(error);
        if (has_learned && is_new) claude_new.add(error);
        calibration.learn(*counted, static_cast<std::uint64_t>(reported));
    }
};

}  // namespace

int main(int argc, char** argv) {
    const char* folder = std::getenv("PAL_DATA");
    if (folder == nullptr) return std::fprintf(stderr, "PAL_DATA names no folder\n"), 2;
    Evaluation all;
    if (argc > 2) all.learned = static_cast<std::uint64_t>(std::atoi(argv[2]));
    all.verbose = argc > 1 && std::strcmp(argv[1], "-v") == 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        const std::string name = file.path().filename();
        if (!name.starts_with("api_exchanges") || !name.ends_with(".jsonl.gz")) continue;
        const std::string lines = unpack(file.path());
        for (std::size_t at = 0; at < lines.size();) {
            const std::size_t end = std::min(lines.find('\n', at), lines.size());
            const auto row = parse_json(std::string_view(lines).substr(at, end - at));
            at = end + 1;
            const auto api = row ? row->root().find("api") : std::nullopt;
            const auto request = row ? row->root().find("request") : std::nullopt;
            if (!api || !request) continue;
            if (api->string() == "openai:/v1/chat/completions")
                all.add_chat(*request, usage_of(row->root(), "prompt_tokens"),
                             row->root().find("cassette").value_or(*api).string());
            if (api->string() == "anthropic:/v1/messages")
                all.add_claude(*request, usage_of(row->root(), "input_tokens"));
        }
    }
    for (const auto& [name, tally] : all.chat) tally.report(name);
    std::printf("claude, mean absolute error, each estimated before it is learned:\n");
    std::printf("  up to %d samples of its model: %.1f %% of %d requests\n",
                static_cast<int>(all.learned), all.claude_first.percent(),
                all.claude_first.samples);
    std::printf("  after that: %.1f %% of %d requests (goal 3 %%); without repeats %.1f %% of %d\n",
                all.claude_learned.percent(), all.claude_learned.samples, all.claude_new.percent(),
                all.claude_new.samples);
    if (all.chat.empty()) return 2;
    const bool claude_met = all.claude_learned.samples > 0 && all.claude_learned.percent() < 3;
    std::printf(
        "%s text: %d requests, all exact\n%s tools of gpt-4o class: %d of %d within 2, %d beyond "
        "6\n%s claude\n",
        all.text.is_exact() ? "met   " : "MISSED", all.text.all,
        all.tools.is_close() ? "met   " : "MISSED", all.tools.near, all.tools.all, all.tools.far,
        claude_met ? "met   " : "MISSED");
    return all.text.is_exact() && all.tools.is_close() && claude_met ? 0 : 1;
}
