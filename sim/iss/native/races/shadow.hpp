// Shadow memory: for each word the accesses that later ones may conflict with.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace spica {

// Way of an access to shared memory: at its base, or through a window. `Any` has no order to lose.
enum class Path : uint8_t { Any, Base, Window };

// Access of an agent at a time of its clock to the bytes of a word that `bytes` selects.
struct Entry {
    uint32_t time, pc;
    uint16_t agent;
    uint8_t bytes, kind;

    Entry() = default;
    Entry(uint32_t time, uint32_t pc, uint32_t agent, uint8_t bytes, bool is_store, Path path)
        : time(time),
          pc(pc),
          agent(static_cast<uint16_t>(agent)),
          bytes(bytes),
          kind(static_cast<uint8_t>(static_cast<uint32_t>(path) << 1 | is_store)) {}
    bool is_store() const { return kind & 1; }
    Path path() const { return static_cast<Path>(kind >> 1); }
    bool conflicts(uint8_t others, bool with_store) const {
        return (bytes & others) != 0 && (is_store() || with_store);
    }
};

class Shadow {
public:
    // Accesses to a word, in place as long as they are few.
    class Word {
    public:
        const Entry* begin() const { return many_.empty() ? few_.data() : many_.data(); }
        const Entry* end() const { return begin() + size_; }
        // Adds an access. It replaces those with no other bytes that happen before it, which
        // `is_earlier` determines: accesses after it are after them too. Of these, a load
        // replaces loads only.
        template <typename Earlier>
        void add(const Entry& entry, Earlier is_earlier) {
            Entry* all = many_.empty() ? few_.data() : many_.data();
            uint32_t size = 0;
            for (uint32_t k = 0; k < size_; ++k) {
                const Entry& other = all[k];
                bool is_replaced = (other.bytes & ~entry.bytes) == 0 &&
                                   (entry.is_store() || !other.is_store()) && is_earlier(other);
                if (!is_replaced) all[size++] = other;
            }
            if (size == (many_.empty() ? few_.size() : many_.size())) {
                if (many_.empty()) many_.assign(few_.begin(), few_.end());
                many_.resize(2 * many_.size());
                all = many_.data();
            }
            all[size] = entry;
            size_ = size + 1;
        }

    private:
        std::array<Entry, 2> few_;
        std::vector<Entry> many_;
        uint32_t size_ = 0;
    };

    Word& at(uint32_t address) {
        uint32_t number = address / kPageBytes;
        Recent& recent = recent_[number % kRecent];
        if (recent.page == nullptr || recent.number != number) {
            auto& page = pages_[number];
            if (!page) page = std::make_unique<Page>();
            recent = {number, page.get()};
        }
        return (*recent.page)[address % kPageBytes / 4];
    }
    void clear() {
        pages_.clear();
        recent_ = {};
    }

private:
    static constexpr uint32_t kPageBytes = 1 << 12, kRecent = 64;
    using Page = std::array<Word, kPageBytes / 4>;
    struct Recent {
        uint32_t number = 0;
        Page* page = nullptr;
    };

    std::unordered_map<uint32_t, std::unique_ptr<Page>> pages_;
    std::array<Recent, kRecent> recent_{};
};

}  // namespace spica
