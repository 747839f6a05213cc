#include "live/live.h"

#include <unistd.h>

#include <mutex>
#include <random>
#include <thread>

#include "store/lineage.h"

namespace palimpsest::testing_support {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t now_ns() {
    return Clock::now().time_since_epoch().count();
}

// Said beside some values, and large enough to be stored once.
const std::string repeated(70'000, 'L');

// One client: draws what to do, does it until it is known how it ended, and writes it down.
class Client {
public:
    Client(Store& store, const ListAppendRun& run, std::size_t number)
        : store_(store), run_(run), number_(number), random_(number + 1) {}

    void work() {
        const std::size_t mine = run_.operations / run_.clients;
        for (std::size_t i = 0; i < mine; ++i) {
            const auto one = random_() % static_cast<unsigned>(run_.conversations);
            const int conversation = static_cast<int>(one) + first_of_round(i);
            if (random_() % 10 < 7)
                append(conversation, static_cast<std::int64_t>(number_ * 10'000'000 + i));
            else
                read(conversation);
        }
    }
    // False: it could not be read.
    bool read(int conversation) {
        Operation operation{.invoked = now_ns(), .conversation = conversation};
        const ConversationId name{"t", "c" + std::to_string(conversation)};
        const auto header = store_.head(name);
        if (!header && header.error().code != ErrorCode::not_found) return false;
        if (header) {
            const auto entries = read_lineage(store_, *header, {});
            if (!entries) return false;
            for (const Entry& entry : *entries)
                if (const auto* message = std::get_if<MessageEntry>(&entry.body)) {
                    const std::string text(view_of(message->message.raw));
                    if (text != repeated) operation.values.push_back(std::stoll(text));
                }
        }
        operation.returned = now_ns();
        ++result.reads;
        history.push_back(std::move(operation));
        return true;
    }
    void read_at_rest(int conversation) {
        const Clock::time_point until = Clock::now() + run_.give_up;
        while (!read(conversation)) {
            ASSERT_LT(Clock::now(), until) << "it does not come back";
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

    std::vector<Operation> history;
    ListAppendResult result;

private:
    void append(int conversation, std::int64_t value) {
        Operation operation{.invoked = now_ns(),
                            .appends = true,
                            .conversation = conversation,
                            .value = value,
                            .outcome = Outcome::unknown};
        const ConversationId name{"t", "c" + std::to_string(conversation)};
        const std::string text = std::to_string(value);
        const Clock::time_point until = Clock::now() + run_.give_up;
        while (operation.outcome == Outcome::unknown && Clock::now() < until) {
            Batch batch = says(text, text);
            if (value % 64 == 5) batch.entries.push_back(says(repeated).entries.front());
            const auto done = store_.append(name, batch);
            if (done) operation.outcome = Outcome::ok;
            if (done) break;
            const bool unknown = done.error().code == ErrorCode::outcome_unknown;
            if (!unknown && done.error().code != ErrorCode::unavailable)
                ADD_FAILURE() << done.error().message;
            ++(unknown ? result.unknown : result.refused);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        operation.returned = now_ns();
        if (operation.outcome == Outcome::ok) ++result.acknowledged;
        history.push_back(std::move(operation));
    }

    int first_of_round(std::size_t i) const {
        return static_cast<int>(i * run_.clients / run_.round) * run_.conversations;
    }

    Store& store_;
    const ListAppendRun& run_;
    std::size_t number_;
    std::mt19937_64 random_;
};

}  // namespace

RunningServers& running() {
    static RunningServers servers;
    return servers;
}

std::string RunningServers::url() const {
    if (postgres) return postgres->url();
    return redis ? redis->url() : cluster->url();
}

std::string unique(std::string url) {
    static std::atomic<int> count = 0;
    const std::size_t at = url.find("UNIQUE");
    return url.replace(at, 6, "live_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
}

std::unique_ptr<Store> open_good(const std::string& url) {
    auto store = open_store(url);
    if (store) return std::move(*store);
    ADD_FAILURE() << store.error().message;
    std::abort();
}

Batch says(const std::string& text, const std::string& key) {
    MessageEntry entry;
    entry.message.raw = make_bytes(text);
    Batch batch;
    batch.entries.push_back({.body = std::move(entry)});
    batch.key = key;
    return batch;
}

std::vector<std::string> texts_of(Store& store, const ConversationId& name) {
    std::vector<std::string> texts;
    const auto header = store.head(name);
    if (!header) return texts;
    const auto entries = read_lineage(store, *header, {});
    if (!entries) ADD_FAILURE() << entries.error().message;
    if (!entries) return texts;
    for (const Entry& entry : *entries)
        if (const auto* message = std::get_if<MessageEntry>(&entry.body))
            texts.emplace_back(view_of(message->message.raw));
    return texts;
}

std::size_t setting(const char* name, std::size_t otherwise) {
    const char* asked = std::getenv(name);
    return asked ? std::stoul(asked) : otherwise;
}

std::string ListAppendResult::text() const {
    return std::to_string(acknowledged) + " appends acknowledged, " + std::to_string(reads) +
           " reads, " + std::to_string(unknown) + " unknown and repeated, " +
           std::to_string(refused) + " refused and repeated, " + std::to_string(anomalies.size()) +
           " anomalies";
}

ListAppendResult run_list_append(const ListAppendRun& run) {
    std::vector<std::unique_ptr<Store>> stores;
    for (const std::string& url : run.urls) stores.push_back(open_good(url));
    std::vector<std::unique_ptr<Client>> clients;
    for (std::size_t i = 0; i < run.clients; ++i)
        clients.push_back(std::make_unique<Client>(*stores[i % stores.size()], run, i));
    std::atomic<bool> done = false;
    std::thread disturber([&] {
        while (run.disturb && !done) run.disturb();
    });
    std::vector<std::thread> threads;
    for (auto& client : clients) threads.emplace_back([&] { client->work(); });
    for (std::thread& thread : threads) thread.join();
    done = true;
    disturber.join();
    // At rest everything that was acknowledged is there, whichever store is asked.
    const auto rounds = static_cast<int>((run.operations + run.round - 1) / run.round);
    for (std::size_t i = 0; i < stores.size(); ++i)
        for (int conversation = 0; conversation < rounds * run.conversations; ++conversation)
            clients[i]->read_at_rest(conversation);
    ListAppendResult result;
    std::vector<Operation> history;
    for (auto& client : clients) {
        std::ranges::move(client->history, std::back_inserter(history));
        result.acknowledged += client->result.acknowledged;
        result.unknown += client->result.unknown;
        result.refused += client->result.refused;
        result.reads += client->result.reads;
    }
    result.anomalies = ListAppendCheck(std::move(history)).run();
    return result;
}

}  // namespace palimpsest::testing_support
