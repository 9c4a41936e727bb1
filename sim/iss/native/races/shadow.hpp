// Shadow memory: for each word the accesses that later ones may conflict with.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace spica {

// Access of an agent at a time of its clock to the bytes of a word that `bytes` selects.
struct Entry {
    uint32_t time, pc;
    uint16_t agent;
    uint8_t bytes;
    bool is_store;

    bool conflicts(uint8_t others, bool with_store) const {
        return (bytes & others) != 0 && (is_store || with_store);
    }
};

class Shadow {
public:
    using Word = std::vector<Entry>;

    Word& at(uint32_t address) {
        auto& page = pages_[address / kPageBytes];
        if (!page) page = std::make_unique<Page>();
        return (*page)[address % kPageBytes / 4];
    }
    // Adds an access. It replaces those with no other bytes that come before it, which `is_earlier`
    // determines: what comes after it comes after them too. Of these, a load replaces loads only.
    template <typename Earlier>
    static void add(Word& word, const Entry& entry, Earlier is_earlier) {
        std::erase_if(word, [&](const Entry& each) {
            return (each.bytes & ~entry.bytes) == 0 && (entry.is_store || !each.is_store) &&
                   is_earlier(each);
        });
        word.push_back(entry);
    }
    void clear() { pages_.clear(); }

private:
    static constexpr uint32_t kPageBytes = 1 << 12;
    using Page = std::array<Word, kPageBytes / 4>;

    std::unordered_map<uint32_t, std::unique_ptr<Page>> pages_;
};

}  // namespace spica
