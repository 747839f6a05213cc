// count: exact tokens of texts, or of whole requests with all that the service adds to them.
#include <cstdio>
#include <map>

#include "base/json.h"
#include "cli/documents.h"
#include "cli/tokenizer_file.h"
#include "engine/count_request.h"
#include "engine/model_table.h"
#include "token/estimator.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"encoding", "E", "o200k_base (default), cl100k_base, approx, ..., or a tokenizer.json file."},
    {"model", "M", "Count as this model does."},
    {"format", "F", "Each input is a request or a list of messages in this format."},
    {"jsonl", "", "One JSON string (or, with --format, request) per line; one count per line."},
};

// How a model counts.
struct Way {
    const ModelSpec* model = nullptr;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::unique_ptr<TokenCounter> counter;
};

// By --model, or else each request by the model that it names, or else by gpt-4o.
class Counting {
public:
    explicit Counting(const Invocation& call)
        : asked_(call.arguments.get("model").value_or("")),
          encoding_(call.arguments.get("encoding").value_or("")),
          models_(call.settings.models, {}) {}

    std::optional<FormatId> format;

    Result<Way*> way(std::string_view named = {}) {
        const std::string name = !asked_.empty() ? asked_ : std::string(named);
        const auto known = ways_.find(name);
        if (known != ways_.end()) return &known->second;
        const ModelMatch match = models_.match(name.empty() ? "gpt-4o" : name);
        const std::string encoding =
            encoding_.empty() ? std::string(match.spec->encoding) : encoding_;
        warn(name, encoding, match);
        PAL_TRY(tokenizer, open_named_tokenizer(encoding));
        Way made{match.spec, tokenizer, tokenizer->counter()};
        return &ways_.emplace(name, std::move(made)).first->second;
    }

private:
    void warn(const std::string& name, const std::string& encoding, const ModelMatch& match) const {
        if (!name.empty() && !match.known)
            std::fprintf(stderr, "unknown model %s: counted with %s\n", printable(name).c_str(),
                         printable(encoding).c_str());
        else if (encoding_.empty() && !match.spec->exact)
            std::fprintf(stderr, "the vocabulary of %s is not public: this is an estimate\n",
                         printable(name).c_str());
    }

    const std::string asked_, encoding_;
    const ModelTable models_;
    std::map<std::string, Way> ways_;
};

Result<std::uint64_t> count_body(Counting& counting, std::string_view json) {
    PAL_TRY(document, parse_json(json));
    PAL_TRY(way, counting.way(model_named_in(document.root())));
    PAL_TRY(counted, count_request(*counting.format, *way->model, *way->counter, json));
    return way->model->exact ? counted.total() : Calibration(*way->model).estimate(counted);
}

Result<std::uint64_t> count_line(Counting& counting, std::string_view json) {
    if (counting.format) return count_body(counting, json);
    PAL_TRY(document, parse_json(json));
    if (!document.root().is_string())
        return fail(ErrorCode::invalid_request, "each line must be a JSON string");
    PAL_TRY(way, counting.way());
    return way->counter->count(document.root().string());
}

// Prints one count per line of the input; gives their sum.
Result<std::uint64_t> count_lines(Counting& counting, Output& out, std::string_view text) {
    std::uint64_t total = 0;
    for (const InputDocument& document : split_documents(text, true)) {
        PAL_TRY(tokens, count_line(counting, document.json));
        out.line(std::to_string(tokens));
        total += tokens;
    }
    return total;
}

Result<std::uint64_t> count_text(Counting& counting, std::string_view text) {
    if (counting.format) return count_body(counting, text);
    PAL_TRY(way, counting.way());
    return way->counter->count(text);
}

void print_count(Invocation& call, std::uint64_t tokens, const std::string& file) {
    if (!call.json()) {
        call.out.line(std::to_string(tokens) + (file.empty() ? "" : " " + printable(file)));
        return;
    }
    std::string line;
    JsonWriter out(line);
    out.begin_object().key("tokens").number(tokens);
    if (!file.empty()) out.field("file", file);
    out.end_object();
    call.out.json_line(line);
}

}  // namespace

extern const Flags count_flags;
const Flags count_flags = flags;

Result<int> run_count(Invocation& call) {
    Counting counting(call);
    if (call.arguments.has("format")) {
        PAL_TRY(format, format_flag(call.arguments, "format"));
        counting.format = format;
    }
    PAL_CHECK(counting.format ? Result<Way*>(nullptr) : counting.way());
    std::vector<std::string> files = call.arguments.from(0);
    if (files.empty()) files.emplace_back("-");
    std::uint64_t total = 0;
    for (const std::string& file : files) {
        PAL_TRY(text, read_input(file));
        if (call.arguments.has("jsonl")) {
            PAL_TRY(lines, count_lines(counting, call.out, text));
            total += lines;
            continue;
        }
        PAL_TRY(one, count_text(counting, text));
        total += one;
        print_count(call, one, files.size() > 1 ? file : "");
    }
    if (files.size() > 1 && call.json())
        call.out.json_line("{\"total\":" + std::to_string(total) + "}");
    else if (files.size() > 1)
        call.out.line(std::to_string(total) + " total");
    return 0;
}

}  // namespace palimpsest
