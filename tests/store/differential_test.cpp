// Random operations, the same on a store and on the plain model of the port: every answer must be
// the same. A failure names the seed and the step, and shows the operation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "store/conformance/probe.h"
#include "store/model_store.h"
#include "store/stores_under_test.h"

namespace palimpsest {
namespace {

using Random = std::mt19937_64;

// Answers as text. Versions and cursors differ from store to store and are compared by what they
// do, not by what they are.
template <class T>
std::string answer(const Result<T>& result, const std::function<std::string(const T&)>& show_it) {
    if (!result) return "refused: " + std::string(error_info(result.error().code).name);
    return show_it(*result);
}
std::string headers_text(const std::vector<Header>& headers) {
    return show(headers);
}

// One of the two: a store and what it handed out so far.
struct Subject {
    std::unique_ptr<Store> store;
    std::map<std::uint64_t, std::size_t> step_of_version = {};
    std::map<std::size_t, std::uint64_t> version_of_step = {};

    std::string version(std::uint64_t version_) {
        const auto found = step_of_version.find(version_);
        return found == step_of_version.end() ? "unknown" : "of step " + show(found->second);
    }
};

// Draws operations. Ids are few, so that they meet; times pass, so that things expire.
class Walk {
public:
    explicit Walk(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return random_() % n; }
    bool one_in(std::size_t n) { return below(n) == 0; }

    ConversationId name() {
        static const char* const all[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        return {one_in(5) ? "u" : "t", all[below(8)]};
    }
    std::optional<Duration> ttl() {
        if (one_in(2)) return std::nullopt;
        return Duration(static_cast<std::int64_t>(20 + below(400)));
    }
    Body body() {
        const Seq at{1 + below(12)};
        const std::string text = "x" + std::to_string(below(1000));
        switch (below(8)) {
            case 0:
                return pinned(at);
            case 1:
                return marked(text);
            case 2:
                return NoteEntry{.kind = "call", .body = make_bytes(text)};
            case 3:
                return CompactionEntry{
                    .edits = {{.range = {Seq{1}, at}, .result = make_bytes(text)}},
                    .basis = {.upto = at}};
            default:
                return said(text);
        }
    }
    HeaderPatch patch() {
        HeaderPatch patch;
        if (one_in(4)) patch.owner = one_in(2) ? "ann" : "bob";
        if (one_in(4)) patch.title = "t" + std::to_string(below(9));
        if (one_in(6)) patch.system_prompt = "p";
        if (one_in(3)) {
            static const char* const all[] = {"{\"k\":1}",     "{\"k\":null}",
                                              "{\"k\":\"v\"}", "{\"m\":true,\"n\":[]}",
                                              "{\"m\":null}",  "[1]"};
            patch.metadata_merge = all[below(6)];
        }
        if (one_in(3)) patch.ttl = ttl();
        return patch;
    }
    ReadQuery query() {
        ReadQuery query;
        Seq from{below(4)};
        for (std::size_t i = below(3); i > 0; --i) {
            query.ranges.push_back({from, from + below(6)});
            from = query.ranges.back().to + 1 + below(3);
        }
        if (one_in(2)) query.kinds = one_in(2) ? basis_kinds : only(EntryKind::message);
        if (one_in(2)) query.limit = below(5);
        query.newest_first = one_in(2);
        query.content = !one_in(3);
        return query;
    }
    LogId fresh_log() {
        LogId log;
        for (auto& byte : log.bytes) byte = static_cast<std::uint8_t>(below(256));
        return log;
    }

private:
    Random random_;
};

class Differential : public testing::TestWithParam<std::string_view> {
protected:
    // Does the same to both and compares. What is drawn is drawn before, once.
    using Operation = std::function<std::string(Subject&)>;
    bool same(const std::string& what, const Operation& operation) {
        const std::string should_be = operation(model_), is = operation(real_);
        trace_.push_back(what);
        if (is == should_be) return true;
        std::string last;
        for (std::size_t i = trace_.size() < 12 ? 0 : trace_.size() - 12; i < trace_.size(); ++i)
            last += "  " + trace_[i] + "\n";
        ADD_FAILURE() << "seed " << seed_ << ", step " << step_ << "\n"
                      << last << "is        " << is << "\nshould be " << should_be;
        return false;
    }

    bool append(Walk& walk);
    bool fork(Walk& walk);
    bool fork_anything(Walk& walk);
    bool read(Walk& walk);
    bool list(Walk& walk);
    bool scrub(Walk& walk);
    bool put_record(Walk& walk);
    bool list_records(Walk& walk);
    bool check();
    bool step(Walk& walk);
    void start(std::uint64_t seed);
    LogId some_log(Walk& walk) {
        return known_.empty() || walk.one_in(40) ? walk.fresh_log()
                                                 : known_[walk.below(known_.size())];
    }
    Batch some_batch(Walk& walk, const ConversationId& name);

    std::unique_ptr<TestStore> test_store_;
    Subject model_, real_;
    std::vector<LogId> known_;
    std::vector<std::string> trace_;
    std::uint64_t seed_ = 0;
    std::size_t step_ = 0;
};

void Differential::start(std::uint64_t seed) {
    seed_ = seed;
    known_.clear();
    trace_.clear();
    test_store_ = std::make_unique<TestStore>(GetParam());
    model_ = {std::make_unique<ModelStore>(test_store_->clock())};
    real_ = {must(test_store_->under_test().open())};
}

Batch Differential::some_batch(Walk& walk, const ConversationId& name) {
    Batch batch;
    for (std::size_t i = walk.below(4); i > 0; --i) batch.entries.push_back({walk.body()});
    if (walk.one_in(3)) batch.patch = walk.patch();
    if (walk.one_in(4)) batch.key = "k" + std::to_string(walk.below(3));
    batch.digest = {walk.below(2), 0};
    if (walk.one_in(5)) batch.if_absent = IfAbsent::fail;
    batch.new_log = walk.fresh_log();
    if (walk.one_in(20)) batch.entries.push_back({said("old"), Time{Duration(12345)}});
    // Stores that give conversations a time to live of their own are told ours.
    const auto head = model_.store->head(name);
    if (!head && !batch.patch.ttl) batch.patch.ttl = walk.ttl();
    const Header now = head ? *head : Header{};
    const auto nearly = [&](std::uint64_t value) { return value + (walk.one_in(6) ? 1 : 0); };
    if (walk.one_in(6)) batch.expected_log = walk.one_in(3) ? some_log(walk) : now.log;
    if (walk.one_in(6)) batch.expected_end = Seq{nearly(now.end.value)};
    if (walk.one_in(6)) batch.expected_basis = Seq{nearly(now.basis.value)};
    if (walk.one_in(8)) batch.expected_epoch = nearly(now.epoch);
    if (walk.one_in(8)) batch.expected_revision = nearly(now.revision);
    return batch;
}

std::string show_appended(const Appended& done) {
    return show(done.first) + ".." + show(done.last) + (done.again ? " again " : " ") +
           (done.created ? "created " : "") + show(done.header);
}

bool Differential::append(Walk& walk) {
    const ConversationId name = walk.name();
    const Batch batch = some_batch(walk, name);
    known_.push_back(batch.new_log);
    return same("append " + name.id + " key " + batch.key, [&](Subject& subject) {
        return answer<Appended>(subject.store->append(name, batch), show_appended);
    });
}

// A fork of a conversation at any seq, through the chain.
bool Differential::fork(Walk& walk) {
    const ConversationId from = walk.name(), to = walk.name();
    const std::uint64_t back = walk.below(8);
    Batch batch = some_batch(walk, to);
    known_.push_back(batch.new_log);
    return same("fork " + from.id + " to " + to.id, [&](Subject& subject) -> std::string {
        const auto header = subject.store->head(from);
        if (!header) return "no parent";
        const auto point = fork_point(*subject.store, *header, header->end - back);
        if (!point) return answer<ForkPoint>(point, {});
        batch.fork = *point;
        return answer<Appended>(subject.store->append(to, batch), show_appended);
    });
}

// A fork of any log that ever was, also where there is none.
bool Differential::fork_anything(Walk& walk) {
    const ConversationId to = walk.name();
    Batch batch = some_batch(walk, to);
    batch.fork = ForkPoint{.parent = some_log(walk), .at = Seq{walk.below(15)}};
    const auto parent = model_.store->head(batch.fork->parent);
    if (parent && batch.fork->at <= parent->base) return true;  // not what the port allows
    if (parent && batch.fork->at <= parent->end)
        batch.fork = *fork_point(*model_.store, *parent, batch.fork->at);
    known_.push_back(batch.new_log);
    return same("fork a log to " + to.id, [&](Subject& subject) {
        return answer<Appended>(subject.store->append(to, batch), show_appended);
    });
}

bool Differential::read(Walk& walk) {
    const ReadQuery query = walk.query();
    const auto entries = [](const std::vector<Entry>& found) { return show(found); };
    const LogId log = some_log(walk);
    const ConversationId name = walk.name();
    return same("read log",
                [&](Subject& subject) {
                    return answer<std::vector<Entry>>(subject.store->read(log, query), entries) +
                           answer<Header>(subject.store->head(log),
                                          [](const Header& h) { return show(h); });
                }) &&
           same("read " + name.id, [&](Subject& subject) -> std::string {
               const auto header = subject.store->head(name);
               if (!header) return "absent";
               return show(*header) + answer<std::vector<Entry>>(
                                          read_lineage(*subject.store, *header, query), entries);
           });
}

bool Differential::list(Walk& walk) {
    ListQuery query{.tenant = walk.one_in(5) ? "u" : "t"};
    if (walk.one_in(3)) query.owner = walk.one_in(2) ? "ann" : "";
    if (walk.one_in(3)) query.metadata = {{"k", walk.one_in(2) ? "1" : "v"}};
    if (walk.one_in(3)) query.metadata.emplace("m", "true");
    if (walk.one_in(4)) query.children_of = some_log(walk);
    query.sort = static_cast<SortBy>(walk.below(3));
    query.newest_first = walk.one_in(2);
    query.limit = 1 + walk.below(4);
    return same("list", [&](Subject& subject) {
        std::string all;
        for (ListQuery at = query;;) {
            const auto page = subject.store->list(at);
            all += answer<Page>(page, [](const Page& p) { return headers_text(p.headers); });
            if (!page || page->next.empty()) return all;
            at.after = page->next;
        }
    });
}

bool Differential::scrub(Walk& walk) {
    std::vector<Replacement> replacements;
    for (std::size_t i = 1 + walk.below(2); i > 0; --i) {
        Replacement one{some_log(walk), Seq{1 + walk.below(12)}, said("")};
        const auto entries = model_.store->read(one.log, {.ranges = {{one.seq, one.seq}}});
        if (entries && !entries->empty() && !walk.one_in(10)) one.body = entries->front().body;
        if (auto* message = std::get_if<MessageEntry>(&one.body)) {
            message->message.raw = make_bytes("");
            message->scrubbed = true;
        }
        replacements.push_back(std::move(one));
    }
    return same("scrub", [&](Subject& subject) {
        const auto done = subject.store->scrub(replacements);
        return done ? std::string("done")
                    : "refused: " + std::string(error_info(done.error().code).name);
    });
}

bool Differential::put_record(Walk& walk) {
    RecordWrite write{.key = {walk.one_in(4) ? "u" : "t", walk.one_in(3) ? "s2" : "s",
                              std::string(1 + walk.below(3), "abc"[walk.below(3)])}};
    if (!walk.one_in(4)) write.value = "v" + std::to_string(walk.below(99));
    if (walk.one_in(3)) write.ttl = Duration(static_cast<std::int64_t>(10 + walk.below(100)));
    const bool expects = walk.one_in(2);
    const bool expects_absent = walk.one_in(3);
    const std::size_t which = walk.below(1000);
    return same("put " + write.key.key, [&](Subject& subject) -> std::string {
        RecordWrite mine = write;
        if (expects) mine.expected = 0;
        // The version that the record has now, or one from the past: the same step for both.
        const auto now = subject.store->get_record(write.key);
        if (expects && !expects_absent && now && which % 3 != 0) mine.expected = now->version;
        if (expects && !expects_absent && which % 3 == 0 && !subject.version_of_step.empty()) {
            auto at = subject.version_of_step.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(which % subject.version_of_step.size()));
            mine.expected = at->second;
        }
        const auto done = subject.store->put_record(mine);
        if (!done) return "refused: " + std::string(error_info(done.error().code).name);
        const bool grows =
            subject.step_of_version.empty() || *done > subject.step_of_version.rbegin()->first;
        subject.step_of_version[*done] = step_;
        subject.version_of_step[step_] = *done;
        return grows ? "done" : "the version does not grow";
    });
}

bool Differential::list_records(Walk& walk) {
    RecordQuery query{.tenant = walk.one_in(4) ? "u" : "t", .space = walk.one_in(3) ? "s2" : "s"};
    if (walk.one_in(2)) query.prefix = std::string(1, "abc"[walk.below(3)]);
    if (walk.one_in(2)) query.after = std::string(1 + walk.below(2), "abc"[walk.below(3)]);
    if (walk.one_in(2)) query.limit = walk.below(4);
    return same("list records", [&](Subject& subject) {
        return answer<std::vector<Record>>(
            subject.store->list_records(query), [&](const std::vector<Record>& found) {
                std::string all;
                for (const Record& record : found)
                    all += record.key.key + "=" + record.value + " version " +
                           subject.version(record.version) + " " + show(record.expires) + "; ";
                return all;
            });
    });
}

// The store finds nothing wrong with itself.
bool Differential::check() {
    const std::string tenants[] = {"t", "u"};
    const auto report = real_.store->check(tenants);
    if (report && report->findings.empty()) return true;
    ADD_FAILURE() << "seed " << seed_ << ", step " << step_ << ": "
                  << (report ? report->findings.front().message : report.error().message);
    return false;
}

bool Differential::step(Walk& walk) {
    test_store_->under_test().advance_clock(Duration(static_cast<std::int64_t>(1 + walk.below(8))));
    const ConversationId name = walk.name();
    switch (walk.below(20)) {
        case 0:
        case 1:
        case 2:
            return fork(walk);
        case 3:
            return fork_anything(walk);
        case 4:
        case 5:
        case 6:
            return read(walk);
        case 7:
        case 8:
            return list(walk);
        case 9:
            return scrub(walk);
        case 10:
        case 11:
            return put_record(walk);
        case 12:
            return list_records(walk);
        case 13:
            if (walk.one_in(2))
                return static_cast<void>(must(real_.store->sweep(walk.below(4)))), true;
            if (walk.one_in(5)) return check();
            if (!test_store_->under_test().persistent || !walk.one_in(5)) return true;
            real_.store.reset();
            real_.store = must(test_store_->under_test().open());
            return true;
        case 14:
            return same("erase " + name.id, [&](Subject& subject) {
                return answer<Receipt>(subject.store->erase(name), [](const Receipt& receipt) {
                    return show(receipt.entries) + " entries, " + show(receipt.logs) + " logs, " +
                           show(receipt.kept_for);
                });
            });
        default:
            return append(walk);
    }
}

// PAL_SEEDS=N asks for another number than the dozen of every day.
std::uint64_t seeds() {
    const char* asked = std::getenv("PAL_SEEDS");
    return asked ? std::stoull(asked) : 12;
}

TEST_P(Differential, gives_the_answers_of_the_model) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        start(seed);
        Walk walk(seed);
        for (step_ = 0; step_ < 700; ++step_) ASSERT_TRUE(step(walk));
        ASSERT_TRUE(check());
    }
}

std::string scheme_name(const testing::TestParamInfo<std::string_view>& of) {
    return std::string(of.param);
}
INSTANTIATE_TEST_SUITE_P(stores, Differential, testing::ValuesIn(stores_under_test()), scheme_name);

}  // namespace
}  // namespace palimpsest
