// What is PostgreSQL's own: TLS, by libpq's settings in the URL.
#include "live/live.h"

namespace palimpsest::testing_support {
namespace {

TEST(postgres_server, speaks_tls_to_whom_it_can_prove_itself) {
    PostgresServer server;
    const std::string cert = server.restart_with_tls();
    const std::string url = "postgres://postgres@127.0.0.1:" + std::to_string(server.port()) +
                            "/postgres?schema=sealed&sslmode=verify-full";
    const auto refused = open_store(url + "&sslrootcert=/dev/null");
    ASSERT_FALSE(refused.has_value()) << "nobody vouches for that certificate";
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
    const auto store = open_good(url + "&sslrootcert=" + cert);
    EXPECT_TRUE(store->append({"t", "a"}, says("sealed on its way")).has_value());
    EXPECT_EQ(texts_of(*store, {"t", "a"}), std::vector<std::string>{"sealed on its way"});
}

}  // namespace
}  // namespace palimpsest::testing_support
