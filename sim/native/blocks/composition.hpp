// Design composed of Verilated blocks, which a plan connects and evaluates in a fixed order.
//
// The plan is a text with one item per line:
//   library PATH                     library of a block
//   block LIBRARY NAME [PORT DOMAIN]...
//                                    instance of a block, its clock ports and their domains
//   step BLOCK                       evaluation of a block, after the copies that follow
//   copy FROM PORT BIT TO PORT BIT WIDTH
//                                    copy to an input of the step's block; block -1 is the array of
//                                    input words, in which a port begins at a word
//   output WORD WIDTH                output of the design; its copies follow as `piece` lines
//   piece FROM PORT BIT BIT WIDTH    bits of the output, from its first bit on
//   busy WORD                        output word: nonzero if the next domain needs its
//                                    clock; -1 if it always does
//   words INPUTS OUTPUTS             sizes of the arrays; one more input word holds all resets
//   input WORD WIDTH                 input of the design
#pragma once
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../iss/native/archive.hpp"
#include "block.hpp"
#include "copy.hpp"

namespace spica {

using Domains = std::bitset<64>;

class Composition {
public:
    Composition(const char* plan, uint64_t seed);
    ~Composition();

    uint32_t input_words() const { return input_words_; }
    uint32_t output_words() const { return static_cast<uint32_t>(outputs_.size()); }
    uint32_t domains() const { return static_cast<uint32_t>(busy_.size()); }

    void reset(bool level);
    // Takes input words, evaluates all that depends on them and on registers, samples outputs.
    void settle(const uint32_t* inputs, uint32_t* outputs);
    Domains busy() const;
    void clock(const Domains& domains);
    void archive(Archive& archive);

    // Opens a waveform of each block, `NAME.vcd` in a folder; returns whether all are open.
    bool trace(const std::string& folder);
    // Writes the values of all blocks to their waveforms: after `settle`, or after `clock`.
    void dump(uint64_t time, bool clocked);

private:
    struct Block {
        const BlockFunctions* functions;
        void* model;
        std::string name;
        std::vector<Storage> ports;
        std::vector<std::pair<uint8_t*, uint32_t>> clocks;
        uint8_t* drive;
        bool high = false;     // some clock is high
        uint64_t version = 1;  // counts evaluations
    };
    // Copies with one source, skipped while the source has not been evaluated.
    struct Group {
        const uint64_t* version;
        uint64_t seen;
        Copies copies;
    };
    struct Step {
        Block* block;
        std::vector<Group> groups;
    };

    void read(const char* plan, uint64_t seed);
    Storage source(int block, uint32_t port);
    const uint64_t* version(int block) const;
    Copies& copies(std::vector<Group>& groups, int from);
    static bool update(std::vector<Group>& groups);
    void lower(Block& block);

    std::vector<void*> libraries_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Step> steps_;
    std::vector<Group> sampled_;
    std::vector<int> busy_;
    std::vector<uint32_t> inputs_, outputs_;
    std::vector<uint32_t> input_widths_;  // of the input that begins at each word
    uint32_t input_words_ = 0;
    uint64_t input_version_ = 1;
};

}  // namespace spica
