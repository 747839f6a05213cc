// Real servers for tests, on loopback ports that were free, with their data in a folder that goes
// away. They stop with the object, and with the test program however that ends.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace palimpsest::testing_support {

std::uint16_t free_port();

// A program that runs beside the test.
class ServerProcess {
public:
    // `user`: whom it runs as, if the test runs as root; empty: the same. `stop_signal` ends it.
    ServerProcess(std::vector<std::string> words, std::string user, int stop_signal,
                  std::string log_file);
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    void kill();  // SIGKILL, and waits until it is gone
    void pause();
    void resume();
    bool is_running();
    pid_t pid() const { return pid_; }

private:
    void end(int signal);
    void signal_all(int signal);
    pid_t pid_ = -1;
    int stop_signal_;
};

// A folder under the system's temporary one.
class ServerFolder {
public:
    explicit ServerFolder(const std::string& owner);
    ~ServerFolder();
    ServerFolder(const ServerFolder&) = delete;
    ServerFolder& operator=(const ServerFolder&) = delete;
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

class PostgresServer {
public:
    // Every sync is real when `durable`; else none is made, which is faster.
    explicit PostgresServer(bool durable = false);
    void restart();  // after kill(): waits until it answers
    // Starts it anew, with TLS beside; gives the path of its certificate.
    std::string restart_with_tls();
    ServerProcess& process() { return *process_; }
    std::uint16_t port() const { return port_; }
    // UNIQUE in it stands for the schema.
    std::string url() const;

private:
    ServerFolder folder_;
    std::uint16_t port_;
    bool durable_;
    bool tls_ = false;
    std::unique_ptr<ServerProcess> process_;
};

class RedisServer {
public:
    // `settings`: further words of the command line.
    explicit RedisServer(std::vector<std::string> settings = {});
    void restart();
    ServerProcess& process() { return *process_; }
    std::uint16_t port() const { return port_; }
    std::string url() const;  // UNIQUE in it stands for the prefix

private:
    ServerFolder folder_;
    std::uint16_t port_;
    std::vector<std::string> settings_;
    std::unique_ptr<ServerProcess> process_;
};

// `masters` nodes that share the slots, each with `replicas`.
class RedisCluster {
public:
    explicit RedisCluster(std::size_t masters = 3, std::size_t replicas = 0,
                          std::vector<std::string> settings = {});
    std::vector<std::unique_ptr<RedisServer>>& nodes() { return nodes_; }
    std::string url() const;
    // The place among the nodes of the master that has the key's slot.
    std::size_t master_of(const std::string& key);
    // What redis-cli prints, asked of a node.
    std::string cli(std::size_t node, const std::string& words) const;

private:
    std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// What a shell command prints; fails the program when it fails.
std::string output_of(const std::string& command);

}  // namespace palimpsest::testing_support
