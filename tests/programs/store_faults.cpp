// Writes into a store while the disk fails or the process is killed, for the scripts that check
// what is left.
//
//   store_faults write URL THREADS [WHEN]    appends until it is killed; says `ack` when one is
//                                            done (written: as soon as the store says that it is
//                                            written; early: before, a control that must lose)
//   store_faults fill URL [BYTES]            appends until one fails, then waits for a line on
//                                            standard input and tries again, until `end`
//   store_faults scenario URL                one of everything; says how each step ended
//   store_faults history URL THREADS RUN     appends and reads until it is killed; says when each
//                                            began and ended, for list_append_test.py
//   store_faults dump URL                    all that is there, and what check() finds
#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "failing_io.h"
#include "palimpsest/store.h"
#include "store/lineage.h"

using namespace palimpsest;

namespace {

// Whole lines, at once: what the parent has read was done.
void say(const std::string& line) {
    const std::string text = line + "\n";
    if (::write(1, text.data(), text.size()) < 0) std::_Exit(3);
}

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

Draft said(std::string text) {
    MessageEntry entry;
    entry.message.raw = make_bytes(std::move(text));
    return {.body = std::move(entry)};
}

Batch batch_of(const std::vector<std::string>& texts, std::string key) {
    Batch batch;
    for (const std::string& text : texts) batch.entries.push_back(said(text));
    batch.key = std::move(key);
    return batch;
}

// What is said again and again, large enough for a store to keep it once: in a database, and in
// files.
constexpr std::size_t large_bytes = 70'000, large_file_bytes = 270'000;
std::string repeated(std::size_t bytes) {
    return std::string(bytes, 'L');
}
bool is_repeated(std::string_view text) {
    return (text.size() == large_bytes || text.size() == large_file_bytes) &&
           text.find_first_not_of('L') == text.npos;
}

std::unique_ptr<Store> open_or_exit(const std::string& url) {
    Result<std::unique_ptr<Store>> store = open_store(url);
    if (store) return std::move(*store);
    say("cannot_open " + one_line(store.error().message));
    std::exit(4);
}

// ---- write --------------------------------------------------------------------------------------

// Each thread has a conversation of its own and they share one. `run` makes texts unique.
struct Writing {
    int thread = 0;
    std::string run = {};
    std::string repeated = {};
    std::string when = "done";
};
void write_for_ever(Store& store, const Writing& how) {
    const auto& [thread, run, large, when] = how;
    const std::string filler(900, 'x');
    for (int n = 0;; ++n) {
        const std::string name = n % 3 == 0 ? "shared" : "own" + std::to_string(thread);
        const std::string text = run + "." + std::to_string(thread) + "." + std::to_string(n);
        bool told = false;
        const auto tell = [&] {
            if (!std::exchange(told, true)) say("ack " + name + " " + text);
        };
        if (when == "early") tell();
        const auto written = [&](const Appended&) {
            if (when == "written") tell();
        };
        std::vector<std::string> texts{text + " " + filler};
        if (n % 16 == 15) texts.push_back(large);
        const Result<Appended> done =
            store.append_ahead({"t", name}, batch_of(texts, text), written);
        if (!done) say("error " + one_line(done.error().message));
        if (done) tell();
    }
}

int write(const std::string& url, int threads, const std::string& when) {
    const std::unique_ptr<Store> store = open_or_exit(url);
    const std::string run = std::to_string(::getpid());
    const std::string large = repeated(url.starts_with("files:") ? large_file_bytes : large_bytes);
    say("open");
    failing_io::armed = true;
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&, i] { write_for_ever(*store, {i, run, large, when}); });
    return 0;
}

int fill(const std::string& url, std::size_t bytes) {
    const std::unique_ptr<Store> store = open_or_exit(url);
    const std::string filler(bytes, 'x');
    int n = 0;
    for (std::string line; line != "end"; std::getline(std::cin, line)) {
        for (;; ++n) {
            const Result<Appended> done =
                store->append({"t", "own"}, batch_of({std::to_string(n) + " " + filler}, ""));
            if (!done) {
                say("refused " + std::string(error_info(done.error().code).name) + " " +
                    one_line(done.error().message));
                const auto readable = store->head(ConversationId{"t", "own"});
                say(readable ? "readable " + std::to_string(readable->end.value) : "unreadable");
                break;
            }
            say("ack own " + std::to_string(n));
            if (n % 400 == 399) {
                ++n;
                break;
            }
        }
        say("waiting");
    }
    return 0;
}

// ---- history ------------------------------------------------------------------------------------

std::string now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::string first_word(const Entry& entry) {
    const auto* message = std::get_if<MessageEntry>(&entry.body);
    return message ? std::string(view_of(message->message.raw)) : "?";
}

// The values of the list so far, as one number that the checker computes too.
std::uint64_t hash_of_list(const std::vector<Entry>& entries) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const Entry& entry : entries)
        for (const char c : first_word(entry) + ",") {
            hash ^= static_cast<unsigned char>(c);
            hash *= 1099511628211ULL;
        }
    return hash;
}

// Conversations come and go, so that lists stay short and clients meet in them.
void one_client(Store& store, int thread, const std::string& run) {
    for (int n = 0;; ++n) {
        const std::string conversation = run + "c" + std::to_string(n / 40 * 4 + (n + thread) % 4);
        const ConversationId name{"t", conversation};
        if ((n + thread) % 2 == 0) {
            const std::string value = run + "." + std::to_string(thread) + "." + std::to_string(n);
            say("b " + now_ns() + " " + conversation + " " + value);
            const auto done = store.append(name, batch_of({value}, value));
            const bool unknown = !done && done.error().code == ErrorCode::outcome_unknown;
            say("e " + now_ns() + " " + conversation + " " + value +
                (done      ? " ok"
                 : unknown ? " unknown"
                           : " fail"));
            continue;
        }
        const std::string began = now_ns();
        const auto header = store.head(name);
        if (!header) continue;
        const auto entries = store.read(header->log, {});
        if (entries)
            say("r " + began + " " + now_ns() + " " + conversation + " " +
                std::to_string(entries->size()) + " " + std::to_string(hash_of_list(*entries)));
    }
}

int history(const std::string& url, int threads, const std::string& run) {
    const std::unique_ptr<Store> store = open_or_exit(url);
    say("open");
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([&, i] { one_client(*store, i, run); });
    return 0;
}

// ---- scenario -----------------------------------------------------------------------------------

// Runs steps and says how each ended. A step whose outcome is unknown is repeated with its key.
class Scenario {
public:
    explicit Scenario(Store& store) : store_(store) {}

    template <class T>
    void report(const std::string& step, const Result<T>& result) {
        say(step + " " +
            (result ? "ok"
                    : std::string(error_info(result.error().code).name) + " " +
                          one_line(result.error().message)));
    }
    Result<Appended> append(const std::string& step, const std::string& name, Batch batch) {
        batch.key = step;
        say(step + " begins");
        Result<Appended> done = store_.append({"t", name}, batch);
        if (!done && done.error().code == ErrorCode::outcome_unknown) {
            report(step, done);
            done = store_.append({"t", name}, batch);
            if (!done && done.error().code != ErrorCode::outcome_unknown) return done;
        }
        report(step, done);
        return done;
    }
    void fork(const std::string& step, const std::string& from, Seq at, const std::string& to,
              Batch batch) {
        const Result<Header> header = store_.head(ConversationId{"t", from});
        if (!header) return report(step, header);
        const Result<ForkPoint> point = fork_point(store_, *header, at);
        if (!point) return report(step, point);
        batch.fork = *point;
        append(step, to, batch);
    }
    void scrub(const std::string& step, const std::string& name, Seq seq) {
        const Result<Header> header = store_.head(ConversationId{"t", name});
        if (!header) return report(step, header);
        MessageEntry gone;
        gone.scrubbed = true;
        const Replacement replacement{header->log, seq, gone};
        say(step + " begins");
        report(step, store_.scrub({&replacement, 1}));
    }
    void erase(const std::string& step, const std::string& name) {
        say(step + " begins");
        report(step, store_.erase({"t", name}));
    }
    void record(const std::string& step) {
        say(step + " begins");
        report(step, store_.put_record({.key = {"t", "s", "k"}, .value = "v"}));
    }

private:
    Store& store_;
};

Batch existing(Batch batch) {
    batch.if_absent = IfAbsent::fail;
    return batch;
}

Batch compaction() {
    CompactionEntry entry;
    entry.edits.push_back({.treatment = Treatment::folded,
                           .range = {Seq{1}, Seq{2}},
                           .result = make_bytes("a summary")});
    Batch batch;
    batch.entries.push_back({.body = std::move(entry)});
    batch.if_absent = IfAbsent::fail;
    return batch;
}

int scenario(const std::string& url) {
    failing_io::armed = true;
    {
        const std::unique_ptr<Store> store = open_or_exit(url);
        const std::string large =
            repeated(url.starts_with("files:") ? large_file_bytes : large_bytes);
        Scenario steps(*store);
        steps.append("s1", "a", batch_of({"a1 " + std::string(20'000, 'x')}, ""));
        steps.append("s2", "a", existing(batch_of({"a2", large}, "")));
        steps.append("s3", "b", batch_of({"b1", large}, ""));
        steps.fork("s4", "a", Seq{2}, "f", batch_of({"f3", large}, ""));
        steps.append("s5", "a", compaction());
        steps.scrub("s6", "a", Seq{1});
        steps.erase("s7", "b");
        steps.append("s8", "a", existing(batch_of({"a5"}, "")));
        steps.record("s9");
        steps.erase("s10", "a");
        steps.append("s11", "f", existing(batch_of({"f4"}, "")));
    }
    say("calls " + std::to_string(failing_io::calls[0]) + " " +
        std::to_string(failing_io::calls[1]) + " " + std::to_string(failing_io::calls[2]));
    return 0;
}

// ---- dump ---------------------------------------------------------------------------------------

// What was said once is named by its first word, what is said again by its place.
std::string text_of(const Entry& entry) {
    const auto* message = std::get_if<MessageEntry>(&entry.body);
    if (!message) return std::string(entry_kind_name(kind_of(entry.body)));
    if (message->scrubbed) return "scrubbed";
    if (is_repeated(view_of(message->message.raw)))
        return "large." + std::to_string(entry.seq.value);
    std::istringstream words{std::string(view_of(message->message.raw))};
    std::string first;
    words >> first;
    return first;
}

int dump(const std::string& url) {
    const std::unique_ptr<Store> store = open_or_exit(url);
    ListQuery query{.tenant = "t"};
    do {
        const Result<Page> page = store->list(query);
        if (!page) return say("error " + one_line(page.error().message)), 1;
        for (const Header& header : page->headers) {
            const auto entries = read_lineage(*store, header, {});
            if (!entries) return say("error " + one_line(entries.error().message)), 1;
            std::string out;
            for (const Entry& entry : *entries)
                out += "entry " + header.name.id + " " + std::to_string(entry.seq.value) + " " +
                       text_of(entry) + "\n";
            std::cout << out;
        }
        query.after = page->next;
    } while (!query.after.empty());
    if (const auto record = store->get_record({"t", "s", "k"})) std::cout << "record\n";
    const Result<CheckReport> report = store->check({});
    if (!report) return say("error " + one_line(report.error().message)), 1;
    for (const Finding& finding : report->findings)
        std::cout << "finding " << finding.what << " " << finding.where << " "
                  << one_line(finding.message) << "\n";
    std::cout << "end\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() >= 3 && words[0] == "write")
        return write(words[1], std::stoi(words[2]), words.size() > 3 ? words[3] : "done");
    if (words.size() >= 2 && words[0] == "fill")
        return fill(words[1], words.size() > 2 ? std::stoul(words[2]) : 900);
    if (words.size() == 2 && words[0] == "scenario") return scenario(words[1]);
    if (words.size() == 4 && words[0] == "history")
        return history(words[1], std::stoi(words[2]), words[3]);
    if (words.size() == 2 && words[0] == "dump") return dump(words[1]);
    std::cerr << "usage: store_faults write|fill|history|scenario|dump URL ...\n";
    return 2;
}
