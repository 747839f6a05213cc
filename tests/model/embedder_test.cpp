// Embeddings over HTTP: what is asked, how rows are put in order, and what is refused.
#include <gtest/gtest.h>

#include "base/json.h"
#include "palimpsest/model.h"
#include "palimpsest/search.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

std::shared_ptr<Embedder> embedder_of(const Upstream& upstream) {
    Endpoint endpoint;
    endpoint.name = "small";
    endpoint.url = upstream.url();
    endpoint.key_env = "";
    endpoint.retries = 0;
    auto model = make_http_model(endpoint);
    EXPECT_TRUE(model.has_value());
    auto made = make_model_embedder(std::shared_ptr<Model>(*std::move(model)));
    EXPECT_TRUE(made.has_value());
    return *made;
}

UpstreamReply reply_of(std::string body, int status = 200) {
    UpstreamReply reply;
    reply.status = status;
    reply.body = std::move(body);
    return reply;
}

TEST(model_embedder, asks_for_vectors_and_puts_them_in_order) {
    Upstream upstream({reply_of(R"({"object":"list","data":[)"
                                R"({"object":"embedding","index":1,"embedding":[0,2]},)"
                                R"({"object":"embedding","index":0,"embedding":[1,0]}]})")});
    const auto embedder = embedder_of(upstream);
    const std::vector<std::string> texts{"one", "two"};
    const auto made = embedder->embed(texts);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(*made, (std::vector<std::vector<float>>{{1, 0}, {0, 2}}));
    EXPECT_EQ(embedder->dimension(), 2u);
    EXPECT_EQ(embedder->model(), "small");
    ASSERT_EQ(upstream.requests().size(), 1u);
    EXPECT_EQ(upstream.requests()[0].target, "/v1/embeddings");
    const std::string body = upstream.requests()[0].body;
    EXPECT_NE(body.find(R"("input":["one","two"])"), std::string::npos) << body;
}

TEST(model_embedder, refuses_answers_that_do_not_fit) {
    const std::vector<std::string> texts{"one"};
    for (const std::string_view body :
         {R"({"data":[]})", R"({"data":[{"index":5,"embedding":[1]}]})", R"(nonsense)",
          R"({"data":[{"index":0,"embedding":[]}]})", R"({"data":[{"index":0}]})",
          R"({"data":[{"index":0,"embedding":[null,1]}]})",
          R"({"data":[{"index":0,"embedding":["0.5",1]}]})",
          R"({"data":[{"index":0,"embedding":[1e300,1]}]})",
          R"({"data":[{"index":0,"embedding":[0,0.0]}]})",
          R"({"data":[{"index":0,"embedding":"AAAA"}]})"}) {
        Upstream upstream({reply_of(std::string(body))});
        const auto made = embedder_of(upstream)->embed(texts);
        ASSERT_FALSE(made.has_value()) << body;
        EXPECT_EQ(made.error().code, ErrorCode::upstream_failed) << body;
    }
}

TEST(model_embedder, refuses_two_vectors_for_one_text) {
    Upstream upstream({reply_of(R"({"data":[{"index":0,"embedding":[1,0]},)"
                                R"({"index":0,"embedding":[0,1]}]})")});
    const auto made = embedder_of(upstream)->embed(std::vector<std::string>{"one", "two"});
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::upstream_failed);
}

TEST(model_embedder, tells_what_the_server_said) {
    Upstream upstream({reply_of(R"({"error":{"message":"no such model"}})", 404)});
    const auto made = embedder_of(upstream)->embed(std::vector<std::string>{"one"});
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find("no such model"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest
