// /metrics: what a strict reader of the text format of Prometheus accepts, with labels that no
// client chooses.
#include <map>
#include <set>

#include "base/utf8.h"
#include "server/gateway.h"

namespace palimpsest {
namespace {

std::vector<std::string> lines_of(const std::string& page) {
    std::vector<std::string> lines;
    for (std::size_t from = 0, end = 0; from < page.size(); from = end + 1) {
        end = std::min(page.find('\n', from), page.size());
        lines.push_back(page.substr(from, end - from));
    }
    return lines;
}

std::string word(const std::string& line, int which) {
    std::size_t from = 0;
    for (; which > 0; --which) from = line.find(' ', from) + 1;
    return line.substr(from, line.find(' ', from) - from);
}

// NAME{LABELS}: everything before the value.
std::string series_of(const std::string& line) {
    return line.substr(0, line.rfind(' '));
}
std::string name_of(const std::string& line) {
    return line.substr(0, line.find_first_of("{ "));
}

bool belongs(const std::string& name, const std::string& family, const std::string& type) {
    if (type != "histogram") return name == family;
    return name == family + "_bucket" || name == family + "_sum" || name == family + "_count";
}

// HELP, then TYPE, then the samples of that family and of no other; each family and series once.
void expect_strict(const std::string& page) {
    EXPECT_TRUE(is_utf8(page));
    ASSERT_TRUE(page.ends_with('\n'));
    std::set<std::string> families, series;
    std::string helped, family, type;
    for (const std::string& line : lines_of(page)) {
        if (line.starts_with("# HELP ")) {
            helped = word(line, 2);
            EXPECT_TRUE(families.insert(helped).second) << "a second head: " << line;
        } else if (line.starts_with("# TYPE ")) {
            family = word(line, 2);
            type = word(line, 3);
            EXPECT_EQ(family, helped) << "without HELP: " << line;
        } else {
            EXPECT_TRUE(belongs(name_of(line), family, type)) << line << " below " << family;
            EXPECT_TRUE(series.insert(series_of(line)).second) << "twice: " << line;
            EXPECT_NO_THROW((void)std::stod(line.substr(line.rfind(' ') + 1))) << line;
        }
    }
}

std::size_t series_in(const std::string& page, const std::string& name) {
    std::size_t count = 0;
    for (const std::string& line : lines_of(page)) count += name_of(line) == name ? 1 : 0;
    return count;
}

void compact_with(const Running& running, const std::string& name, const std::string& policy) {
    std::string messages;
    for (int i = 0; i < 4; ++i)
        messages += std::string(i ? "," : "") +
                    R"({"role":"user","content":"Tell me about Oslo again, please."},)"
                    R"({"role":"assistant","content":"Oslo is the capital of Norway."})";
    const std::string at = conversations + "/" + name;
    ASSERT_EQ(running.ask("POST", at + "/messages", R"({"messages":[)" + messages + "]}").status(),
              201);
    const Told done = running.ask("POST", at + "/begin",
                                  R"({"message":"And now?","memory_strategy":)" + policy + "}");
    ASSERT_EQ(done.status(), 200) << done.response.body;
}

std::string drops(const std::string& strategy, const std::string& trigger) {
    return R"({"strategy":")" + strategy + R"(","triggers":)" + trigger +
           R"(,"passes":[{"pass":"drop_oldest"}]})";
}

TEST(metrics, a_strict_reader_takes_the_page) {
    const Running running;
    running.ask("POST", "/api/v1/chat", R"({"message":"hello"})");
    running.ask("GET", "/api/v1/search?query=hello");
    running.ask("GET", "/nowhere");
    compact_with(running, "alice", drops("own", R"({"tokens":10})"));
    expect_strict(running.ask("GET", "/metrics").response.body);
}

TEST(metrics, a_client_chooses_no_strategy_and_no_trigger_there) {
    const Running running;
    compact_with(running, "first", drops("mine", R"({"tokens":10})"));
    const auto count = [&] {
        return series_in(running.ask("GET", "/metrics").response.body, "memory_trigger_total");
    };
    const std::size_t before = count();
    std::string accents = "a";
    for (int i = 0; i < 40; ++i) accents += "\xc3\xa9";
    compact_with(running, "second", drops(accents, R"({"tokens":10})"));
    compact_with(running, "third", drops("a\\nb", R"({"tokens":10})"));
    EXPECT_EQ(count(), before);
    compact_with(running, "fourth", drops("a", R"({"all":[{"tokens":10},{"messages":2}]})"));
    compact_with(running, "fifth",
                 drops("a", R"({"all":[{"messages":2},{"tokens":10},{"messages":2}]})"));
    const std::string page = running.ask("GET", "/metrics").response.body;
    EXPECT_EQ(count(), before + 1) << page;
    EXPECT_EQ(page.find("mine"), std::string::npos) << "an admin of another tenant reads it";
    expect_strict(page);
}

TEST(metrics, a_model_that_no_table_knows_is_another_one) {
    const Running running;
    for (const std::string model : {"mine-1", "mine-2", "claude-sonnet-4-mine"}) {
        const std::string at = conversations + "/of-" + model;
        const Told begun =
            running.ask("POST", at + "/begin", R"({"message":"Hello","model":")" + model + R"("})");
        ASSERT_EQ(begun.status(), 200) << begun.response.body;
        const Told done = running.ask("POST", at + "/finish",
                                      R"({"turn_id":")" + begun.text("turn_id") +
                                          R"(","message":{"role":"assistant","content":"Hi"},)"
                                          R"("usage":{"input_tokens":1000,"output_tokens":1}})");
        ASSERT_EQ(done.status(), 200) << done.response.body;
    }
    const std::string page = running.ask("GET", "/metrics").response.body;
    EXPECT_EQ(page.find("mine"), std::string::npos);
    EXPECT_NE(page.find(R"(memory_estimate_error_ratio{model="other"})"), std::string::npos);
    EXPECT_NE(page.find(R"(memory_estimate_error_ratio{model="claude)"), std::string::npos) << page;
    expect_strict(page);
}

}  // namespace
}  // namespace palimpsest
