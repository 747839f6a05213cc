#include "support/servers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>

namespace palimpsest::testing_support {
namespace {

[[noreturn]] void give_up(const std::string& what) {
    std::cerr << "servers: " << what << std::endl;
    std::exit(1);
}

// Installed servers are not always in the path.
std::string program(const std::string& name) {
    for (const std::string folder : {"/usr/lib/postgresql/15/bin/", "/usr/bin/", "/usr/local/bin/"})
        if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
    give_up(name + " is not installed: run packaging/install");
}

// PostgreSQL refuses to run as root.
std::string postgres_user() {
    return ::geteuid() == 0 ? "postgres" : "";
}

// In the child, before the program: nothing that allocates.
void become(const passwd* user) {
    if (!user) return;
    if (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)
        ::_exit(126);
}

// Linux ends a child that asked for it with the thread that made it, so one thread, which lives as
// long as the program, makes them all.
pid_t on_lasting_thread(const std::function<pid_t()>& make) {
    struct Maker {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<std::packaged_task<pid_t()>> tasks;
    };
    static Maker& maker = *[] {
        auto* made = new Maker;
        std::thread([made] {
            for (;;) {
                std::unique_lock hold(made->mutex);
                made->changed.wait(hold, [made] { return !made->tasks.empty(); });
                auto task = std::move(made->tasks.front());
                made->tasks.pop_front();
                hold.unlock();
                task();
            }
        }).detach();
        return made;
    }();
    std::packaged_task<pid_t()> task(make);
    std::future<pid_t> result = task.get_future();
    {
        const std::lock_guard hold(maker.mutex);
        maker.tasks.push_back(std::move(task));
    }
    maker.changed.notify_one();
    return result.get();
}

pid_t start_here(const std::vector<std::string>& words, const std::string& user, int death_signal,
                 const std::string& log_file) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const passwd* who = user.empty() ? nullptr : ::getpwnam(user.c_str());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    become(who);
    ::prctl(PR_SET_PDEATHSIG, death_signal);
    if (::getppid() != parent) ::_exit(0);
    const int log = ::open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666);
    ::dup2(log, 1);
    ::dup2(log, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
}

pid_t start(const std::vector<std::string>& words, const std::string& user, int death_signal,
            const std::string& log_file) {
    return on_lasting_thread([&] { return start_here(words, user, death_signal, log_file); });
}

void run(const std::vector<std::string>& words, const std::string& user,
         const std::string& log_file) {
    const pid_t pid = start(words, user, SIGKILL, log_file);
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0)
        give_up(words.front() + " failed; its output:\n" + output_of("tail -20 " + log_file));
}

void wait_for(const std::function<bool()>& ready, const std::string& what) {
    for (int i = 0; i < 1500; ++i) {
        if (ready()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    give_up(what + " does not answer");
}

bool accepts(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool yes = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return yes;
}

}  // namespace

std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
    std::string out;
    std::array<char, 4096> buffer;
    while (const std::size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe.get()))
        out.append(buffer.data(), size);
    return out;
}

std::uint16_t free_port() {
    // Below 55535, because a node of a cluster listens 10000 above its port, too.
    for (;;) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
        ::close(fd);
        const std::uint16_t port = ntohs(address.sin_port);
        if (port < 55'000 && !accepts(static_cast<std::uint16_t>(port + 10'000))) return port;
    }
}

ServerProcess::ServerProcess(std::vector<std::string> words, std::string user, int stop_signal,
                             std::string log_file)
    : pid_(start(words, user, stop_signal, log_file)), stop_signal_(stop_signal) {}

ServerProcess::~ServerProcess() {
    resume();
    end(stop_signal_);
}

void ServerProcess::end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    // A server that does not end by itself is ended.
    for (int i = 0; i < 500; ++i) {
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
            pid_ = -1;
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void ServerProcess::kill() {
    end(SIGKILL);
}
// With its children, which do the work in PostgreSQL.
void ServerProcess::signal_all(int signal) {
    if (pid_ <= 0) return;
    const std::string id = std::to_string(pid_);
    std::ifstream file("/proc/" + id + "/task/" + id + "/children");
    for (pid_t child = 0; file >> child;) ::kill(child, signal);
    ::kill(pid_, signal);
}
void ServerProcess::pause() {
    signal_all(SIGSTOP);
}
void ServerProcess::resume() {
    signal_all(SIGCONT);
}
bool ServerProcess::is_running() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
    return pid_ > 0;
}

ServerFolder::ServerFolder(const std::string& owner) {
    std::string name = (std::filesystem::temp_directory_path() / "pal_server_XXXXXX").string();
    if (!::mkdtemp(name.data())) give_up("cannot make a folder");
    path_ = name;
    const passwd* user = owner.empty() ? nullptr : ::getpwnam(owner.c_str());
    if (user && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) give_up("chown");
}

ServerFolder::~ServerFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

// ---- PostgreSQL ---------------------------------------------------------------------------------

PostgresServer::PostgresServer(bool durable)
    : folder_(postgres_user()), port_(free_port()), durable_(durable) {
    run({program("initdb"), "-D", folder_.file("data"), "-A", "trust", "-U", "postgres",
         "--no-sync", "-E", "UTF8", "--locale=C"},
        postgres_user(), folder_.file("log"));
    restart();
}

void PostgresServer::restart() {
    process_.reset();
    const std::string sync = durable_ ? "on" : "off";
    const auto begin = [&] {
        process_ = std::make_unique<ServerProcess>(
            std::vector<std::string>{program("postgres"), "-D", folder_.file("data"), "-p",
                                     std::to_string(port_), "-k", folder_.file(""), "-c",
                                     "listen_addresses=127.0.0.1", "-c", "fsync=" + sync, "-c",
                                     "max_connections=200", "-c", "shared_buffers=64MB", "-c",
                                     tls_ ? "ssl=on" : "ssl=off"},
            postgres_user(), SIGINT, folder_.file("log"));
    };
    begin();
    const std::string ask = program("pg_isready") + " -q -h 127.0.0.1 -p " + std::to_string(port_);
    // After a kill it refuses to start as long as a child of the one before is still there.
    const auto ready = [&] {
        if (!process_->is_running()) begin();
        return std::system(ask.c_str()) == 0;
    };
    wait_for(ready, "PostgreSQL");
}

std::string PostgresServer::restart_with_tls() {
    const std::string cert = folder_.file("data/server.crt");
    run({program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
         folder_.file("data/server.key"), "-out", cert},
        postgres_user(), folder_.file("log"));
    tls_ = true;
    restart();
    return cert;
}

std::string PostgresServer::url() const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?schema=UNIQUE";
}

// ---- Redis --------------------------------------------------------------------------------------

RedisServer::RedisServer(std::vector<std::string> settings)
    : folder_(""), port_(free_port()), settings_(std::move(settings)) {
    restart();
}

void RedisServer::restart() {
    process_.reset();
    std::vector<std::string> words{program("redis-server"),
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   folder_.file(""),
                                   "--save",
                                   ""};
    words.insert(words.end(), settings_.begin(), settings_.end());
    process_ = std::make_unique<ServerProcess>(words, "", SIGTERM, folder_.file("log"));
    const std::string ping = program("redis-cli") + " -p " + std::to_string(port_) + " ping 2>&1";
    wait_for(
        [&] {
            const std::string said = output_of(ping);
            return said.starts_with("PONG") || said.starts_with("NOAUTH");
        },
        "Redis");
}

std::string RedisServer::url() const {
    return "redis://127.0.0.1:" + std::to_string(port_) + "/0?prefix=UNIQUE";
}

RedisCluster::RedisCluster(std::size_t masters, std::size_t replicas,
                           std::vector<std::string> settings) {
    std::vector<std::string> words{"--cluster-enabled",          "yes",
                                   "--cluster-node-timeout",     "1000",
                                   "--repl-diskless-sync-delay", "0"};
    words.insert(words.end(), settings.begin(), settings.end());
    std::string join = program("redis-cli") +
                       " --cluster create --cluster-yes --cluster-replicas " +
                       std::to_string(replicas);
    for (std::size_t i = 0; i < masters * (replicas + 1); ++i) {
        nodes_.push_back(std::make_unique<RedisServer>(words));
        join += " 127.0.0.1:" + std::to_string(nodes_.back()->port());
    }
    (void)output_of(join + " 2>&1");
    for (const auto& node : nodes_) {
        const std::string ask =
            program("redis-cli") + " -p " + std::to_string(node->port()) + " cluster info";
        wait_for([&] { return output_of(ask).find("cluster_state:ok") != std::string::npos; },
                 "the cluster");
    }
    std::size_t linked = 0;
    const auto all_linked = [&] {
        linked = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (cli(i, "info replication").find("master_link_status:up") != std::string::npos)
                ++linked;
        return linked == masters * replicas;
    };
    wait_for(all_linked, "replication");
}

std::string RedisCluster::cli(std::size_t node, const std::string& words) const {
    return output_of(program("redis-cli") + " -p " + std::to_string(nodes_[node]->port()) + " " +
                     words + " 2>&1");
}

std::size_t RedisCluster::master_of(const std::string& key) {
    for (std::size_t asked = 0; asked < nodes_.size(); ++asked) {
        if (!nodes_[asked]->process().is_running()) continue;
        const std::string said = cli(asked, "get '" + key + "'");
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (said.starts_with("MOVED") &&
                said.find(":" + std::to_string(nodes_[i]->port())) != std::string::npos)
                return i;
        if (said.find("CLUSTERDOWN") == std::string::npos) return asked;
    }
    return 0;
}

std::string RedisCluster::url() const {
    return "redis://127.0.0.1:" + std::to_string(nodes_.front()->port()) +
           "/0?cluster=1&prefix=UNIQUE";
}

}  // namespace palimpsest::testing_support
