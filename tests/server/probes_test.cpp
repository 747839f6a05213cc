// /readyz tells the truth about a store that can be read and not written.
#include <filesystem>

#include "server/running.h"
#include "support/passing_store.h"

namespace palimpsest {
namespace {

// Every write fails with the code while there is one.
class Sick final : public testing_support::PassingStore<Sick> {
public:
    explicit Sick(std::unique_ptr<Store> inner) : PassingStore(*inner), owned_(std::move(inner)) {}

    std::optional<ErrorCode> writes = {};
    Result<Appended> append(const ConversationId& name, const Batch& batch) override {
        if (writes) return fail(*writes, "sick");
        return PassingStore::append(name, batch);
    }
    Result<std::uint64_t> put_record(const RecordWrite& write) override {
        if (writes) return fail(*writes, "sick");
        return PassingStore::put_record(write);
    }
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        return call();
    }

private:
    const std::unique_ptr<Store> owned_;
};

class OnSickStore {
public:
    OnSickStore() : OnSickStore(std::make_unique<Sick>(open_store("memory:").value())) {}

    Told ask(std::string method, std::string target, std::string body = {}) const {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server_->port())).value());
        return Running::ask(client, std::move(method), std::move(target), std::move(body));
    }
    Sick& store;

private:
    explicit OnSickStore(std::unique_ptr<Sick> sick)
        : store(*sick),
          memory_(std::move(sick), {}),
          model_(make_echo_model()),
          server_(Server::start(memory_, *model_, {}).value()) {}

    Memory memory_;
    const std::unique_ptr<Model> model_;
    const std::unique_ptr<Server> server_;
};

const std::string hello = R"({"messages":[{"role":"user","content":"Hello"}]})";

}  // namespace

TEST(readiness, is_degraded_while_a_write_found_the_disk_full) {
    OnSickStore on;
    EXPECT_EQ(on.ask("GET", "/readyz").text("status"), "ready");
    on.store.writes = ErrorCode::no_space;
    ASSERT_EQ(on.ask("POST", conversations + "/a/messages", hello).status(), 507);
    const Told full = on.ask("GET", "/readyz");
    EXPECT_EQ(full.status(), 200) << full.response.body;
    EXPECT_EQ(full.text("status"), "degraded");
    EXPECT_EQ(full.text("store_error"), "no_space");
    // A small write may still fit where a large one does not.
    on.store.writes = {};
    ASSERT_EQ(on.ask("POST", conversations + "/a/messages", hello).status(), 201);
    EXPECT_EQ(on.ask("GET", "/readyz").text("store_error"), "no_space");
}

TEST(readiness, ends_when_a_write_finds_the_store_unavailable_and_comes_back_with_it) {
    OnSickStore on;
    on.store.writes = ErrorCode::unavailable;
    ASSERT_EQ(on.ask("POST", conversations + "/a/messages", hello).status(), 503);
    EXPECT_EQ(on.ask("GET", "/readyz").status(), 503);
    EXPECT_EQ(on.ask("GET", "/healthz").status(), 200);
    on.store.writes = {};
    EXPECT_EQ(on.ask("GET", "/readyz").text("status"), "ready") << "nobody needs to write first";
}

TEST(readiness, ends_when_the_files_of_the_store_are_gone) {
    for (const std::string kind : {"sqlite", "files"}) {
        const TemporaryFolder folder;
        const std::string path = folder.path() + "/store";
        const Running running(kind + ":" + path);
        ASSERT_EQ(running.ask("POST", conversations + "/a/messages", hello).status(), 201);
        ASSERT_EQ(running.ask("GET", "/readyz").text("status"), "ready");
        for (const auto& file : std::filesystem::directory_iterator(folder.path()))
            std::filesystem::remove_all(file.path());
        const Told gone = running.ask("GET", "/readyz");
        EXPECT_EQ(gone.status(), 503) << kind << gone.response.body;
        EXPECT_NE(gone.error("message").find("was moved, removed or replaced"), std::string::npos)
            << kind << gone.response.body;
    }
}

}  // namespace palimpsest
