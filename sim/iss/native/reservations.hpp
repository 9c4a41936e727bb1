// Reservations of words by threads, from a load-reserved to a store-conditional.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "archive.hpp"

namespace spica {

// A thread has at most one reservation, of an aligned word. It dies by the next load-reserved or
// store-conditional of the thread, and by any write to a byte of the word: of a thread, of a unit or
// of the host. An atomic operation that does not write leaves it. The model has no cycles and no
// limit of reservations, so here they never die of age and are always given.
class Reservations {
public:
    bool any() const { return !all_.empty(); }
    void clear() { all_.clear(); }
    void reserve(uint32_t hart, uint32_t word) {
        take(hart, word);
        all_.push_back({hart, word});
    }
    // Ends the reservation of a thread; returns whether it was that of this word.
    bool take(uint32_t hart, uint32_t word) {
        auto own = std::find_if(all_.begin(), all_.end(),
                                [&](const Reservation& one) { return one.hart == hart; });
        if (own == all_.end()) return false;
        bool is_of_word = own->word == word;
        all_.erase(own);
        return is_of_word;
    }
    // Ends those of words with a byte from `first` to `last`.
    void end(uint32_t first, uint32_t last) {
        std::erase_if(all_, [&](const Reservation& one) {
            return one.word <= last && one.word + 3 >= first;
        });
    }
    void archive(Archive& archive) { archive(all_); }

private:
    struct Reservation {
        uint32_t hart, word;
    };

    std::vector<Reservation> all_;
};

}  // namespace spica
