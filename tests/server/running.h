// A server over a fresh store, and a client that talks to it as the outside world does.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "net/http_client.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "server/server.h"

namespace palimpsest {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "pal_server_XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// An answer, its JSON and its headers.
struct Told {
    HttpResponse response;
    std::shared_ptr<JsonDocument> document;  // null: the body is not JSON

    int status() const { return response.status; }
    std::string header(std::string_view name) const {
        return std::string(response.headers.find(name).value_or(""));
    }
    JsonValue json() const { return document->root(); }
    std::string text(std::string_view field) const {
        const auto value = document ? json().find(field) : std::nullopt;
        return value ? std::string(value->string()) : "(none)";
    }
    std::int64_t number(std::string_view field) const {
        const auto value = document ? json().find(field) : std::nullopt;
        return value ? value->integer().value_or(-1) : -1;
    }
    std::string error(std::string_view field) const {
        const auto value = document ? json().find("error") : std::nullopt;
        const auto inner = value ? value->find(field) : std::nullopt;
        return inner ? std::string(inner->string()) : "(none)";
    }
};

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

inline HttpRequest request_of(std::string method, std::string target, std::string body,
                              const HeaderFields& headers) {
    HttpRequest request = body.empty() ? make_request(std::move(method), std::move(target))
                                       : make_request(std::move(method), std::move(target),
                                                      std::move(body), "application/json");
    for (const auto& [name, value] : headers) request.headers.set(name, value);
    return request;
}

class Running {
public:
    explicit Running(std::string_view store_url = "memory:", ServerOptions options = {},
                     MemoryOptions memory_options = {})
        : memory_(Memory::open(store_url, std::move(memory_options)).value()),
          model_(make_echo_model()),
          server_(Server::start(memory_, *model_, std::move(options)).value()) {}

    HttpClient client() const {
        return HttpClient(parse_url("http://127.0.0.1:" + std::to_string(server_->port())).value());
    }

    Told ask(std::string method, std::string target, std::string body = {},
             const HeaderFields& headers = {}) const {
        HttpClient one = client();
        return ask(one, std::move(method), std::move(target), std::move(body), headers);
    }

    static Told ask(HttpClient& client, std::string method, std::string target,
                    std::string body = {}, const HeaderFields& headers = {}) {
        const auto answer =
            client.send(request_of(std::move(method), std::move(target), std::move(body), headers));
        Told told{answer.has_value() ? *answer : HttpResponse(0, answer.error().message), {}};
        // The document points into the text, so it owns a copy of it.
        auto text = std::make_shared<std::string>(told.response.body);
        if (Result<JsonDocument> document = parse_json(*text))
            told.document =
                std::shared_ptr<JsonDocument>(new JsonDocument(*std::move(document)),
                                              [text](JsonDocument* gone) { delete gone; });
        return told;
    }

    Memory& memory() { return memory_; }
    Server& server() { return *server_; }

private:
    Memory memory_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<Server> server_;
};

inline const std::string conversations = "/api/v1/conversations";

}  // namespace palimpsest
