// Bit-parallel evaluator of levelised netlists, and counter of toggles.
//
// A slot holds one bit per cycle, 64 cycles to a word. Operations run on a group of words at a time,
// so that a group of all slots stays in the processor's caches.
#include <bit>
#include <cstdint>
#include <vector>

namespace {

constexpr uint64_t kGroup = 8;

struct Operation {
    uint32_t code, result, left, right;
};
enum Code : uint32_t { kXor = 1, kInvertLeft = 2, kInvertRight = 4, kInvertResult = 8 };

using Words = uint64_t[kGroup];

// Word of a row in a group; zero beyond the end of the row.
void load(Words& target, const uint64_t* row, uint64_t first, uint64_t words) {
    for (uint64_t k = 0; k < kGroup; ++k) {
        target[k] = first + k < words ? row[first + k] : 0;
    }
}

uint64_t mask(uint32_t code, Code bit) { return code & bit ? ~uint64_t{0} : 0; }

void run(const Operation* operations, uint64_t count, Words* slots) {
    for (const Operation* operation = operations; operation < operations + count; ++operation) {
        const uint64_t* left = slots[operation->left];
        const uint64_t* right = slots[operation->right];
        uint64_t* result = slots[operation->result];
        const uint64_t inverted = mask(operation->code, kInvertResult);
        if (operation->code & kXor) {
            for (uint64_t k = 0; k < kGroup; ++k) result[k] = left[k] ^ right[k] ^ inverted;
        } else {
            const uint64_t a = mask(operation->code, kInvertLeft);
            const uint64_t b = mask(operation->code, kInvertRight);
            for (uint64_t k = 0; k < kGroup; ++k) {
                result[k] = ((left[k] ^ a) & (right[k] ^ b)) ^ inverted;
            }
        }
    }
}

// Counts a net's transitions in a group, and adds their weight to the sum of each word. `last` is
// the net's value in the cycle before the group.
uint64_t toggles_in(const Words& values, const Words& counted, uint8_t& last, double weight,
                    double (&sums)[kGroup]) {
    uint64_t toggles = 0, carry = last;
    for (uint64_t k = 0; k < kGroup; ++k) {
        const uint64_t before = values[k] << 1 | carry;
        const int count = std::popcount((values[k] ^ before) & counted[k]);
        toggles += count;
        sums[k] += weight * count;
        carry = values[k] >> 63;
    }
    last = static_cast<uint8_t>(carry);
    return toggles;
}

}  // namespace

extern "C" {

// Rows of `values`, `expected` and `wrong` have `words` words, and bit n of word w is cycle 64w + n.
//
// driven, values     slots with given values, a row each
// compared, expected slots whose values are compared, a row each
// observed, seen     slots whose values are kept, and these values, a row each; result
// counted            cycles in which a change since the cycle before is a toggle
// weights            weight of a toggle of each of the first `nets` slots
// toggles            sum for each of these slots; result
// weighted           sum of the weights of all toggles in each word; result
// wrong              cycles in which a compared slot differs; result
void evaluate_netlist(const Operation* operations, uint64_t operation_count, uint64_t nets,
                      uint64_t slot_count, const uint32_t* driven, uint64_t driven_count,
                      const uint64_t* values, const uint32_t* compared, uint64_t compared_count,
                      const uint64_t* expected, const uint32_t* observed, uint64_t observed_count,
                      uint64_t* seen, uint64_t words, const uint64_t* counted,
                      const double* weights, uint64_t* toggles, double* weighted,
                      uint64_t* wrong) {
    struct alignas(64) Slot {
        Words words;
    };
    std::vector<Slot> storage(slot_count);
    Words* slots = &storage[0].words;
    std::vector<uint8_t> last(nets);
    for (uint64_t k = 0; k < kGroup; ++k) slots[1][k] = ~uint64_t{0};  // the constant 1
    for (uint64_t first = 0; first < words; first += kGroup) {
        for (uint64_t k = 0; k < driven_count; ++k) {
            load(slots[driven[k]], values + k * words, first, words);
        }
        run(operations, operation_count, slots);
        Words stored;
        load(stored, counted, first, words);
        double sums[kGroup] = {};
        for (uint64_t net = 2; net < nets; ++net) {
            toggles[net] += toggles_in(slots[net], stored, last[net], weights[net], sums);
        }
        for (uint64_t w = first; w < words && w < first + kGroup; ++w) {
            weighted[w] = sums[w - first];
        }
        for (uint64_t k = 0; k < compared_count; ++k) {
            for (uint64_t w = first; w < words && w < first + kGroup; ++w) {
                wrong[w] |= slots[compared[k]][w - first] ^ expected[k * words + w];
            }
        }
        for (uint64_t k = 0; k < observed_count; ++k) {
            for (uint64_t w = first; w < words && w < first + kGroup; ++w) {
                seen[k * words + w] = slots[observed[k]][w - first];
            }
        }
    }
}

}  // extern "C"
