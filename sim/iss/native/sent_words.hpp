// Words that programs have sent to matrix units.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "archive.hpp"

namespace spica {

// A word, and the first instruction that sent it.
struct SentWord {
    uint32_t word, core, warp, pc;
};

class SentWords {
public:
    void add(const SentWord& sent) {
        auto place = first_from(sent.word);
        if (place == words_.end() || place->word != sent.word) words_.insert(place, sent);
    }
    // nullptr if the word has not been sent.
    const SentWord* find(uint32_t word) {
        auto place = first_from(word);
        return place == words_.end() || place->word != word ? nullptr : &*place;
    }
    void clear() { words_.clear(); }
    void archive(Archive& archive) { archive(words_); }

private:
    std::vector<SentWord>::iterator first_from(uint32_t word) {
        return std::lower_bound(
            words_.begin(), words_.end(), word,
            [](const SentWord& sent, uint32_t key) { return sent.word < key; });
    }

    std::vector<SentWord> words_;  // ascending
};

}  // namespace spica
