#include "net/frame_pool.h"

#include <array>
#include <cstdint>
#include <new>

namespace palimpsest {
namespace {

constexpr std::size_t step_bytes = 256;
constexpr std::size_t classes = 16;  // larger frames are malloc's
constexpr std::size_t kept_max = 32;

#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps = false;  // What is used after its end must be seen.
#else
constexpr bool keeps = true;
#endif

struct FreeFrame {
    FreeFrame* next;
};

// By size. Frames that are free are a list through themselves.
class Kept {
public:
    Kept() = default;
    ~Kept() {
        for (Row& row : rows_)
            while (void* const frame = row.take()) ::operator delete(frame);
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    void* take(std::size_t row) { return rows_[row].take(); }
    bool give(void* frame, std::size_t row) { return rows_[row].give(frame); }

private:
    struct Row {
        FreeFrame* first = nullptr;
        std::size_t count = 0;

        void* take() {
            FreeFrame* const frame = first;
            if (frame == nullptr) return nullptr;
            first = frame->next;
            --count;
            return frame;
        }
        bool give(void* frame) {
            if (count == kept_max) return false;
            first = ::new (frame) FreeFrame{first};
            ++count;
            return true;
        }
    };
    std::array<Row, classes> rows_;
};

thread_local Kept kept_frames;

std::size_t row_of(std::size_t bytes) {
    return (bytes - 1) / step_bytes;
}

}  // namespace

void* take_frame(std::size_t bytes) {
    const std::size_t row = row_of(bytes);
    if (!keeps || row >= classes) return ::operator new(bytes);
    if (void* const frame = kept_frames.take(row)) return frame;
    return ::operator new((row + 1) * step_bytes);
}

void give_frame(void* frame, std::size_t bytes) noexcept {
    const std::size_t row = row_of(bytes);
    if (keeps && row < classes && kept_frames.give(frame, row)) return;
    ::operator delete(frame);
}

}  // namespace palimpsest
