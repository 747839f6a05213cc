// How fast the files store is, as ratios within one run: against a bare loop of write and fdatasync
// on a preallocated file, against the SQLite store, and how much disk it takes.
//
//   bench_files [FOLDER]     FOLDER must be on the disk that is meant; default: beside the program
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "bench_arms.h"

using namespace palimpsest;
using namespace bench;

namespace {

// What nothing durable can beat: the same bytes, no index, no sum, no entry.
class BareLoop {
public:
    explicit BareLoop(const std::string& path)
        : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        const std::string zeros(file_bytes, '\0');
        put(zeros, 0);
        if (::fdatasync(fd_) != 0) stop({.message = "cannot sync"});
    }
    ~BareLoop() { ::close(fd_); }
    void append(int count) {
        const std::string record(message_bytes, 'x');
        for (int i = 0; i < count; ++i) {
            if (at_ + record.size() > file_bytes) at_ = 0;
            put(record, at_);
            if (::fdatasync(fd_) != 0) stop({.message = "cannot sync"});
            at_ += record.size();
        }
    }

private:
    void put(const std::string& bytes, std::size_t at) {
        if (::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
            static_cast<ssize_t>(bytes.size()))
            stop({.message = "cannot write"});
    }
    static constexpr std::size_t file_bytes = 8 << 20;
    int fd_;
    std::size_t at_ = 0;
};

double disk_bytes(const std::string& path) {
    double bytes = 0;
    const auto add = [&](const std::filesystem::path& file) {
        struct stat found{};
        if (::stat(file.c_str(), &found) == 0)
            bytes += 512.0 * static_cast<double>(found.st_blocks);
    };
    if (!std::filesystem::is_directory(path))
        add(path);
    else
        for (const auto& file : std::filesystem::recursive_directory_iterator(path))
            if (file.is_regular_file()) add(file.path());
    return bytes;
}

void bench_one_writer(const std::string& folder) {
    BareLoop bare(folder + "/bare");
    const auto store = good(open_store("files:" + folder + "/one"));
    constexpr int each = 100;
    append_many(*store, {"t", "one"}, each);
    Arm ours, bares;
    for (int round = 0; round < rounds; ++round)
        in_turn(round, {[&] { bares.add(seconds_of([&] { bare.append(each); }), each); },
                        [&] {
                            const ConversationId name{"t", "one"};
                            ours.add(seconds_of([&] { append_many(*store, name, each); }), each);
                        }});
    const double ratio = ratio_of(bares, ours);
    print("durable append, one writer, against a bare loop",
          rates("files", ours.each(), "bare", bares.each()), ratio, ">= 0.90", ratio >= 0.9);
}

void bench_many_writers(const std::string& folder) {
    const auto files = good(open_store("files:" + folder + "/many"));
    const auto sqlite = good(open_store("sqlite:" + folder + "/many.db"));
    constexpr int writers = 32, each = 25;
    seconds_of_writers(*files, writers, each);
    seconds_of_writers(*sqlite, writers, each);
    Arm ours, theirs;
    for (int round = 0; round < rounds; ++round)
        in_turn(round, {[&] {
                            const double whole = seconds_of_writers(*files, writers, each);
                            ours.add(whole, writers * each);
                        },
                        [&] {
                            const double whole = seconds_of_writers(*sqlite, writers, each);
                            theirs.add(whole, writers * each);
                        }});
    const double ratio = ratio_of(theirs, ours);
    print("32 writers, against the SQLite store",
          rates("files", ours.each(), "sqlite", theirs.each()), ratio, ">= 1.30", ratio >= 1.3);
}

void bench_long_append(const std::string& folder) {
    auto store = good(open_store("files:" + folder + "/thousand"));
    good(store->append({"t", "one"}, message_batch(1000)));
    Arm arm;
    for (int round = 0; round < 10; ++round)
        arm.add(seconds_of([&] { append_many(*store, {"t", "one"}, 10); }), 10);
    store.reset();  // As the saver: what is there after closing.
    std::printf("append_at_1000_us %.1f\n", arm.each() * 1e6);
    std::printf("disk_bytes %.0f\n", disk_bytes(folder + "/thousand"));
}

// After closing: the journal is empty then.
void bench_disk(const std::string& folder) {
    for (const std::string& url : {"files:" + folder + "/disk", "sqlite:" + folder + "/disk.db"}) {
        {
            const auto store = good(open_store(url));
            append_many(*store, {"t", "one"}, 100);
            for (int i = 1; i < 20; ++i) good(store->append({"t", "one"}, message_batch(100)));
        }
        const double ratio = disk_bytes(url.substr(url.find(':') + 1)) / (2000 * message_bytes);
        print("bytes on disk of 2,000 messages of 1 KB", url.substr(0, url.find(':')), ratio,
              "< 1.50", ratio < 1.5);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::filesystem::path beside = std::filesystem::path(argv[0]).parent_path();
    const std::filesystem::path folder = (argc > 1 ? std::filesystem::path(argv[1]) : beside) /
                                         ("bench_files_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::printf("medians of %d interleaved rounds; every acknowledgement was synced\n", rounds);
    bench_one_writer(folder.string());
    bench_many_writers(folder.string());
    bench_disk(folder.string());
    bench_long_append(folder.string());
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return missed_goals == 0 ? 0 : 1;
}
